"""Shows the hunks of a changed file as lines with colours, line numbers and context.

Neighbouring hunks whose contexts meet are one block.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence

from attrs import frozen
from markupsafe import Markup

from cairn.languages.registry import detect_language
from cairn.protocol.change_messages import ChangedFile, ChangedLines
from cairn.web.code_markup import code_lines, with_marks

_CONTEXT = 3
"""The number of unchanged lines around a hunk, as in a unified diff."""
_WHOLE_CHARACTERS = 20_000
"""A text up to this length is highlighted as a whole, so that lines inside of long strings and comments have
their colours. Highlighted texts of this length are cached. Of a longer one, only the shown lines are
highlighted."""
_LONGEST_LINE = 2_000
"""The number of characters after which a line is cut, as in minified files."""
_MOST_MARKED, _LONGEST_MARKED = 50, 300
"""The number of lines of a hunk in which the words that differ are marked, and the longest such line."""
_ALIKE = 0.6
"""The share of equal words and signs from which on two lines are versions of one line."""
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_ADDED, _REMOVED, _SAME = "+", "−", " "


@frozen
class DiffLine:
    sign: str
    """`+`, `−` or a blank."""
    before: int | None
    """The 1-based number of the line before the change; None for an added one."""
    after: int | None
    markup: Markup


@frozen
class DiffBlock:
    """Neighbouring hunks of a file."""

    hunks: tuple[int, ...]
    """The indexes of the hunks in the file."""
    lines: tuple[DiffLine, ...]
    before: tuple[int, int]
    """The lines from the first hunk to the last one, before the change: 0-based, and without the end."""
    after: tuple[int, int]
    left_out: int = 0
    """The number of changed lines that are not in `lines`."""


def size_of(file: ChangedFile) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    sizes = [_size(each) for each in file.hunks]
    return sum(added for added, _ in sizes), sum(removed for _, removed in sizes)


def diff_blocks(
    file: ChangedFile, text: Sequence[str] | None, most: int, *, may_be_before: bool = False
) -> Iterator[DiffBlock]:
    """Yield the blocks of a file, each with `most` lines at most. `text` is the file as it is now: the state
    after the change, or possibly before it. Without this text, or with another one, there is no context."""
    hunks, states = file.hunks, None
    if text is not None and all(map(_is_complete, hunks)):
        states = _states(file, text, may_be_before)
    for numbers in _groups(hunks, _CONTEXT if states else 0):
        group = [hunks[number] for number in numbers]
        yield _block(file, numbers, group, states or _sides(file, group), _CONTEXT if states else 0, most)


@frozen
class _Text:
    """Neighbouring lines of a file."""

    path: str
    lines: Sequence[str]
    start: int = 0
    """The number of the first line, 0-based."""

    def markup(self, wanted: Sequence[int]) -> dict[int, Markup]:
        """Return the lines with these numbers."""
        if not wanted:
            return {}
        is_short = sum(map(len, self.lines)) <= _WHOLE_CHARACTERS
        first, end = 0 if is_short else wanted[0] - self.start, wanted[-1] + 1 - self.start
        lines = self.lines if is_short else self.lines[first:end]
        # A lone carriage return within a line would begin another line.
        text = "\n".join(map(_shortened, lines)).replace("\r", "␍")
        found = code_lines(text, detect_language(self.path), self.path, most=end - first)
        return dict(enumerate(found, self.start + first))


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _block(
    file: ChangedFile,
    numbers: Sequence[int],
    hunks: Sequence[ChangedLines],
    states: tuple[_Text, _Text],
    context: int,
    most: int,
) -> DiffBlock:
    text = states[1].lines
    length = len(text) - 1 if text and not text[-1] else len(text)  # A last line without text does not count.
    rows = list(itertools.islice(_rows(hunks, context, length), most))
    old = states[0].markup([before for sign, before, _ in rows if sign == _REMOVED])
    new = states[1].markup([after for sign, _, after in rows if sign != _REMOVED])
    for hunk in hunks:
        _mark_differences(hunk, old, new)
    lines = [
        DiffLine(
            sign,
            None if sign == _ADDED else before + 1,
            None if sign == _REMOVED else after + 1,
            (old.get(before) if sign == _REMOVED else new.get(after)) or Markup(""),
        )
        for sign, before, after in rows
    ]
    return DiffBlock(
        tuple(numbers),
        tuple(lines),
        (hunks[0].before.start.line, hunks[-1].before.end.line),
        (hunks[0].after.start.line, hunks[-1].after.end.line),
        sum(map(sum, map(_size, hunks))) - sum(line.sign != _SAME for line in lines),
    )


def _mark_differences(hunk: ChangedLines, old: dict[int, Markup], new: dict[int, Markup]) -> None:
    """Mark what differs in lines that a hunk replaces one by one, if most of the line is the same."""
    if len(hunk.removed) != len(hunk.added):
        return
    pairs = zip(hunk.removed, hunk.added, strict=True)
    for number, (before, after) in enumerate(itertools.islice(pairs, _MOST_MARKED)):
        places = hunk.before.start.line + number, hunk.after.start.line + number
        if places[0] in old and places[1] in new and max(len(before), len(after)) <= _LONGEST_MARKED:
            removed, added = _differences(before, after)
            old[places[0]] = with_marks(old[places[0]], removed)
            new[places[1]] = with_marks(new[places[1]], added)


_Ranges = list[tuple[int, int]]


def _differences(before: str, after: str) -> tuple[_Ranges, _Ranges]:
    """Return the ranges of words that differ in two lines; none if little is the same."""
    words = _WORD.findall(before), _WORD.findall(after)
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [], []
    ends = [[0, *itertools.accumulate(map(len, each))] for each in words]
    found = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    return (
        [(ends[0][start], ends[0][end]) for _, start, end, _, _ in found],
        [(ends[1][start], ends[1][end]) for _, _, _, start, end in found],
    )


def _rows(hunks: Sequence[ChangedLines], context: int, length: int) -> Iterator[tuple[str, int, int]]:
    """Yield the sign of each line, and the 0-based numbers that the next line has before and after."""
    lead = min(context, hunks[0].after.start.line)
    before, after = hunks[0].before.start.line - lead, hunks[0].after.start.line - lead
    for hunk in hunks:
        for _ in range(hunk.after.start.line - after if context else 0):
            yield _SAME, before, after
            before, after = before + 1, after + 1
        before, after = hunk.before.start.line, hunk.after.start.line
        for _ in hunk.removed:
            yield _REMOVED, before, after
            before += 1
        for _ in hunk.added:
            yield _ADDED, before, after
            after += 1
    for _ in range(after, min(length, after + context)):
        yield _SAME, before, after
        before, after = before + 1, after + 1


def _sides(file: ChangedFile, hunks: Sequence[ChangedLines]) -> tuple[_Text, _Text]:
    """Return the lines of neighbouring hunks before and after the change."""
    return (
        _Text(
            file.before_path or file.path,
            [line for each in hunks for line in each.removed],
            hunks[0].before.start.line,
        ),
        _Text(file.path, [line for each in hunks for line in each.added], hunks[0].after.start.line),
    )


def _size(hunk: ChangedLines) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    return hunk.after.end.line - hunk.after.start.line, hunk.before.end.line - hunk.before.start.line


def _is_complete(hunk: ChangedLines) -> bool:
    """Return whether the hunk has its lines, which large changes leave out."""
    return (len(hunk.added), len(hunk.removed)) == _size(hunk)


def _groups(hunks: Sequence[ChangedLines], context: int) -> Iterator[list[int]]:
    """Yield the indexes of hunks with at most twice the context between them."""
    group: list[int] = []
    for number, hunk in enumerate(hunks):
        if group and hunk.after.start.line - hunks[number - 1].after.end.line > 2 * context:
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _states(file: ChangedFile, text: Sequence[str], may_be_before: bool) -> tuple[_Text, _Text] | None:
    """Return the text before and after the change, of which `text` is one; None if it is neither."""
    before = [(each.before.start.line, each.removed) for each in file.hunks]
    after = [(each.after.start.line, each.added) for each in file.hunks]
    old_path = file.before_path or file.path
    # A text that fits both states is the one in which more of its lines are known.
    is_likelier = sum(len(lines) for _, lines in before) > sum(len(lines) for _, lines in after)
    is_before, is_after = may_be_before and _contains(text, before), _contains(text, after)
    if is_before and (is_likelier or not is_after):
        return _Text(old_path, text), _Text(file.path, _replaced(text, before, after))
    return (_Text(old_path, _replaced(text, after, before)), _Text(file.path, text)) if is_after else None


_Places = Sequence[tuple[int, Sequence[str]]]


def _contains(text: Sequence[str], places: _Places) -> bool:
    return all(
        start <= len(text) and tuple(text[start : start + len(lines)]) == tuple(lines)
        for start, lines in places
    )


def _replaced(text: Sequence[str], old: _Places, new: _Places) -> Sequence[str]:
    """Return the text with the lines `old` replaced by the lines `new`."""
    parts, end = list[str](), 0
    for (start, lines), (_, others) in zip(old, new, strict=True):
        parts += [*text[end:start], *others]
        end = start + len(lines)
    return [*parts, *text[end:]]
