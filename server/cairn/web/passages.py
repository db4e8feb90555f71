"""Lines of a passage as a page shows them: a window on those that answer, highlighted, with their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen
from markupsafe import Markup

from cairn import protocol
from cairn.web.code import code_lines, line_count

_WINDOW, _FURTHER = 7, 3
"""Lines that are shown of a result, and of a further passage of its file."""
_MARKED = re.compile("<mark>([^<]*)</mark>")
_BEFORE = 2
"""Lines before those that answer."""


@frozen
class CodeLine:
    """One line of a file."""

    number: int
    """Counted from 1."""
    markup: Markup
    is_marked: bool = False


def window(result: protocol.SearchResult) -> tuple[CodeLine, ...]:
    """The lines of a result that answer best, with a few around them."""
    start = result.range.start.line
    best, count = result.best_lines or result.selection_range, line_count(result.snippet)
    first, last = best.start.line - start, max(best.start.line + 1, best.end.line) - start
    begin = max(0, min(first - _BEFORE, count - _WINDOW))
    end = min(count, begin + _WINDOW)
    markup = code_lines(result.snippet, result.language, result.path, result.matched_terms, end)
    is_telling = result.best_lines is not None and (first > begin or last < end)
    marks = _marked(markup, first, last, is_best=is_telling)
    return tuple(CodeLine(start + n + 1, markup[n], n in marks) for n in range(begin, end))


def passage_window(passage: protocol.FilePassage, result: protocol.SearchResult) -> tuple[CodeLine, ...]:
    """The first lines of a further passage of a result's file."""
    start = passage.range.start.line
    shown = code_lines(passage.text, result.language, result.path, result.matched_terms, _FURTHER)
    marks = _marked(shown, 0, 0, is_best=False)
    return tuple(CodeLine(start + n + 1, line, n in marks) for n, line in enumerate(shown))


def all_lines(text: str, start: int, language: str, path: str) -> tuple[CodeLine, ...]:
    """All lines of a text that begins at line `start`, counted from 0."""
    lines = code_lines(text, language, path)
    return tuple(CodeLine(start + n + 1, line) for n, line in enumerate(lines))


def _marked(markup: Sequence[Markup], first: int, last: int, *, is_best: bool) -> set[int]:
    """The lines that answer best, where these are not all; else those with several words of the question, or else with one."""
    if is_best:
        return set(range(first, last))
    words = [len({word.lower() for word in _MARKED.findall(line)}) for line in markup]
    enough = min(2, max(words, default=0))
    return {n for n, count in enumerate(words) if count >= enough > 0}
