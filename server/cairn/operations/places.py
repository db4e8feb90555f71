"""Paths that people type, as the workspace folder knows them."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.errors import InvalidRequestError


def require_directory(folder: Path) -> None:
    """Raise InvalidRequestError if the workspace folder is no directory."""
    if not folder.is_dir():
        raise InvalidRequestError("folder", f"{folder} is not a directory that can be read")


def path_in(folder: Path, path: Path) -> str:
    """`path`, absolute or relative to the current directory, relative to the workspace `folder`; "" for itself.

    A link in the folder is itself, wherever it leads. Raises InvalidRequestError if the path is not in the folder. It
    need not exist.
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
