"""Validates paths that people type on the command line."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.errors import InvalidRequestError
from cairn.paths import contains_home, known_above


def require_directory(folder: Path) -> None:
    if not folder.is_dir():
        what = "is a file, not a" if folder.is_file() else "is not a"
        remedy = "name a project's folder, or run this in it"
        raise InvalidRequestError("folder", f"{folder} {what} directory that can be read; {remedy}")


def project_of(folder: Path) -> Path:
    """Return the real path of the project that a folder belongs to, which may be the folder itself.

    This is the nearest folder above that was open as a workspace or is the top of a git work tree, unless
    its rules exclude the folder: a package in `node_modules` is a project of its own. The home folder and
    those above it are no project of the folders in them.
    """
    # `--help` needs none of these.
    from cairn.settings.layers import Layers
    from cairn.workspace.repository import locate
    from cairn.workspace.scan import FileRules

    folder = folder.resolve()
    repository = locate(folder)
    above = (known_above(folder), repository.top if repository else None)
    found = [each for each in above if each is not None and not contains_home(each)]
    root = max(found, key=lambda each: len(each.parts), default=folder)
    if root == folder:
        return folder
    try:
        rules = FileRules(root, Layers().of(root).settings.index)
        is_part = rules.decide_descent(folder.relative_to(root).as_posix().removeprefix(".")).indexed
    except (OSError, ValueError):
        is_part = False
    return root if is_part else folder


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
