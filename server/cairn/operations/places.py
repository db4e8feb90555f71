"""Validates paths that people type on the command line."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.errors import InvalidRequestError


def require_directory(folder: Path) -> None:
    if not folder.is_dir():
        what = "is a file, not a" if folder.is_file() else "is not a"
        remedy = "name a project's folder, or run this in it"
        raise InvalidRequestError("folder", f"{folder} {what} directory that can be read; {remedy}")


def path_in(folder: Path, path: Path) -> str:
    """Return `path` relative to `folder`, "" for `folder` itself. Raise InvalidRequestError if it is outside.

    The path need not exist. Links inside the folder are not resolved.
    """
    require_directory(folder)
    absolute, root = Path(os.path.abspath(path)), folder.resolve()  # noqa: PTH100 - links are not followed
    shown = Path(os.path.abspath(folder))  # noqa: PTH100
    for place, base in (
        (absolute, shown),
        (absolute.parent.resolve() / absolute.name, root),
        (absolute.resolve(), root),
    ):
        if place.is_relative_to(base):
            relative = place.relative_to(base).as_posix()
            return "" if relative == "." else relative
    raise InvalidRequestError("path", f"{path} is not in the folder {root}; name its folder with -C")
