"""Split a paragraph of technical text into sentences.

The library sentencex splits prose. A mask hides from it what ends no sentence but looks like it: code spans,
dotted names, addresses and ellipses in mid-sentence. It has the same length, so that offsets stay valid.
"""

from __future__ import annotations

import re

import sentencex

_LANGUAGE = "en"
"""The language for sentencex. Languages differ in abbreviations."""
_OPAQUE = re.compile(
    r"(?<!`)(?P<ticks>`++)(?:(?!(?P=ticks)).)+(?P=ticks)"
    r"|\bhttps?://[^\s<>]*[^\s<>.,;:!?)\]'\"*]"
    r"|(?<![\w.])(?:\.\w+|\w{3,}(?:[._]\w+)+)"  # These are dotted names, but not `e.g.`.
    r"|\A\.{2,}|(?:\.{2,}|…)(?=\s+[a-z])|\[\.{3}\]"
    r"|\b(?:approx|incl|max|min|p\.ex|resp|sr)\.(?=\s)|\betc(?=\.\s+[A-Z])"
)
_SPACE = re.compile(r"\s")
_INNER = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_CANDIDATE = re.compile(r"[.!?…][)\]\"'”’»*_`]*\s+\S|[^\x00-\u2fff]")
"""Matches a mark that may end a sentence, with text after it. Languages without spaces have other marks."""
_ADDENDUM = re.compile(r"[(\[]\S*[)\]]|[^\w`]+")
"""Matches text that belongs to the sentence before it, such as an emoji or `(#12)`."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences of one paragraph as offsets `(start, end)`, without the whitespace between them.

    The text after the last full stop is a sentence too.
    """
    if not _CANDIDATE.search(text):
        return [found.span()] if (found := _INNER.search(text)) else []
    masked = _OPAQUE.sub(lambda found: "X" + "x" * (len(found[0]) - 1), _SPACE.sub(" ", text))
    spans: list[tuple[int, int]] = []
    for boundary in sentencex.get_sentence_boundaries(_LANGUAGE, masked):
        found = _INNER.search(text, boundary["start_index"], boundary["end_index"])
        if found is None:
            continue
        if spans and _ADDENDUM.fullmatch(text, *found.span()):
            spans[-1] = spans[-1][0], found.end()
        else:
            spans.append(found.span())
    return spans
