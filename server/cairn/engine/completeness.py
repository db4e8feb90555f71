"""Describes, for the status and every answer, what the open folders' indexes lack, or why one is empty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.index.store.meta import Facts
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import ScanReport, scan

_MOST_COMMITS = 3
_HASH_CHARS = 8
_MOST_ENTRIES = 1_000
"""The maximum number of files and directories to scan for the rule, for each answer from an empty index."""


def index_state(folders: Sequence[Folder], shown: Iterable[str] = ()) -> protocol.IndexState:
    """Return how complete all indexes are. `shown` are the folder URIs of the results, best first."""
    facts = [folder.reader.facts() for folder in folders]
    revisions = tuple(revision for folder in folders if (revision := folder.revision) is not None)
    remarks = [folder.remark for folder in folders if folder.revision is not None]
    return protocol.IndexState(
        generation=sum(f.generation for f in facts),
        complete=bool(facts) and all(f.complete for f in facts),
        remaining=remaining(folders, facts),
        note=next(iter(emptiness(folders, facts)), ""),
        revisions=revisions,
        source=" ".join(filter(None, [_source(revisions, shown), *remarks])),
    )


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
        "files": any(not f.scanned for f in facts),
        "vectors": any(f.scanned and not f.complete for f in facts),
        "history": any(
            folder.settings().index.history and f.history != f.paths
            for folder, f in zip(folders, facts, strict=True)
        ),
        "imports": any(not f.is_counted for f in facts),
    }
    return tuple(what for what, is_lacking in lacks.items() if is_lacking)


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
