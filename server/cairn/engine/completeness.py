"""What the indexes of the open folders lack, and why one of them may be empty: for the status and for every answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.index.store.meta import Facts
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import ScanReport, scan

_MOST_COMMITS = 3
"""Commits that a sentence names; nobody reads more of them."""
_HASH_CHARS = 8
_MOST_ENTRIES = 1_000
"""Files and directories that are looked at to name the rule; they are read again with every answer of an empty index."""


def index_state(folders: Sequence[Folder], shown: Iterable[str] = ()) -> protocol.IndexState:
    """How complete the indexes are, taken together. `shown` are URIs of the folders of what is shown, best first."""
    facts = [folder.reader.facts() for folder in folders]
    revisions = tuple(revision for folder in folders if (revision := folder.revision) is not None)
    return protocol.IndexState(
        generation=sum(f.generation for f in facts),
        complete=bool(facts) and all(f.complete for f in facts),
        remaining=remaining(folders, facts),
        note=next(iter(emptiness(folders, facts)), ""),
        revisions=revisions,
        source=" ".join(filter(None, [_source(revisions, shown), *_remarks(folders)])),
    )


def _source(revisions: Sequence[protocol.Revision], shown: Iterable[str]) -> str:
    """The commits that an answer is about, as a sentence. It names few: those of the folders that are `shown` come first."""
    if not revisions:
        return ""
    places = {uri: place for place, uri in enumerate(dict.fromkeys(shown))}
    named = [
        _commit(each) for each in sorted(revisions, key=lambda each: places.get(each.folder, len(places)))
    ]
    others = len(named) - _MOST_COMMITS
    more = f"; {others} more {'repository' if others == 1 else 'repositories'}" if others > 0 else ""
    return f"From the team's index: {'; '.join(named[:_MOST_COMMITS])}{more}."


def _remarks(folders: Sequence[Folder]) -> list[str]:
    """What the team's index lacks for this answer."""
    return [folder.remark for folder in folders if folder.revision is not None]


def _commit(revision: protocol.Revision) -> str:
    """`gson, main at 1a2b3c4d, 3 commits behind this folder`."""
    behind = f"{revision.behind:,} commit{'' if revision.behind == 1 else 's'}" if revision.behind else ""
    at = f"{revision.repository}, {revision.ref} at {revision.commit[:_HASH_CHARS]}"
    return f"{at}, {behind} behind this folder" if behind else at


def remaining(folders: Sequence[Folder], facts: Sequence[Facts]) -> tuple[str, ...]:
    """What is not done yet in some folder, in the protocol's words."""
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
    """Why nothing is indexed, for each folder all of whose files a rule leaves out."""
    empty = [
        folder
        for folder, f in zip(folders, facts, strict=True)
        if f.scanned and not (f.files_total or f.chunks)
    ]
    return [why for folder in empty if (why := _why_empty(folder))]


def _why_empty(folder: Folder) -> str:
    rules, report, directories = FileRules(folder.root, folder.settings().index), ScanReport(), count()
    for _ in scan(
        folder.root,
        rules,
        report,
        stop=lambda: next(directories) + report.skipped.total() > _MOST_ENTRIES,
    ):
        pass
    if not report.examples:
        return ""
    # A rule of the workspace says more than one of Cairn's own, such as that of `.git`.
    path, decision = max(
        (first for first, *_ in report.examples.values()),
        key=lambda each: (bool(each[1].detail), report.skipped[each[1].rule]),
    )
    return f"Nothing is indexed in {folder.label}: {path.removesuffix('/')} and the rest are left out, {decision.explanation}."
