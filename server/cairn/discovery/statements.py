"""Find candidates for evidence in text: whole sentences that read as statements, with their lines.

Sentences are split with exact offsets, by masking the text for the library sentencex.
sentencex (Wikimedia, 300 languages) knows prose, not code. The mask replaces text that cannot end a sentence:
code spans, addresses, brackets, dotted names, and ellipses in mid-sentence. It has the same length, so that
offsets stay valid. Of 79 unseen paragraphs of real documentation (`tests/data/sentences_held_out.tsv`),
sentencex 1.0.32 split 70 without a mistake, and 73 with this mask. nupunkt 0.8.0 had 72, syntok 1.4.4 66,
blingfire 0.1.8 68, and pySBD 0.3.4 73; pySBD's last release was in 2021, and it is thirty times slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import sentencex
from attrs import frozen

from cairn.text.paragraphs import Paragraph, read_paragraphs
from cairn.text.verbatim import lines_of
from cairn.text.words import is_stopword

_LANGUAGE = "en"
"""The language for sentencex. Languages differ in abbreviations; the mask covers those of Portuguese."""
_ABBREVIATIONS = (
    "approx ca cf cr dr e.g eg eq fig i.e ie incl lit max min n.b p.ex pp prof resp sr sra st vs viz"
)
_OPAQUE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?:(?!(?P=ticks)).)+(?P=ticks)"
    r"|\]\([^)\s]*\)"  # This is the address of a Markdown link.
    r"|<[^<>\s][^<>]*>"  # These are autolinks and inline HTML.
    r"|\[(?:\.{3}|…)\]"  # This is an omission in a quotation.
    r"|#\w+[?!](?=\s)"  # These are methods of Ruby.
    r"|\betc(?=\.\s+[A-Z])"
    r"|\bhttps?://[^\s<>]*[^\s<>.,;:!?)\]'\"*]"
)
_NAME = re.compile(
    r"(?:(?<!\.)\.)?(?<!\w)(?!(?:\w\.)+\w?(?!\w))\w+(?:[./_:-]+\w+)+|(?<!\.)\.\w+|(?<!\w)[a-z]+[A-Z]\w*"
    r"|(?<!\w)\w+\(\)?"
)
"""Matches versions, file names, identifiers and calls, but not `e.g.`."""
_INSIDE = re.compile(
    r"\A(?:\.{2,}|…)|(?:\.{2,}|…)(?=\s+(?-i:[a-z]))"  # This is an ellipsis in mid-sentence.
    rf"|(?<![\w.])(?:{'|'.join(map(re.escape, _ABBREVIATIONS.split()))})\.(?=\s)",
    re.IGNORECASE,
)
_END_WITHIN = re.compile(r"(?<![.!?…])[.!?…]++[)\]\"'”’»*_`]++(?=\s|\Z)")
_LAST_LETTER = re.compile(r"(?<=\w)\s(?:&\s)?[A-Z](?=\.\s+(?:`|(?P<next>[A-Z]\w*)))")
_SPACE = re.compile(r"\s")
_INNER = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_HIDDEN = re.compile(rb"\x01+")
_QUOTE = re.compile(r"[\"“”«»]")
_WORD_START = re.compile(r"(?:(?<=[\s(\[])|\A)\S")
_BRACKET = re.compile(r"[()]")
_CANDIDATE = re.compile(r"[.!?…][)\]\"'”’»*_`]*\s+\S|[^\x00-\u2fff]")
"""Matches a mark that may end a sentence, with text after it. Languages without spaces have other marks."""
_ADDENDUM = re.compile(r"[(\[]\S*[)\]]|[^\w`]+")
"""Matches text that belongs to the sentence before it, such as an emoji or `(#12)`."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences of one paragraph as offsets `(start, end)`, without the whitespace between them.

    A full stop inside a word, a code span, an address or brackets, or after an abbreviation, ends no
    sentence. The text after the last full stop is a sentence too.
    """
    if not _CANDIDATE.search(text):
        return [span] if (span := _trim(text, 0, len(text))) else []
    spans: list[tuple[int, int]] = []
    for boundary in sentencex.get_sentence_boundaries(_LANGUAGE, _masked(text)):
        span = _trim(text, boundary["start_index"], boundary["end_index"])
        if span is None:
            continue
        if spans and _ADDENDUM.fullmatch(text, *span):
            spans[-1] = spans[-1][0], span[1]
        else:
            spans.append(span)
    return spans


def _masked(text: str) -> str:
    """Return a text of the same length, with letters in place of everything that cannot end a sentence."""
    masked = list(_SPACE.sub(" ", text))
    opaque = bytearray(len(text))
    for start, end in _opaque_spans(text):
        opaque[start:end] = b"\1" * (end - start)
    inner = _enclosed(text, opaque)
    for hidden in _HIDDEN.finditer(inner):
        masked[hidden.start() : hidden.end()] = "x" * (hidden.end() - hidden.start())
    for found in _QUOTE.finditer(text):
        masked[found.start()] = "x"
    for found in _WORD_START.finditer(text):
        if masked[found.start()] == "x":
            masked[found.start()] = "X"
    for found in _INSIDE.finditer(text):
        if not inner[found.end() - 1]:
            masked[found.start() : found.end()] = "x" * len(found[0])
    for found in _END_WITHIN.finditer(text):
        if not opaque[found.start()]:
            following = text[found.end() :].lstrip()[:1]
            mark = "x" if following.islower() or following in tuple(",;:)") else found[0][0]
            masked[found.start() : found.end()] = "x" * (len(found[0]) - 1) + mark
    for found in _LAST_LETTER.finditer(text):
        if not inner[found.start()] and (found["next"] is None or is_stopword(found["next"])):
            masked[found.start() : found.end()] = "x" * len(found[0])
    return "".join(masked)


def _opaque_spans(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for found in _OPAQUE.finditer(text):
        yield from (name.span() for name in _NAME.finditer(text, position, found.start()))
        yield found.span()
        position = found.end()
    yield from (name.span() for name in _NAME.finditer(text, position))


def _enclosed(text: str, opaque: bytearray) -> bytearray:
    """Return `opaque`, with 1 also for each character inside a balanced pair of round brackets."""
    inside = bytearray(opaque)
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text):
        position = bracket.start()
        if opaque[position]:
            continue
        if text[position] == "(":
            opened.append(position)
        elif opened:
            start = opened.pop()
            inside[start:position] = b"\1" * (position - start)
    return inside


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    inner = _INNER.search(text, start, end)
    return inner.span() if inner else None


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


def prose_statements(content: str, markdown: bool, min_words: int = 0) -> list[Statement]:
    """Return the sentences of a document's chunk, in order, with line numbers relative to the chunk."""
    return statements_of(read_paragraphs(enumerate(lines_of(content)), markdown), min_words)


def statements_of(blocks: Iterable[Paragraph], min_words: int = 0) -> list[Statement]:
    """Return the sentences of `blocks` that read as statements and can be cited, in order.

    A sentence of fewer than `min_words` words is joined with the next short sentences of its block.
    """
    statements: list[Statement] = []
    for block in blocks:
        for start, end in _read_on(block.text, split_sentences(block.text), min_words):
            text = block.text[start:end]
            unfinished = block.leads_in and end == len(block.text) and not _COMPLETE.match(text)
            lines = block.lines(start, end)
            if lines and not unfinished and reads_as_statement(text):
                is_cut = text.startswith('"') and text.count('"') % 2 == 1
                statements.append(Statement(text, *lines, leaning=is_cut or bool(_LEANING.match(text))))
    return statements


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
