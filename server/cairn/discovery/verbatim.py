"""What "the cited lines contain the text" means: equal but for whitespace and comment marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKS = r"#:|#|///|//!|//|/\*+|\*|--|;;|%"
_LEADING_MARK = re.compile(rf"(?:{_MARKS})(?=\s|\Z)")
_MARK_LIKE = re.compile(_MARKS)


def lines_of(text: str) -> list[str]:
    """The lines of `text` as editors count them: ended by `\\n`, `\\r\\n` or `\\r` and nothing else."""
    return _LINE_END.split(text)


def without_mark(line: str) -> str:
    """`line` without the whitespace around it and the comment mark it starts with."""
    line = line.strip()
    mark = _LEADING_MARK.match(line)
    return line[mark.end() :].strip() if mark else line


def plain(lines: Iterable[str]) -> str:
    """Lines as one text: comment marks at their starts removed, whitespace collapsed."""
    return " ".join(" ".join(without_mark(line) for line in lines).split())


def starts_like_a_mark(text: str) -> bool:
    """Whether a reader could take the start of a line of text for a comment mark ("*emphasis*", "--flag").

    Readers differ on marks that touch a word, so text that runs over such a line cannot be cited safely.
    """
    return bool(_MARK_LIKE.match(text))


def stands_in(text: str, lines: Iterable[str]) -> bool:
    """Whether `lines` contain `text` verbatim, whitespace and leading comment marks aside."""
    return plain([text]) in plain(lines)
