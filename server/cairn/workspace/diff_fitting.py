"""Fit the files of a diff to those of a folder, which may have the state before or after the diff."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from attrs import define, evolve, frozen

from cairn.workspace.diff import BINARY, FileChange, Hunk, text_lines
from cairn.workspace.diff_text import DiffFile

_MOST_TRIES = 200
"""The maximum number of places at which a hunk is searched, those nearest to its line number first."""
TextOf = Callable[[str], str | None]
ABSENT = "the file is not in the folder"
MISFIT = "the file in the folder is neither as before the diff nor as after it"


def unfitted(file: DiffFile) -> FileChange:
    """Return the change with the line numbers of the diff, without texts."""
    hunks = tuple(
        run
        for hunk in file.hunks
        for run in _runs(hunk.lines, max(hunk.before_start, 0), max(hunk.after_start, 0))
    )
    return FileChange(file.path, file.before_path, file.is_removed, None, None, hunks)


def fitted(file: DiffFile, text_of: TextOf) -> FileChange:
    """Return what the diff does to a file. `text_of` returns the current text of a path, None if it is gone.

    The texts and line numbers are those of the folder if it has the state before or after the diff. Moved
    lines are searched by the lines around. Otherwise `problem` says why, and the numbers are the diff's.
    """
    if file.is_binary:
        return evolve(unfitted(file), problem=BINARY)
    found = [fit for is_applied in (True, False) if (fit := fit_to(file, is_applied, text_of)) is not None]
    if found:
        return min(found, key=lambda fit: fit.badness).change
    paths = {file.path, file.before_path or file.path}
    return evolve(unfitted(file), problem=ABSENT if all(text_of(path) is None for path in paths) else MISFIT)


@frozen
class Fit:
    badness: tuple[int, int]
    """By how much lines have moved, and the negative number of lines that were compared."""
    change: FileChange


def fit_to(file: DiffFile, is_applied: bool, text_of: TextOf) -> Fit | None:
    """Fit a file of a diff to a folder in the state after the diff if `is_applied`, else in the state before.
    Return None if the folder has it in another state."""
    side = _Side(file, is_applied)
    if side.path is None:
        is_absent = text_of(file.path) is None
        return Fit((0, 0), side.whole(None)) if is_absent else None
    text = text_of(side.path)
    return None if text is None else side.fit(text)


@frozen
class _Side:
    """A file of a diff in the state after the diff if `is_applied`, else in the state before."""

    file: DiffFile
    is_applied: bool

    @property
    def path(self) -> str | None:
        if self.is_applied:
            return None if self.file.is_removed else self.file.path
        return self.file.before_path or self.file.original

    def fit(self, text: str) -> Fit | None:
        lines = _Lines(text_lines(text))
        starts, moved, compared, drift, least = list[int](), 0, 0, 0, 0
        for hunk in self.file.hunks:
            wanted = [line[1:] for line in hunk.lines if line[0] in (" +" if self.is_applied else " -")]
            start = hunk.after_start if self.is_applied else hunk.before_start
            place = lines.find(wanted, max(start, 0) + drift, least)
            if place is None:
                return None
            if start >= 0:
                moved += abs(place - start - drift)
                drift = place - start
            starts.append(place)
            compared += len(wanted)
            least = place + len(wanted)
        is_new = self.file.before_path is None and self.file.original is None
        if (is_new or self.file.is_removed) and compared != len(lines.lines):
            return None
        return Fit((moved, -compared), self.whole(text, starts))

    def whole(self, text: str | None, starts: Sequence[int] = ()) -> FileChange:
        """Return the change with both texts. In `text`, the current one, the hunks begin at `starts`."""
        hunks, other = list[Hunk](), list[str]()
        lines, at = text_lines(text or ""), 0
        for hunk, start in zip(self.file.hunks, starts or [0] * len(self.file.hunks), strict=True):
            other += lines[at:start]
            base = len(other)
            ours, theirs = " +" if self.is_applied else " -", " -" if self.is_applied else " +"
            before, after = (base, start) if self.is_applied else (start, base)
            hunks += _runs(hunk.lines, before, after)
            other += [line[1:] for line in hunk.lines if line[0] in theirs]
            at = start + sum(line[0] in ours for line in hunk.lines)
        other += lines[at:]
        opposite = _joined(other)
        before_text, after_text = (opposite, text) if self.is_applied else (text, opposite)
        if self.file.original is not None and after_text is not None:
            copied = tuple(text_lines(after_text))
            hunks, before_text = [Hunk(0, (), 0, copied)] if copied else [], None
        is_new = self.file.before_path is None
        return evolve(
            unfitted(self.file),
            before=None if is_new else before_text,
            after=None if self.file.is_removed else after_text,
            hunks=tuple(hunks),
            is_applied=self.is_applied,
        )


@define(slots=False)
class _Lines:
    """The lines of a text, in which others are searched."""

    lines: Sequence[str]

    def find(self, wanted: Sequence[str], near: int, least: int) -> int | None:
        """Return the first line, from `least`, at which the wanted lines are, the nearest one to `near`."""
        if not wanted:
            return min(max(near, least), len(self.lines)) if near <= len(self.lines) else None
        if near >= least and self._is_at(wanted, near):
            return near
        rarest = min(range(len(wanted)), key=lambda number: self._counts[wanted[number]])
        places = self._places.get(wanted[rarest], [])
        for place in _nearest(places, near + rarest):
            if place - rarest >= least and self._is_at(wanted, place - rarest):
                return place - rarest
        return None

    def _is_at(self, wanted: Sequence[str], start: int) -> bool:
        return list(self.lines[start : start + len(wanted)]) == list(wanted)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places = defaultdict[str, list[int]](list)
        for number, line in enumerate(self.lines):
            places[line].append(number)
        return dict(places)

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self.lines)


def _nearest(places: Sequence[int], near: int) -> Iterator[int]:
    """Yield some of the ascending numbers, those nearest to `near` first."""
    above = bisect_left(places, near)
    below = above - 1
    for _ in range(min(_MOST_TRIES, len(places))):
        if below < 0 or (above < len(places) and places[above] - near <= near - places[below]):
            yield places[above]
            above += 1
        else:
            yield places[below]
            below -= 1


def _runs(lines: Sequence[str], before: int, after: int) -> Iterator[Hunk]:
    """Yield the changed lines of a hunk of a diff without its context."""
    removed, added = list[str](), list[str]()
    for line in (*lines, " "):
        if line[0] == " ":
            if removed or added:
                yield Hunk(before, tuple(removed), after, tuple(added))
                before, after = before + len(removed), after + len(added)
                removed, added = [], []
            before, after = before + 1, after + 1
        else:
            (removed if line[0] == "-" else added).append(line[1:])


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
