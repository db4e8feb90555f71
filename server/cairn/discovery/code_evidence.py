"""Finds quotable statements of code: sentences of documentation with the complete head that they document.

The chunker provides the head of the main definition. This module finds the lines of the head in the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from cairn.chunking.definition_place import PREPROCESSOR, Head, head_above, head_below, module_above
from cairn.discovery.statements import Statement, reads_as_statement, split_sentences, statements_of
from cairn.languages.registry import facts_of
from cairn.text.paragraphs import Paragraph, join_lines, read_paragraphs
from cairn.text.verbatim import OMISSION, lines_of, stands_in, starts_with_mark

_LINE_COMMENT = re.compile(r"\s*(?P<mark>#:|#!?|//[/!]?|--|;;+)(?=\s|\Z)")
_PERCENT_COMMENT = re.compile(r"\s*(?P<mark>%+)(?=\s|\Z)")
_BLOCK_START = re.compile(r"\s*/\*[*!]?(?=\s|\Z|\w)")
_BLOCK_LINE = re.compile(r"\A\s*\*(?!/)(?=\s|\Z)")
_TRIPLE = re.compile(r"\"\"\"|'''")
_DOCSTRING = re.compile(r"\s*(?:@\w+\s+)?[rRuUbB]{0,2}(?P<quote>\"\"\"|''')")
_LEGAL = re.compile(r"copyright|spdx-|licensed under|all rights reserved", re.IGNORECASE)
_PRAGMA = re.compile(
    r"\s*(?:@ts-|eslint|tslint|prettier|noqa|type:|pylint|pragma|nolint|go:|istanbul|fmt:|isort:|ruff:|mypy:"
    r"|clang-format|shellcheck|MARK:|TODO|FIXME|XXX|HACK)"
)
_BODY_OPENS = re.compile(r":|\s*\{|;|(?=\s|\Z)")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
"""The brackets that must be closed in a complete signature."""
_BODY_SIGNS = " \t{:;,"
_MODULE_DOC = re.compile(r"\s*@moduledoc\b")
_TAG = re.compile(r"[:@][A-Za-z]")
_TRAILING_COMMENT = re.compile(r"\s(?:#|//)\s.*")


@frozen
class _Documentation:
    """A comment or docstring: the texts of its lines, from line `first` on."""

    first: int
    texts: Sequence[str]
    quote: str = ""
    """The quotation marks of a docstring; "" for a comment."""
    attribute: bool = False
    """Whether the string is the value of Elixir's `@doc`, which is above the definition."""

    @property
    def last(self) -> int:
        return self.first + len(self.texts)


def code_statements(content: str, language: str, signature: str = "", min_words: int = 0) -> list[Statement]:
    """Return the quotable statements of a code chunk, with line numbers relative to the chunk. These are each
    documented head with the first sentence of its documentation, the main head alone, and the sentences of
    all comments and docstrings. Licence headers, imports and statements are not evidence. `signature` is that
    of the chunk's main definition.
    """
    lines = lines_of(content)
    documented = [
        (doc, read_paragraphs(enumerate(doc.texts, doc.first)))
        for doc in _documentation(lines, language)
        if not any(map(_LEGAL.search, doc.texts))
    ]
    heads = (_documented_head(lines, doc, blocks, language) for doc, blocks in documented)
    statements = [statement for statement in heads if statement]
    if head := _find_head(lines, signature):
        statements.append(Statement(head.text, head.first, head.last, head=head.text))
    for _, blocks in documented:
        statements.extend(statements_of(blocks, min_words))
    return statements


def _documented_head(
    lines: Sequence[str], doc: _Documentation, blocks: Sequence[Paragraph], language: str
) -> Statement | None:
    """Return the head that `doc` documents and the first sentence of `doc`, in the order of the file."""
    sentence = _first_sentence(blocks)
    if sentence is None:
        return None
    if doc.quote and not doc.attribute:
        head = head_above(lines, doc.first)
        quotations = _below_head(lines, doc, head, sentence) if head else []
    elif doc.quote and _MODULE_DOC.match(lines[doc.first]):
        head = module_above(lines, doc.first)
        quotations = [f"{head.text}{OMISSION}{sentence.text}"] if head else []
    else:
        head = head_below(lines, doc.last, language)
        # A quotation without an omission mark requires that the head follow directly.
        quotations = [f"{sentence.text} {head.text}", f"{sentence.text}{OMISSION}{head.text}"] if head else []
    if head is None:
        return None
    first, last = min(head.first, sentence.first), max(head.last, sentence.last)
    text = next((text for text in quotations if stands_in(text, lines[first:last])), None)
    return Statement(text, first, last, head=head.text) if text else None


def _first_sentence(blocks: Sequence[Paragraph]) -> Statement | None:
    """Return the first sentence of documentation, unless it starts with a tag or introduces other text."""
    if not blocks or _TAG.match(text := blocks[0].text):
        return None
    start, end = split_sentences(text)[0]
    if len(text[start:end].split()) < 2 or not reads_as_statement(text[start:end]):
        return None
    unfinished = text[start:end].endswith(":") or (
        blocks[0].leads_in and end == len(text) and text[-1] not in ".!"
    )
    span = blocks[0].lines(start, end)
    return None if unfinished or span is None else Statement(text[start:end], *span)


def _below_head(lines: Sequence[str], doc: _Documentation, head: Head, sentence: Statement) -> list[str]:
    """Return quotations of a Python head and the first sentence of its docstring, longest first."""
    opening = _DOCSTRING.match(lines[doc.first])
    if opening is None:
        return []
    begins_below = not lines[doc.first][opening.end() :].strip()
    quotation = f"{head.text}: {opening[0].strip()}{' ' * begins_below}{sentence.text}"
    is_all = sentence.last == doc.last and lines[doc.last - 1].rstrip().endswith(
        sentence.text[-1] + doc.quote
    )
    return [quotation + doc.quote * is_all, quotation, f"{head.text}{OMISSION}{sentence.text}"]


def _find_head(lines: Sequence[str], signature: str) -> Head | None:
    """Return the head that has the chunker's signature, without the mark that opens the body."""
    wanted = _TRAILING_COMMENT.sub("", " ".join(signature.split())).rstrip(_BODY_SIGNS)
    if not wanted or any(wanted.count(opening) != wanted.count(closing) for opening, closing in _BRACKETS):
        return None
    numbered = ((number, " ".join(line.split())) for number, line in enumerate(lines))
    text = join_lines([(number, line, not starts_with_mark(line)) for number, line in numbered if line])
    position = text.text.find(wanted)
    while position >= 0:
        end = position + len(wanted)
        span = text.lines(position, end)
        opens = _BODY_OPENS.match(text.text, end)
        if span and opens and not any(map(PREPROCESSOR.match, lines[slice(*span)])):
            start = text.offsets[text.numbers.index(span[0])]
            return Head(text.text[start : opens.end()].rstrip(_BODY_SIGNS), *span)
        position = text.text.find(wanted, end)
    return None


def _documentation(lines: Sequence[str], language: str) -> Iterator[_Documentation]:
    """Yield runs of comment lines, block comments and docstrings, in order."""
    comment = _PERCENT_COMMENT if facts_of(language).percent_comments else _LINE_COMMENT
    number = 0
    while number < len(lines):
        if mark := comment.match(lines[number]):
            run = _comment_run(lines, number, comment, mark["mark"])
            yield run
            number = run.last
        elif mark := _BLOCK_START.match(lines[number]):
            block = _block_comment(lines, number, mark.end())
            yield block
            number = block.last
        elif facts_of(language).has_docstrings and (quotes := list(_TRIPLE.finditer(lines[number]))):
            opening = _DOCSTRING.match(lines[number])
            block = _string(lines, number, quotes[0], attribute=lines[number].lstrip().startswith("@"))
            if opening and opening.end() == quotes[0].end():
                yield block
            number = block.last
        else:
            number += 1


def _comment_run(lines: Sequence[str], first: int, comment: re.Pattern[str], mark: str) -> _Documentation:
    texts: list[str] = []
    for line in lines[first:]:
        match = comment.match(line)
        if match is None or match["mark"] != mark:
            break
        text = line[match.end() :]
        texts.append("" if _PRAGMA.match(text) else text)
    return _Documentation(first, texts)


def _block_comment(lines: Sequence[str], first: int, offset: int) -> _Documentation:
    later = (_BLOCK_LINE.sub("", line) for line in lines[first + 1 :])
    return _Documentation(first, _up_to("*/", [lines[first][offset:], *later]))


def _string(lines: Sequence[str], first: int, opening: re.Match[str], attribute: bool) -> _Documentation:
    # The first line gets the indentation of the quotation marks, like the other lines.
    indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
    texts = _up_to(opening[0], [indent + lines[first][opening.end() :], *lines[first + 1 :]])
    return _Documentation(first, texts, opening[0], attribute)


def _up_to(closing: str, texts: Iterable[str]) -> list[str]:
    """Return the texts up to the first that contains `closing`, or all of them if none does."""
    found = []
    for text in texts:
        before, closed, _ = text.partition(closing)
        found.append(before)
        if closed:
            break
    return found
