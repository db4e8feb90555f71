"""Whether the best result answers, or a question back would help more (S2, phase 1)."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from attrs import frozen

from cairn.config import VerdictSettings
from cairn.index.reader import StoredChunk
from cairn.retrieval.query import Query
from cairn.words import stem, text_stems

_PHRASE_IN_TITLE, _TERM_IN_TITLE, _TERM_IN_KEYWORDS, _TERM_IN_CONTENT = 5.0, 3.0, 2.0, 1.0
"""S2's scoring formula."""

_UNIT_STEMS = 60
"""S2 divides by the square root of the document's length. Its thresholds suit short help texts; length is
counted in units of such a text here (different stems), so that they keep their meaning for code."""


_JUDGED = 5
"""Results that could be what is meant. S2 counts words only: further down it would offer what ranking refused."""


class Action(enum.StrEnum):
    """What to do with the results."""

    ANSWER = "answer"
    CLARIFY = "clarify"
    NO_MATCH = "noMatch"


@frozen
class Evidence:
    """How well one document matches, by S2's count."""

    title: str
    category: str
    path: str
    score: float
    matched: tuple[str, ...]
    named: bool
    """Whether a term stands in the title or keywords, or the whole phrase in the title."""


@frozen
class Verdict:
    """The action, the sentence to say, what it offers, and how sure it is (0 to 1)."""

    action: Action
    message: str = ""
    candidates: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    matched_terms: tuple[str, ...] = ()


def matched_terms(query: Query, stored: StoredChunk) -> tuple[str, ...]:
    """The query's terms that the chunk holds in any inflection, in the query's order."""
    chunk = stored.chunk
    held = text_stems(f"{chunk.text} {chunk.header_path} {' '.join(chunk.defines)} {stored.path}")
    return tuple(term for term in query.terms if stem(term) in held)


def evidence(query: Query, stored: StoredChunk) -> Evidence:
    """S2's score of one chunk."""
    chunk = stored.chunk
    title = text_stems(chunk.title)
    keywords = text_stems(f"{stored.path} {chunk.header_path} {' '.join(chunk.defines)}")
    content = text_stems(chunk.text)
    asked = {term: stem(term) for term in query.terms}
    phrase = len(asked) > 1 and " ".join(asked) in chunk.title.lower()
    raw = _PHRASE_IN_TITLE * phrase + sum(
        _TERM_IN_TITLE * (word in title)
        + _TERM_IN_KEYWORDS * (word in keywords)
        + _TERM_IN_CONTENT * (word in content)
        for word in asked.values()
    )
    length = math.sqrt(max(1.0, len(content) / _UNIT_STEMS))
    if phrase:
        length = 1 + (length - 1) / 2
    matched = tuple(term for term, word in asked.items() if word in title | keywords | content)
    named = phrase or any(word in title | keywords for word in asked.values())
    return Evidence(chunk.title or stored.path, stored.collection, stored.path, raw / length, matched, named)


def judge(query: Query, found: Sequence[StoredChunk], settings: VerdictSettings) -> Verdict:
    """S2's confidence rules over the best of the results, best ranked first (one chunk a file)."""
    ranked = sorted((evidence(query, stored) for stored in found[:_JUDGED]), key=lambda e: -e.score)
    if not ranked or ranked[0].score == 0:
        return Verdict(Action.NO_MATCH, "Which part should I explain?")
    top = ranked[0]
    second = ranked[1] if len(ranked) > 1 else None
    gap = top.score - (second.score if second else 0.0)
    confidence = gap / top.score
    # One word can never match twice: what is asked for by one name is judged by the other rules.
    needed = min(settings.min_matched_terms, max(1, len(query.terms)))
    if len(top.matched) < needed or not top.named or top.score < settings.min_score:
        message = (
            f"I’m not sure which one you mean. Are you asking about {top.title}? If not, tell me the name."
        )
        return Verdict(Action.CLARIFY, message, (top,), confidence, top.matched)
    if second and (gap < settings.min_gap or confidence < settings.min_confidence):
        message = f"Do you mean {top.title} ({top.category}) or {second.title} ({second.category})?"
        return Verdict(Action.CLARIFY, message, (top, second), confidence, top.matched)
    return Verdict(Action.ANSWER, "", (top,), confidence, top.matched)
