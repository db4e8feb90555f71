"""The lines of a passage on a page, highlighted and numbered. All forms of an answer show the same ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen
from markupsafe import Markup

from cairn import protocol
from cairn.agents.result_text import FurtherPassage, Lines, Part, ResultText
from cairn.web.code import code_lines

_LINES, _FURTHER = 7, 3
"""The number of lines shown of a result, and of a further passage of the same file."""
_MARKED = re.compile("<mark>([^<]*)</mark>")


@frozen
class CodeLine:
    number: int
    """The 1-based number of the line."""
    markup: Markup
    is_marked: bool = False


def result_lines(result: protocol.SearchResult, text: ResultText) -> tuple[CodeLine, ...]:
    """Return the lines of a result that match best. The best ones are marked, or those with several words."""
    return _shown(text.parts(_LINES), text.text, result.snippet, result)


def passage_lines(
    passage: protocol.FilePassage, text: FurtherPassage, result: protocol.SearchResult
) -> tuple[CodeLine, ...]:
    """Return the lines that match best of a further passage of a result's file."""
    return _shown(text.text.parts(_FURTHER), text.text, passage.text, result)


def _shown(
    parts: Sequence[Part], text: Lines, source: str, result: protocol.SearchResult
) -> tuple[CodeLine, ...]:
    shown = [first - text.first + n for first, lines in parts for n in range(len(lines))]
    markup = code_lines(source, result.language, result.path, text.terms, max(shown, default=-1) + 1)
    shown = [n for n in shown if n < len(markup)]
    start, end = text.best or (0, 0)
    best = {n for n in shown if start <= n < end}
    matching = _matching([markup[n] for n in shown])
    marks = best if 0 < len(best) < len(shown) else {shown[n] for n in matching}
    return tuple(CodeLine(text.first + n, markup[n], n in marks) for n in shown)


def all_lines(text: str, start: int, language: str, path: str) -> tuple[CodeLine, ...]:
    """Return all lines of a text that begins at the 0-based line `start`."""
    lines = code_lines(text, language, path)
    return tuple(CodeLine(start + n + 1, line) for n, line in enumerate(lines))


def _matching(markup: Sequence[Markup]) -> set[int]:
    """Return the lines with several words of the query, or else those with one."""
    words = [len({word.lower() for word in _MARKED.findall(line)}) for line in markup]
    enough = min(2, max(words, default=0))
    return {n for n, count in enumerate(words) if count >= enough > 0}
