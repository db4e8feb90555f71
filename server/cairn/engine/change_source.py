"""Reads the change that a request means: a diff as text, or what differs from a commit."""

from __future__ import annotations

import time

from cairn import protocol
from cairn.engine.folders import Folder, folders_named
from cairn.engine.request import Request
from cairn.engine.snapshot_change import snapshot_change
from cairn.errors import InvalidRequestError
from cairn.index.queries.file_queries import all_file_stamps
from cairn.workspace.changes import working_tree_change
from cairn.workspace.diff import Change
from cairn.workspace.diff_change import change_of_diff
from cairn.workspace.diff_text import parse_diff
from cairn.workspace.git import GitError
from cairn.workspace.repository import locate
from cairn.workspace.tracked_files import IndexedFiles

_EMPTY = "The diff is empty: nothing changed, or the command that made it failed."


def changed_folder(request: Request, params: protocol.ChangeParams) -> Folder:
    """Return the folder with the change. Raise InvalidRequestError if none is open."""
    folders = folders_named(request.folders, params.folder)
    if not folders:
        raise InvalidRequestError("folder", "no folder is open")
    if len(folders) == 1:
        return folders[0]
    if params.diff is not None and params.diff.strip():
        paths = {file.before_path or file.path for file in parse_diff(params.diff)}
        return max(folders, key=lambda each: len(each.reader.contents(list(paths))))
    if request.elsewhere is not None:
        names = ", ".join(folder.label for folder in folders)
        raise InvalidRequestError("folder", f"is required: you ask about several repositories ({names})")
    return next((each for each in folders if locate(each.root) is not None), folders[0])


def read_change(folder: Folder, params: protocol.ChangeParams, seconds: float) -> Change:
    """Return the change. Raise InvalidRequestError for text that is not a diff, and for an unknown base."""
    deadline = time.monotonic() + seconds
    if params.diff is not None:
        if not params.diff.strip():
            return Change((), problems=(_EMPTY,))
        repository = locate(folder.root) if folder.revision is None else None
        below = "" if repository is None else repository.path_of(folder.root)
        return change_of_diff(params.diff, folder.text_of, folder.admits, deadline, below)
    if (before := folder.at(params.base)) is not None:
        if params.staged:
            raise InvalidRequestError("staged", "a team's index has no stage; name a base, or give a diff")
        return snapshot_change(before, folder, seconds)
    try:
        return working_tree_change(
            folder.root,
            folder.reader.overlay.rules(folder.reader.facts()),
            folder.text_of,
            base=params.base,
            staged=params.staged,
            unsaved=folder.reader.overlay.paths(),
            indexed=_indexed(folder),
            deadline=deadline,
        )
    except GitError as problem:
        raise InvalidRequestError("base", f"git could not be read: {problem}") from problem


def _indexed(folder: Folder) -> IndexedFiles | None:
    """Return the files of the index; None if the indexer may not know of all changes, or if folders have
    changed."""
    saved, indexer = folder.reader.saved, folder.indexer
    facts = saved.facts()
    if indexer is None or not facts.scanned or not folder.is_kept or indexer.problem is not None:
        return None
    unread = indexer.unread
    is_behind = indexer.may_lack_changes or indexer.is_behind(facts)
    if is_behind or any((folder.root / path).is_dir() for path in unread):
        return None
    version = (saved.key, saved.identity(), facts.generation)
    return IndexedFiles(version, lambda: all_file_stamps(saved), unread)
