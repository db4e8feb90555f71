"""Finds candidates for evidence: whole sentences that read as statements, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import frozen

from cairn.discovery.sentences import split_sentences
from cairn.text.paragraphs import Paragraph, read_paragraphs
from cairn.text.verbatim import lines_of

MIN_WORD_SHARE = 0.7
"""The minimum share of words with letters and without code punctuation. Text with less is data or code."""

_LETTER = re.compile(r"[^\W\d_]")
_CODE_WORD = re.compile(r"[{}=;]|\w\(\w*\)?,|\A[<>|&+/\\^~@$%-]+\Z")
_QUOTED = re.compile(r"(?<!`)(`++).+?\1|\]\([^)\s]*\)")
_STATEMENT_OF_CODE = re.compile(r"\w\([^)]{0,300}[=\"']|\s#\s|[;{}]\Z|\s(?:=|==|!=|:=|\+=|&&|\|\|)\s")
_MARKUP = re.compile(r"!\[|</?[A-Za-z][^>]*>|&[a-z]+;|\|\s")
_COMMENT = ("//", "/*", "# ", "-- ", ";; ")
_LEAD_IN = ("?", ":", "...", "…")


_COMPLETE = re.compile(r".*[.!?。！？][)\]\"'”’»*_`]*\Z")
_LEANING = re.compile(
    r"(?:this|that|these|those|it|they|he|she|such|then|also|however|therefore|thus|hence|namely|otherwise"
    r"|additionally|furthermore|moreover|similarly|likewise|instead|finally|unfortunately|and|or|but|so|which"
    r"|see|please|refer to|for (?:more|further|details)|thank|thanks)\b"
    r"|[:@][a-z]"  # This is the field of a parameter.
    r"|.*(?:\bhead over to|\bcheck out|[,;] see)\s",
    re.IGNORECASE,
)


@frozen
class Passage:
    """A piece of a chunk that can be quoted, on the lines `[first, last)` of the chunk."""

    text: str
    first: int
    last: int
    leaning: bool = False
    """Whether the passage loses meaning when quoted alone. It refers to the previous sentence ("This …",
    "However, …"), only points elsewhere ("See …"), or is the beginning of a longer quotation."""
    head: str = ""
    """The head of a definition in `text`; "" without one."""


def prose_passages(content: str, markdown: bool, min_words: int = 0) -> list[Passage]:
    """Return the sentences of a document's chunk, in order, with line numbers relative to the chunk."""
    return passages_of(read_paragraphs(enumerate(lines_of(content)), markdown), min_words)


def passages_of(blocks: Iterable[Paragraph], min_words: int = 0) -> list[Passage]:
    """Return the sentences of `blocks` that read as statements and can be cited, in order.

    A sentence of fewer than `min_words` words is joined with the next short sentences of its block.
    """
    passages: list[Passage] = []
    for block in blocks:
        for start, end in _read_on(block.text, split_sentences(block.text), min_words):
            text = block.text[start:end]
            unfinished = block.leads_in and end == len(block.text) and not _COMPLETE.match(text)
            lines = block.lines(start, end)
            if lines and not unfinished and reads_as_statement(text):
                is_cut = text.startswith('"') and text.count('"') % 2 == 1
                passages.append(Passage(text, *lines, leaning=is_cut or bool(_LEANING.match(text))))
    return passages


def _read_on(text: str, sentences: Iterable[tuple[int, int]], min_words: int) -> Iterator[tuple[int, int]]:
    spans = list(sentences)
    short = [len(text[start:end].split()) < min_words for start, end in spans]
    for first, (start, end) in enumerate(spans):
        last = first
        while len(text[start:end].split()) < min_words and last + 1 < len(spans) and short[last + 1]:
            last += 1
            end = spans[last][1]
        yield start, end


def reads_as_statement(text: str) -> bool:
    """Return whether `text` is a complete statement, not a question, an introduction, markup or code."""
    if (
        text.endswith(_LEAD_IN)
        or text.startswith(_COMMENT)
        or text.count("`") % 2
        or text.count("(") != text.count(")")
    ):
        return False
    prose = _QUOTED.sub("code", text)
    if _MARKUP.search(prose) or _STATEMENT_OF_CODE.search(prose):
        return False
    words = prose.split()
    plain = sum(bool(_LETTER.search(word)) and not _CODE_WORD.search(word) for word in words)
    return plain >= MIN_WORD_SHARE * len(words)
