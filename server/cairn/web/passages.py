"""The lines of a passage on a page: the best lines and a few around them, highlighted and numbered."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen
from markupsafe import Markup

from cairn import protocol
from cairn.web.code import code_lines, line_count

_WINDOW, _FURTHER = 7, 3
"""The number of lines shown of a result, and of a further passage of the same file."""
_MARKED = re.compile("<mark>([^<]*)</mark>")
_BEFORE = 2
"""The number of lines shown before the best ones."""


@frozen
class CodeLine:
    number: int
    """The 1-based number of the line."""
    markup: Markup
    is_marked: bool = False


def window(result: protocol.SearchResult) -> tuple[CodeLine, ...]:
    """Return the best lines of a result, with a few around them."""
    start = result.range.start.line
    best, count = result.best_lines or result.selection_range, line_count(result.snippet)
    first, last = best.start.line - start, max(best.start.line + 1, best.end.line) - start
    begin = max(0, min(first - _BEFORE, count - _WINDOW))
    end = min(count, begin + _WINDOW)
    markup = code_lines(result.snippet, result.language, result.path, result.matched_terms, end)
    is_part = result.best_lines is not None and (first > begin or last < end)
    marks = set(range(first, last)) if is_part else _matching(markup)
    return tuple(CodeLine(start + n + 1, markup[n], n in marks) for n in range(begin, end))


def passage_window(passage: protocol.FilePassage, result: protocol.SearchResult) -> tuple[CodeLine, ...]:
    """Return the first lines of a further passage of a result's file."""
    start = passage.range.start.line
    shown = code_lines(passage.text, result.language, result.path, result.matched_terms, _FURTHER)
    marks = _matching(shown)
    return tuple(CodeLine(start + n + 1, line, n in marks) for n, line in enumerate(shown))


def all_lines(text: str, start: int, language: str, path: str) -> tuple[CodeLine, ...]:
    """Return all lines of a text that begins at the 0-based line `start`."""
    lines = code_lines(text, language, path)
    return tuple(CodeLine(start + n + 1, line) for n, line in enumerate(lines))


def _matching(markup: Sequence[Markup]) -> set[int]:
    """Return the lines with several words of the query, or else those with one."""
    words = [len({word.lower() for word in _MARKED.findall(line)}) for line in markup]
    enough = min(2, max(words, default=0))
    return {n for n, count in enumerate(words) if count >= enough > 0}
