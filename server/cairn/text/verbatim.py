"""What "the cited lines contain the text" means.

The lines are read as a reader would: comment and quotation marks at their starts left out, inline markup
stripped, whitespace collapsed. A text of several parts, joined by `OMISSION`, must stand there part by part.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from cairn.text.inline_markup import strip_inline

OMISSION = " … "
"""Between the parts of a quotation that do not follow each other directly in the file."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT = r"(?:#:|#!?|///|//!|//|/\*+!?|\*|--|;;+|%+)(?=\s|\Z)"
_QUOTATION = r"(?:>\s?)*>(?!>)(?=\s|\Z)"
_LEADING_MARK = re.compile(rf"{_COMMENT}(?:\s*{_QUOTATION})?|{_QUOTATION}")
_PASSED_OVER = re.compile(r"\*/|[*_~\\]")
_WORD = re.compile(r"\w")


def lines_of(text: str) -> list[str]:
    """The lines of `text` as editors count them: ended by `\\n`, `\\r\\n` or `\\r` and nothing else."""
    return _LINE_END.split(text)


def lines_with_ends(text: str) -> list[str]:
    """The lines of `text` with their ends, as an editor counts them."""
    return io.StringIO(text, newline="").readlines()


def without_mark(line: str) -> str:
    """`line` without the whitespace around it and the comment mark, the quotation mark or both that it starts with."""
    line = line.strip()
    mark = _LEADING_MARK.match(line)
    return line[mark.end() :].strip() if mark else line


def starts_with_mark(text: str) -> bool:
    """Whether a line of text starts with what reads like a comment mark ("- -- x"): a quotation would lose it."""
    return bool(_LEADING_MARK.match(text))


def stands_in(text: str, lines: Iterable[str]) -> bool:
    """Whether `lines` contain `text`, in order, as whole words (the one rule behind every citation).

    The lines may hold it as they are, as code does, or without their inline markup. What is left of an
    emphasis that begins or ends on another line does not count, so `*`, `_`, `~` and `\\` are passed over, and
    so is the end of a block comment.
    """
    bare = [without_mark(line) for line in lines]
    readings = {_folded(" ".join(bare)), _folded(strip_inline("\n".join(bare)).text)}
    parts = [_folded(without_mark(part)) for part in text.split(OMISSION)]
    return all(parts) and any(_in_order(parts, reading) for reading in readings)


def _folded(text: str) -> str:
    return " ".join(_PASSED_OVER.sub("", text).split())


def _in_order(parts: Iterable[str], reading: str) -> bool:
    position = 0
    for part in parts:
        start = find_words(part, reading, position)
        if start < 0:
            return False
        position = start + len(part)
    return True


def find_words(part: str, reading: str, position: int = 0) -> int:
    """Where `part` stands in `reading` from `position` on, cutting no word; -1 where it does not."""
    start = reading.find(part, position)
    while start >= 0:
        end = start + len(part)
        cut_before = start and _WORD.match(reading[start - 1]) and _WORD.match(part[0])
        cut_after = end < len(reading) and _WORD.match(reading[end]) and _WORD.match(part[-1])
        if not cut_before and not cut_after:
            return start
        start = reading.find(part, start + 1)
    return -1
