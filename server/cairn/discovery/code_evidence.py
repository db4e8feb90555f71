"""What can be quoted from code: documentation sentences and the complete head they belong to.

The chunker says what the main definition's head is; where it stands, and which lines are
documentation, is read from the chunk's own text, because a citation points at lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

from cairn.discovery.blocks import Block, join_lines, read_blocks
from cairn.discovery.model import ChunkMetadata
from cairn.discovery.passages import Passage, passages_of
from cairn.discovery.verbatim import lines_of, plain, starts_with_mark

DOCSTRING_LANGUAGES = frozenset({"python", "py", "pyi", "elixir", "ex", "exs", "julia", "jl"})
"""Where a string in triple quotes at the start of a line documents; elsewhere it is data."""
PERCENT_LANGUAGES = frozenset({"erlang", "erl", "hrl", "latex", "tex", "sty", "matlab", "prolog"})
"""Where `%` starts a comment; elsewhere it is an operator."""

_LINE_COMMENT = re.compile(r"\s*(?P<mark>#:|#!?|//[/!]?|--|;;+)(?=\s|\Z)")
_PERCENT_COMMENT = re.compile(r"\s*(?P<mark>%+)(?=\s|\Z)")
_BLOCK_START = re.compile(r"\s*/\*[*!]?(?=\s|\Z|\w)")
_BLOCK_LINE = re.compile(r"\s*\*(?!/)(?=\s|\Z)")
_TRIPLE = re.compile(r"\"\"\"|'''")
_DOCSTRING = re.compile(r"\s*(?:@\w+\s+)?[rRuUbB]{0,2}(?P<quote>\"\"\"|''')")
_LEGAL = re.compile(r"copyright|spdx-|licensed under|all rights reserved", re.IGNORECASE)
_PRAGMA = re.compile(
    r"\s*(?:@ts-|eslint|tslint|prettier|noqa|type:|pylint|pragma|nolint|go:|istanbul|fmt:|isort:|ruff:|mypy:"
    r"|clang-format|shellcheck|TODO|FIXME|XXX|HACK)"
)
_BODY_OPENS = re.compile(r":|\s*\{|;|(?=\s|\Z)")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
"""A signature that leaves one open was cut."""
_BODY_SIGNS = " \t{:;,"
_TRAILING_COMMENT = re.compile(r"\s(?:#|//)\s.*")


@frozen
class _Documentation:
    """A comment or docstring: its text lines, and the lines `[first, last)` it stands on."""

    lines: tuple[tuple[int, str], ...]
    first: int
    last: int
    quote: str = ""
    """The quotes of a docstring."""
    marked: bool = False
    """Whether every line has its own mark, so that the lines below can be read on with it."""


@frozen
class _Head:
    """A definition's head: `text.text[start:end]`, on the lines `[first, last)`."""

    text: Block
    start: int
    end: int
    first: int
    last: int


def code_passages(content: str, metadata: ChunkMetadata, min_words: int = 0) -> list[Passage]:
    """The quotable passages of a code chunk; lines count from the chunk's first.

    The head together with the documentation next to it, the head alone, and the sentences of every
    comment and docstring. Licence headers, imports and statements are not evidence.
    """
    lines = lines_of(content)
    documentation = [
        doc
        for doc in _documentation(lines, (metadata.language or metadata.file_extension).lower())
        if not any(_LEGAL.search(text) for _, text in doc.lines)
    ]
    passages: list[Passage] = []
    if head := _find_head(lines, metadata.signature):
        for doc in documentation:
            passages.extend(_with_documentation(lines, head, doc))
        passages.append(Passage(_bare(head), head.first, head.last))
    for doc in documentation:
        passages.extend(passages_of(read_blocks(doc.lines), min_words))
    return passages


def _bare(head: _Head) -> str:
    """The head without the sign that opens its body."""
    return head.text.text[head.start : head.end].rstrip(_BODY_SIGNS)


def _with_documentation(lines: Sequence[str], head: _Head, doc: _Documentation) -> Iterator[Passage]:
    """The head read on from the comment right above it, or into the docstring right below it."""
    blocks = read_blocks(doc.lines)
    if doc.marked and doc.last == head.first and len(blocks) == 1:
        # Only as a whole: whatever stands between the first sentence and the head belongs to the text.
        whole = plain(lines[doc.first : doc.last])
        if whole == blocks[0].text:
            yield Passage(f"{whole} {_bare(head)}", doc.first, head.last)
    elif doc.quote and doc.first == head.last:
        for sentence in passages_of(blocks[:1])[:1]:
            text = head.text.text
            start = text.find(sentence.text, head.end)
            end = start + len(sentence.text)
            if start >= 0 and (span := head.text.lines(head.start, end)):
                end += len(doc.quote) if text.startswith(doc.quote, end) else 0
                yield Passage(text[head.start : end], *span)


def _find_head(lines: Sequence[str], signature: str) -> _Head | None:
    """Where the signature stands as whole lines, apart from what opens the body."""
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
        if span and opens:
            start = text.offsets[text.numbers.index(span[0])]
            return _Head(text, start, opens.end(), *span)
        position = text.text.find(wanted, end)
    return None


def _documentation(lines: Sequence[str], language: str) -> Iterator[_Documentation]:
    """Runs of comment lines, block comments and docstrings, in order."""
    comment = _PERCENT_COMMENT if language in PERCENT_LANGUAGES else _LINE_COMMENT
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
        elif language in DOCSTRING_LANGUAGES and (quotes := list(_TRIPLE.finditer(lines[number]))):
            opening = _DOCSTRING.match(lines[number])
            block = _string(lines, number, quotes[0])
            if opening and opening.end() == quotes[0].end():
                yield block
            number = block.last
        else:
            number += 1


def _comment_run(lines: Sequence[str], first: int, comment: re.Pattern[str], mark: str) -> _Documentation:
    texts: list[tuple[int, str]] = []
    last = first
    while last < len(lines) and (match := comment.match(lines[last])) and match["mark"] == mark:
        text = lines[last][match.end() :]
        texts.append((last, "" if _PRAGMA.match(text) else text))
        last += 1
    return _Documentation(tuple(texts), first, last, marked=True)


def _block_comment(lines: Sequence[str], first: int, offset: int) -> _Documentation:
    """`/* … */`, to the end of the text where it is not closed."""
    texts: list[tuple[int, str]] = []
    number = first
    while number < len(lines):
        line = lines[number]
        if number == first:
            line = line[offset:]
        elif match := _BLOCK_LINE.match(line):
            line = line[match.end() :]
        closed = "*/" in line
        texts.append((number, line.partition("*/")[0]))
        number += 1
        if closed:
            break
    return _Documentation(tuple(texts), first, number)


def _string(lines: Sequence[str], first: int, opening: re.Match[str]) -> _Documentation:
    """A string in triple quotes, to the end of the text where it is not closed."""
    # The first line takes the indentation of the quotes, where the others begin.
    indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
    texts: list[tuple[int, str]] = []
    number, start = first, opening.end()
    while number < len(lines):
        text, closing, _ = lines[number][start:].partition(opening[0])
        texts.append((number, indent + text if number == first else text))
        number, start = number + 1, 0
        if closing:
            break
    return _Documentation(tuple(texts), first, number, quote=opening[0])
