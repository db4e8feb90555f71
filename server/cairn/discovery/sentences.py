"""Where sentences end in technical English and Portuguese, with exact offsets.

Written for this purpose because nothing well kept fits: pySBD, the usual rule-based splitter, has had
no release since 2021, rewrites the text and finds its offsets afterwards by searching for the result,
and statistical splitters need a model. Technical text is also kinder than prose at large: versions,
dotted names, file names and URLs hold their full stops inside a word, so that only abbreviations,
initials and brackets need rules.
"""

from __future__ import annotations

import re

from cairn.words import is_stopword

_ALWAYS_INSIDE = (
    "approx ca cf dr e.g eg eq fig i.e ie incl lit mr mrs ms mt nr p.ex pp prof resp sr sra st vs viz"
)
ABBREVIATIONS = frozenset(_ALWAYS_INSIDE.split())
"""Always followed by more of the same sentence."""
_SOMETIMES_LAST = "al co corp dept ed esp est etc inc jr ltd no pág p sec ver vol"
FINAL_ABBREVIATIONS = frozenset(_SOMETIMES_LAST.split())
"""May also be its last word: the next word's capital decides."""

_END = re.compile(r"(?P<mark>[.!?…]+)[)\]\"'”’»*_`]*(?=\s|\Z)|[。！？]")
_OPENERS = "([{\"'“‘«*_`"
_OPAQUE = re.compile(
    r"(?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)"  # code spans, reStructuredText roles and links
    r"|\]\([^)\s]*\)"  # the address of a Markdown link
    r"|<[^<>\s][^<>]*>"  # autolinks and inline HTML
    r"|\bhttps?://[^\s<>]*[^\s<>.,;:!?)\]'\"*]"
)
_IDENTIFIER = re.compile(r"\w+(?:[._]\w|\()|[a-z]+[A-Z]\w*")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of one paragraph as offsets `(start, end)`, without the whitespace between them.

    A full stop inside a word, a code span, an address or brackets ends nothing, nor does one after an
    abbreviation. What stands after the last full stop is a sentence too.
    """
    inside = _enclosed(text)
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(text):
        # The last character: a sentence may end within brackets that close right behind it.
        if not inside[end.end() - 1] and _ends_sentence(text[start : end.start()], end, text[end.end() :]):
            spans.append((start, end.end()))
            start = end.end()
    spans.append((start, len(text)))
    return [trimmed for span in spans if (trimmed := _trim(text, *span))]


def _ends_sentence(before: str, end: re.Match[str], after: str) -> bool:
    following = after.split(maxsplit=1)
    if end["mark"] is None or not following:
        return True
    word = following[0].lstrip(_OPENERS)
    if not word or word[0] in ",;:)":
        return False
    if word[0].islower():
        return following[0].startswith("`") or bool(_IDENTIFIER.match(word))
    if end["mark"] != ".":
        return True
    last = before.rsplit(maxsplit=1)[-1].lstrip(_OPENERS) if before.strip() else ""
    if last.lower() in ABBREVIATIONS:
        return False
    if last.lower() in FINAL_ABBREVIATIONS:
        return word[0].isupper()
    # An initial ("J. Smith"), but not a sentence that ends in one ("written in C. It …").
    return not (len(last) == 1 and last.isupper() and word[0].isupper() and not is_stopword(_letters(word)))


def _letters(word: str) -> str:
    return re.sub(r"\W+\Z", "", word)


def _enclosed(text: str) -> bytearray:
    """1 for each character inside a code span, an address or a balanced pair of round brackets."""
    inside = bytearray(len(text))
    for opaque in _OPAQUE.finditer(text):
        inside[opaque.start() : opaque.end()] = b"\1" * (opaque.end() - opaque.start())
    opened: list[int] = []
    for position, character in enumerate(text):
        if inside[position]:
            continue
        if character == "(":
            opened.append(position)
        elif character == ")" and opened:
            start = opened.pop()
            inside[start:position] = b"\1" * (position - start)
    return inside


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end -= len(part) - len(part.rstrip())
    return (start, end) if start < end else None
