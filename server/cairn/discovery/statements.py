"""Find candidates for evidence: sentences of documents that read as statements, and heads of definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from attrs import evolve, frozen

from cairn.chunking.paragraphs import Paragraph, read_paragraphs
from cairn.text.inline_markup import strip_inline
from cairn.text.sentences import split_sentences
from cairn.text.verbatim import OMISSION, find_lines, lines_of, stands_in

_CACHED_TEXTS = 300
"""The number of texts whose statements are cached. Questions about one project find the same documents."""
MIN_WORD_SHARE = 0.7
"""The minimum share of words with letters and without code punctuation. Text with less is data or code."""

_LETTER = re.compile(r"[^\W\d_]")
_CODE_WORD = re.compile(r"[{}=;]|\w\(\w*\)?,|\A[<>|&+/\\^~@$%-]+\Z")
_QUOTED = re.compile(r"(?<!`)(`++).+?\1|\]\([^)\s]*\)")
_STATEMENT_OF_CODE = re.compile(r"\w\([^)]{0,300}[=\"']|\s#\s|[;{}]\Z|\s(?:=|==|!=|:=|\+=|&&|\|\|)\s")
_MARKUP = re.compile(r"!\[|</?[A-Za-z][^>]*>|&[a-z]+;|\|\s")
_COMMENT = ("//", "/*", "# ", "-- ", ";; ")
_LEAD_IN = ("?", ":", "...", "…")
_LEANING = re.compile(
    r"(?:this|that|these|those|it|they|he|she|such|then|also|however|therefore|thus|hence|namely|otherwise"
    r"|additionally|furthermore|moreover|similarly|likewise|instead|finally|unfortunately|and|or|but|so|which"
    r"|see|please|refer to|for (?:more|further|details)|thank|thanks)\b"
    r"|[:@][a-z]"  # This is the field of a parameter.
    r"|.*(?:\bhead over to|\bcheck out|[,;] see)\s",
    re.IGNORECASE,
)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
"""The brackets that are closed in a complete head."""


@frozen
class Statement:
    """A piece of a chunk that can be quoted, on the lines `[first, last)` of the chunk."""

    text: str
    first: int
    last: int
    leaning: bool = False
    """Whether the statement loses meaning when quoted alone. It refers to the previous sentence ("This …",
    "However, …"), only points elsewhere ("See …"), or is the beginning of a longer quotation."""
    head: str = ""
    """The head of a definition in `text`; "" without one."""
    around: tuple[int, int] = (0, 0)
    """The lines of the whole paragraph. A sentence that ends within a link may need them."""

    def verified(self, lines: Sequence[str]) -> Statement | None:
        """Return the statement with lines of the chunk that contain its text; None if none do."""
        for first, last in ((self.first, self.last), self.around):
            if stands_in(self.text, lines[first:last]):
                return evolve(self, first=first, last=last)
        return None


@lru_cache(maxsize=_CACHED_TEXTS)
def prose_statements(content: str, language: str, min_words: int = 0) -> tuple[Statement, ...]:
    """Return the sentences of a document's chunk that read as statements, in order, with their lines.

    A sentence of fewer than `min_words` words is joined with the next short sentences of its paragraph.
    """
    return tuple(
        statement
        for paragraph in read_paragraphs(language, content)
        if len(paragraph.source.split()) >= min_words
        for statement in _statements_of(paragraph, min_words)
    )


def _statements_of(paragraph: Paragraph, min_words: int) -> Iterator[Statement]:
    stripped = strip_inline(paragraph.source)
    for start, end in _read_on(stripped.text, split_sentences(stripped.text), min_words):
        text = stripped.text[start:end]
        if reads_as_statement(text):
            is_cut = text.startswith('"') and text.count('"') % 2 == 1
            first, last = (
                paragraph.first + paragraph.source.count("\n", 0, stripped.places[place])
                for place in (start, end - 1)
            )
            leaning = is_cut or bool(_LEANING.match(text))
            around = paragraph.first, paragraph.last
            yield Statement(text, first, last + 1, leaning, around=around)


def code_statements(content: str, signature: str, comment: str) -> list[Statement]:
    """Return what can be quoted of a chunk of code: the head of its main definition with the first sentence
    of its comment, and each alone. `signature` and `comment` are those of the chunk."""
    text = " ".join(comment.partition("\n\n")[0].split())
    sentence = next((text[start:end] for start, end in split_sentences(text)), "")
    sentence = sentence if reads_as_statement(sentence) else ""
    is_whole = all(signature.count(opening) == signature.count(closing) for opening, closing in _BRACKETS)
    head = signature if is_whole else ""
    lines = lines_of(content)
    both = (f"{sentence}{OMISSION}{head}", f"{head}{OMISSION}{sentence}") if head and sentence else ()
    found = []
    for quotation in filter(None, (*both, sentence, head)):
        if span := find_lines(quotation, lines):
            found.append(Statement(quotation, *span, head=head if head in quotation else ""))
    return found


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
