"""Finds the functions and types that a fix changed, by the chunks that contain its hunks."""

from __future__ import annotations

import re
from pathlib import Path

from engine.index_file import IndexFile
from engine.place import git

from issues.sets import Issue, is_code

Definition = tuple[str, str]
"""A path and the name defined there."""
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


def fix_of(issue: Issue, clone: Path) -> str | None:
    """Return the commit on the issue's revision that changed its files, and no other file of code but tests;
    None if none did."""
    rows = git(clone, "rev-list", "--all", "--parents", "--ancestry-path", f"^{issue.revision}")
    for row in rows.splitlines():
        commit, *parents = row.split()
        if issue.revision in parents[:1]:
            names = git(clone, "diff", "--name-only", issue.revision, commit).splitlines()
            if {name for name in names if is_code(name)} == {name for name in issue.changed if is_code(name)}:
                return commit
    return None


def changed_definitions(issue: Issue, clone: Path, index: IndexFile) -> set[Definition]:
    """Return the changed definitions with a name in the index; empty if the fix is not in the clone."""
    fix = fix_of(issue, clone)
    if fix is None:
        return set()
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for path, chunk in index.chunks():
        if path in issue.changed and chunk.symbol:
            spans.setdefault(path, []).append((chunk.start_line + 1, chunk.end_line, chunk.symbol))
    found = set()
    for path, chunks in spans.items():
        diff = git(clone, "diff", "-U0", issue.revision, fix, "--", path)
        for hunk in _HUNK.finditer(diff):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            last = first + max(count, 1) - 1
            found |= {(path, name) for start, end, name in chunks if start <= last and first <= end}
    return found
