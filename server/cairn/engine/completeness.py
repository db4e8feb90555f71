"""Describes, for the status and every answer, what the open folders' indexes lack, or why one is empty."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Protocol

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.index.queries.file_queries import file_stamps
from cairn.index.store.meta import Facts
from cairn.workspace.scan import FileRules, ScanReport, scan

_MOST_COMMITS = 3
_MOST_NAMED = 3
_HASH_CHARS = 8
_MOST_ENTRIES = 1_000
"""The maximum number of files and directories to scan for the rule, for each answer from an empty index."""


class Shown(Protocol):
    """A result that an answer shows."""

    @property
    def folder(self) -> str: ...
    @property
    def path(self) -> str: ...


def index_state(request: Request, shown: Iterable[Shown] = ()) -> protocol.IndexState:
    """Return how complete all indexes are. `shown` are the results of the answer, best first."""
    folders, shown = request.folders, list(shown)
    facts = [folder.reader.facts() for folder in folders]
    missing = remaining(folders, facts)
    if request.lagging and "files" not in missing:  # The changes were indexed while the answer was made.
        missing = ("files", *missing)
    revisions = tuple(revision for folder in folders if (revision := folder.revision) is not None)
    remarks = [folder.remark for folder in folders if folder.revision is not None]
    notes = (
        *emptiness(folders, facts)[:1],
        *_lags(request, facts),
        *_outdated(request, shown),
        *_unread(folders),
    )
    return protocol.IndexState(
        generation=sum(f.generation for f in facts),
        complete=bool(facts) and all(f.complete for f in facts) and "files" not in missing,
        remaining=missing,
        note=" ".join(notes),
        revisions=revisions,
        source=" ".join(filter(None, [_source(revisions, (each.folder for each in shown)), *remarks])),
    )


def _lags(request: Request, facts: Sequence[Facts]) -> list[str]:
    """Return a sentence if the answer is from an index that lacked changes of a folder."""
    lagging = [
        folder.label
        for folder, f in zip(request.folders, facts, strict=True)
        if folder.uri in request.lagging and f.commit >= 0
    ]
    where = lagging[0] if len(request.folders) > 1 and lagging else "The folder"
    return (
        [f"{where} has changed, and this answer may lack changes that are being indexed."] if lagging else []
    )


def _outdated(request: Request, shown: Iterable[Shown]) -> list[str]:
    """Return a sentence if shown files have changed since they were indexed. They are then indexed soon."""
    outdated: list[str] = []
    for folder in request.folders:
        paths = {each.path for each in shown if each.folder == folder.uri}
        if folder.revision is None and (changed := changed_since_indexed(folder, paths)):
            folder.queue_changes(changed)
            outdated += changed
    if not outdated:
        return []
    named = ", ".join(outdated[:_MOST_NAMED])
    others = f" and {len(outdated) - _MOST_NAMED} more" if len(outdated) > _MOST_NAMED else ""
    return [f"Changed since indexed, and indexed again soon: {named}{others}."]


def changed_since_indexed(folder: Folder, paths: Iterable[str]) -> list[str]:
    """Return those of the paths whose file on disk is not the indexed one. Unsaved files are left out. A file
    takes 5 µs."""
    unsaved = frozenset(folder.reader.hidden)
    stamps, root = file_stamps(folder.reader.saved, sorted(set(paths) - unsaved)), os.fspath(folder.root)
    return [path for path, stamp in stamps.items() if not _is_stamped(f"{root}/{path}", *stamp)]


def _unread(folders: Sequence[Folder]) -> list[str]:
    """Return a sentence for each settings file of which nothing is used, so files may be wrongly shown."""
    unread = [
        f"{folder.label}: {problem}." if len(folders) > 1 else f"{problem}."
        for folder in folders
        for problem in folder.settings.unread()
    ]
    return unread[:1]


def _is_stamped(file: str, size: int, mtime_ns: int) -> bool:
    try:
        status = os.lstat(file)
    except OSError:
        return False
    # The indexed time is negative if the file was just written when it was read.
    return status.st_size == size and mtime_ns in (status.st_mtime_ns, -1)


def _source(revisions: Sequence[protocol.Revision], shown: Iterable[str]) -> str:
    """Return a sentence that names the indexed commits of the folders, those of the `shown` folders first."""
    if not revisions:
        return ""
    places = {uri: place for place, uri in enumerate(dict.fromkeys(shown))}
    named = [
        _commit(each) for each in sorted(revisions, key=lambda each: places.get(each.folder, len(places)))
    ]
    others = len(named) - _MOST_COMMITS
    more = f"; {others} more {'repository' if others == 1 else 'repositories'}" if others > 0 else ""
    return f"From the team's index: {'; '.join(named[:_MOST_COMMITS])}{more}."


def _commit(revision: protocol.Revision) -> str:
    """Return a text like `gson, main at 1a2b3c4d, 3 commits behind this folder`."""
    behind = f"{revision.behind:,} commit{'' if revision.behind == 1 else 's'}" if revision.behind else ""
    at = f"{revision.repository}, {revision.ref} at {revision.commit[:_HASH_CHARS]}"
    return f"{at}, {behind} behind this folder" if behind else at


def remaining(folders: Sequence[Folder], facts: Sequence[Facts]) -> tuple[str, ...]:
    """Return the protocol's names of what is missing in any folder's index."""
    lacks = {
        "files": any(folder.lacks_files(f) for folder, f in zip(folders, facts, strict=True)),
        "vectors": any(f.scanned and not f.complete for f in facts),
        "history": any(
            folder.settings().index.history and f.history != f.paths
            for folder, f in zip(folders, facts, strict=True)
        ),
        "imports": any(not f.is_counted for f in facts),
    }
    return tuple(what for what, is_lacking in lacks.items() if is_lacking)


def awaited(folders: Sequence[Folder], facts: Sequence[Facts]) -> tuple[str, ...]:
    """Return those of `remaining` for which a question should wait.

    The history and the imports, by which results are ranked, are awaited only before they were read once.
    Later updates are put off on purpose while files are being changed.
    """
    first = {
        "history": any(f.history < 0 for f in facts),
        "imports": not all(f.counted for f in facts),
    }
    return tuple(what for what in remaining(folders, facts) if first.get(what, True))


def emptiness(folders: Sequence[Folder], facts: Sequence[Facts]) -> list[str]:
    """Return, for each folder without indexed files, a sentence with the reason."""
    empty = [
        folder
        for folder, f in zip(folders, facts, strict=True)
        if f.scanned and not (f.files_total or f.chunks)
    ]
    return [why for folder in empty if (why := _why_empty(folder))]


def _why_empty(folder: Folder) -> str:
    rules, report, directories = FileRules(folder.root, folder.settings().index), ScanReport(), count()

    def is_enough() -> bool:
        return next(directories) + report.skipped.total() > _MOST_ENTRIES

    for _ in scan(folder.root, rules, report, stop=is_enough):
        pass
    if not report.examples:
        is_local = folder.revision is None and folder.root.is_dir()
        return f"Nothing is indexed in {folder.label}: the folder has no files." if is_local else ""
    # A rule of the workspace explains more than a built-in rule, such as the one for `.git`.
    path, decision = max(
        (first for first, *_ in report.examples.values()),
        key=lambda each: (bool(each[1].detail), report.skipped[each[1].rule]),
    )
    example = path.removesuffix("/")
    return (
        f"Nothing is indexed in {folder.label}: {example} and the rest are left out, {decision.explanation}."
    )
