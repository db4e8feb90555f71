"""Finds what a reader of many lines can do without: imports, long comments on definitions, and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from attrs import frozen

from cairn.engine.file_outline import OutlineEntry
from cairn.retrieval.evidence_lines import import_lines, is_comment
from cairn.workspace.collections import TEST_MODULES

_LEAST_IMPORTS, _LEAST_COMMENT, _LEAST_TESTS = 4, 5, 10
"""The minimum number of lines of each that are folded."""
COMMENT = "comment"
_KEPT = 2
"""The number of lines of a comment that are kept. Most say in the first sentence what is below."""
_OPENS_DOC = ("///", "//!", "/**", "##")
"""What comments about a definition begin with. A plain comment may have the reason for the code below it."""
_DOCSTRINGS = ('"""', "'''")


@frozen
class Fold:
    """Lines `[start, end)` of a file, 0-based, and what they are."""

    start: int
    end: int
    what: str


def folds(lines: Sequence[str], outline: Sequence[OutlineEntry]) -> list[Fold]:
    """Return the folds of a file, in order and without overlaps."""
    found: list[Fold] = []
    defined = {each.start_line for each in outline}
    every = [*_tests(outline), *_imports(lines), *_comments(lines, defined)]
    for each in sorted(every, key=lambda fold: fold.start):
        if not found or each.start >= found[-1].end:
            found.append(each)
    return found


def _tests(outline: Sequence[OutlineEntry]) -> Iterator[Fold]:
    for each in outline:
        if each.name in TEST_MODULES and each.depth == 0 and each.end_line - each.start_line >= _LEAST_TESTS:
            yield Fold(each.start_line + 1, each.end_line, "tests")


def _imports(lines: Sequence[str]) -> Iterator[Fold]:
    numbers = import_lines(lines)
    ends = [number for number, line in enumerate(lines) if number in numbers or not line.strip()]
    for _, group in groupby(enumerate(ends), key=lambda each: each[1] - each[0]):
        run = [number for _, number in group]
        own = [number for number in run if number in numbers]
        if len(own) >= _LEAST_IMPORTS:
            yield Fold(own[0], own[-1] + 1, "imports")


def _comments(lines: Sequence[str], defined: Set[int]) -> Iterator[Fold]:
    """Yield the folds of comments at the top, on definitions, which are at the lines `defined`, and of those
    that are written as such."""
    start, closing = 0, ""
    for number, line in enumerate([*lines, ""]):
        text = line.strip()
        if closing:  # within a docstring
            if closing in text:
                yield from _comment(start, number)
                closing, start = "", number + 1
            continue
        quote = text[:3]
        if quote in _DOCSTRINGS and text.count(quote) == 1:
            start, closing = number, quote
        elif not is_comment(line):
            is_on_definition = start == 0 or number in defined
            if start < number and (is_on_definition or lines[start].strip().startswith(_OPENS_DOC)):
                yield from _comment(start, number)
            start = number + 1


def _comment(start: int, end: int) -> Iterator[Fold]:
    """Yield the fold of a comment on the lines `[start, end)`."""
    if end - start >= _LEAST_COMMENT:
        yield Fold(start + _KEPT, end, COMMENT)
