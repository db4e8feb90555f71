"""What the indexes of the open folders lack, and why one of them may be empty: for the status and for every answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.index.store.meta import Facts
from cairn.workspace.builtin_rules import Decision
from cairn.workspace.rules import FileRules

_MOST_ENTRIES = 1_000
"""Files and directories that are looked at to name the rule; they are read again with every answer of an empty index."""


def index_state(folders: Sequence[Folder]) -> protocol.IndexState:
    """How complete the indexes are, taken together."""
    facts = [folder.reader.facts() for folder in folders]
    return protocol.IndexState(
        generation=sum(f.generation for f in facts),
        complete=bool(facts) and all(f.complete for f in facts),
        remaining=remaining(folders, facts),
        note=next(iter(emptiness(folders, facts)), ""),
    )


def remaining(folders: Sequence[Folder], facts: Sequence[Facts]) -> tuple[str, ...]:
    """What is not done yet in some folder, in the protocol's words."""
    lacks = {
        "files": any(not f.scanned for f in facts),
        "vectors": any(f.scanned and not f.complete for f in facts),
        "history": any(
            folder.settings().index.history and f.history != f.paths
            for folder, f in zip(folders, facts, strict=True)
        ),
        "imports": any(f.counted != f.links for f in facts),
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
    left_out = list(_left_out(folder))
    if not left_out:
        return ""
    counts = Counter(decision.rule for _, decision in left_out)
    # A rule of the workspace says more than one of Cairn's own, such as that of `.git`.
    path, decision = max(left_out, key=lambda each: (bool(each[1].detail), counts[each[1].rule]))
    return f"Nothing is indexed in {folder.shown}: {path} and the rest are left out, {decision.explanation}."


def _left_out(folder: Folder) -> Iterator[tuple[str, Decision]]:
    """The first files and directories that no scan takes, with the rules."""
    rules, looked_at = FileRules(folder.root, folder.settings().index), 0
    for place, directories, files in os.walk(folder.root):
        inside = os.path.relpath(place, folder.root).replace(os.sep, "/")
        rules.listed("" if inside == "." else inside, {*directories, *files})
        for name in sorted((*directories, *files)):
            path = name if inside == "." else f"{inside}/{name}"
            is_directory = name in directories
            decision = rules.decide_directory(path) if is_directory else rules.decide(path)
            if not decision.indexed:
                yield path, decision
                if is_directory:
                    directories.remove(name)
        looked_at += len(directories) + len(files)
        if looked_at > _MOST_ENTRIES:
            return
