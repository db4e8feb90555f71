"""Reads the change that a request means: a diff as text, or what differs from a commit."""

from __future__ import annotations

from collections.abc import Sequence

from cairn import protocol
from cairn.engine.folders import Folder, folders_named
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.workspace.diff import Change
from cairn.workspace.diff_fitting import fitted
from cairn.workspace.diff_text import DiffFile, parse_diff
from cairn.workspace.repository import locate


def changed_folder(request: Request, params: protocol.ChangeParams) -> Folder:
    """Return the folder with the change. Raise InvalidRequestError if none is open."""
    folders = folders_named(request.folders, params.folder)
    if not folders:
        raise InvalidRequestError("folder", "no folder is open")
    if len(folders) == 1:
        return folders[0]
    if params.diff is not None:
        paths = {file.before_path or file.path for file in _parsed(params.diff)}
        return max(folders, key=lambda each: len(each.reader.contents(list(paths))))
    return next((each for each in folders if locate(each.root) is not None), folders[0])


def read_change(folder: Folder, params: protocol.ChangeParams, seconds: float) -> Change:
    """Return the change. Raise InvalidRequestError for text that is no diff, and for an unknown base."""
    if params.diff is not None:
        return Change(tuple(fitted(file, folder.text_of) for file in _parsed(params.diff)))
    raise InvalidRequestError("diff", "is required")


def _parsed(diff: str) -> Sequence[DiffFile]:
    try:
        return parse_diff(diff)
    except ValueError as problem:
        raise InvalidRequestError("diff", str(problem)) from problem
