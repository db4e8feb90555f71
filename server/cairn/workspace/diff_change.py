"""The change that a diff as text describes: each file as the folder has it, before or after the diff."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from attrs import evolve

from cairn.text.counts import listed
from cairn.workspace.diff import BINARY, LATE, Change, FileChange, text_lines
from cairn.workspace.diff_fitting import ABSENT, MISFIT, TextOf, fit_to, fitted, unfitted
from cairn.workspace.diff_text import DiffFile, parse_diff
from cairn.workspace.line_differ import differences

_MOST_NAMED = 5


def change_of_diff(
    text: str,
    text_of: TextOf,
    is_admitted: Callable[[str], bool],
    deadline: float = math.inf,
    below: str = "",
) -> Change:
    """Return the change that a unified diff describes, fitted to the files of a folder.

    `text_of` returns the current text of a path, None if it is gone or excluded. `is_admitted` tells whether
    the rules admit a path. `below` is the folder's path in its repository, with `/` at its end. After the
    deadline, files keep the numbers of the diff, and the change is incomplete. Raise InvalidRequestError,
    whose text says what to do, if this is not a unified diff.
    """
    files, outside = _in_folder(parse_diff(text), below)
    found, excluded, late = list[FileChange](), list[str](), list[str]()
    for steps in _series(files):
        last = steps[-1]
        if not all(is_admitted(path) for file in steps for path in (file.path, file.before_path) if path):
            excluded.append(last.path)
        elif files and time.monotonic() > deadline:  # The first file is always compared.
            late.append(last.path)
            found += [evolve(unfitted(file), problem=LATE) for file in steps]
        else:
            found.append(_located(last, text_of) if len(steps) == 1 else _together(steps, text_of, deadline))
    problems = [
        f"{problem}: {listed(paths, _MOST_NAMED)}."
        for problem, paths in (
            ("Files outside of the folder are left out", outside),
            ("Files that the rules exclude are left out", excluded),
            ("Fitting the diff to the files took too long, so some were not compared", late),
        )
        if paths
    ]
    return Change(tuple(found), "", tuple(problems), not late)


def _in_folder(files: Sequence[DiffFile], below: str) -> tuple[list[DiffFile], list[str]]:
    """Return the files with paths relative to the folder, and the paths outside of it. Those of a diff may be
    relative to the repository or to the folder."""
    if not below or not any(file.path.startswith(below) for file in files):
        return list(files), []
    found, outside = list[DiffFile](), list[str]()
    for file in files:
        inside = [
            None if path is None or not path.startswith(below) else path[len(below) :]
            for path in (file.path, file.before_path, file.original)
        ]
        if inside[0] is not None:
            found.append(evolve(file, path=inside[0], before_path=inside[1], original=inside[2]))
        else:
            outside.append(file.path)
    return found, outside


def _series(files: Sequence[DiffFile]) -> list[list[DiffFile]]:
    """Return the files, those together that are later changes of the same file, as in several commits."""
    found, by_path = list[list[DiffFile]](), dict[str, list[DiffFile]]()
    for file in files:
        steps = by_path.pop(file.before_path or file.path, None)
        if steps is None:
            found.append(steps := [])
        steps.append(file)
        by_path[file.path] = steps
    return found


def _located(file: DiffFile, text_of: TextOf) -> FileChange:
    """Return what the diff does to a file, whose path may begin with folders outside of this one."""
    found = fitted(file, text_of)
    path = file.path
    while found.problem == ABSENT and "/" in path and file.before_path in (None, file.path):
        path = path.partition("/")[2]
        placed = fitted(evolve(file, path=path, before_path=path if file.before_path else None), text_of)
        found = found if placed.problem else placed
    return found


def _together(steps: Sequence[DiffFile], text_of: TextOf, deadline: float) -> FileChange:
    """Return what changes do to a file together, if the folder has it as before or as after all of them."""
    first, last = steps[0], steps[-1]
    change = FileChange(last.path, first.before_path, last.is_removed, None, None, ())
    if any(step.is_binary for step in steps):
        return evolve(change, problem=BINARY)
    for is_applied in (True, False):
        start = last.path if is_applied else first.before_path or first.path
        now = text_of(start)
        other = _after_all(steps, is_applied, {start: now})
        if other is not None:
            before, after = (other[0], now) if is_applied else (now, other[0])
            old, new = ({} if text is None else {last.path: text_lines(text)} for text in (before, after))
            (hunks,) = differences(old, new, deadline).hunks.values() or [()]
            return evolve(change, before=before, after=after, hunks=hunks, is_applied=is_applied)
    return evolve(change, problem=MISFIT)


def _after_all(
    steps: Sequence[DiffFile], is_applied: bool, texts: dict[str, str | None]
) -> tuple[str | None] | None:
    """Undo all changes of a file if they are applied, else apply them. Return its text then, or None if one
    of them does not fit."""
    text: str | None = None
    for step in reversed(steps) if is_applied else steps:
        fit = fit_to(step, is_applied, texts.get)
        if fit is None:
            return None
        text = fit.change.before if is_applied else fit.change.after
        texts = {step.before_path or step.path if is_applied else step.path: text}
    return (text,)
