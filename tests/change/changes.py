"""Changes of files, made from the texts before and after."""

from __future__ import annotations

from difflib import SequenceMatcher

from cairn.workspace.diff import FileChange, Hunk


def file_change(
    path: str, before: str | None, after: str | None, *, came_from: str | None = None, is_applied: bool = True
) -> FileChange:
    """Return the change of a file from one text to another; None means that there is none."""
    left, right = (before or "").splitlines(), (after or "").splitlines()
    steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    hunks = tuple(
        Hunk(a, tuple(left[a:b]), c, tuple(right[c:d])) for kind, a, b, c, d in steps if kind != "equal"
    )
    before_path = None if before is None else came_from or path
    return FileChange(path, before_path, after is None, before, after, hunks, is_applied=is_applied)
