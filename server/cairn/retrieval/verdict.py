"""Whether the best result answers, or a question back would help more.

One verdict for search and discovery. The count of one document's matching words (S2's) suits a few short help texts, where a
document that has the words of a question is the one that is meant. In a repository many files have them. So that count judges
questions of a word or two, and which of two documents of a name is meant. Longer questions are judged by what their best
passages show (`Strength`), by a rule of four numbers that is calibrated (`benchmarks/answers/verdicts.py`).
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence

from attrs import evolve, frozen

from cairn.index.reader.records import StoredChunk
from cairn.protocol import Candidate, Verdict
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.diversity import first_of_files
from cairn.retrieval.matching import matcher
from cairn.retrieval.passages.strength import Strength
from cairn.retrieval.query import Query
from cairn.retrieval.query_types import QueryType
from cairn.retrieval.scores import Ranked
from cairn.retrieval.wording import read_words
from cairn.settings.tree import VerdictSettings
from cairn.text.words import stem

_PHRASE_IN_TITLE, _TERM_IN_TITLE, _TERM_IN_KEYWORDS, _TERM_IN_CONTENT = 5.0, 3.0, 2.0, 1.0
"""What a match counts by where it stands; a phrase counts where the question has several terms."""
_UNIT_WORDS = 150
"""The count is divided by the square root of the document's length. Thresholds suit short help texts, so length is counted
in units of such a text."""

JUDGED = 10
"""Files that could be what is meant."""
_COMPARED = 3
"""Results after the first that it must lead: whoever looks at an answer sees as many."""
_HELD_BY_NAME, _HELD_BY_TEXT = 0.5, 0.5
"""How much of a term a result holds that is called so, and one whose text has it; nearly as good as any (fitted)."""
_MAX_INTENTS = 2
"""Up to two short answers are given at once; three things asked for are a list to choose from."""

_CONNECTIVE = re.compile(r"\s*,\s*|\s+(?:and|or|&)\s+", re.IGNORECASE)

NOTHING_MATCHES = "Which part should I explain?"
WEAK = "The evidence is weak: it may be about something else."

WEIGHTS = (17.0, 4.3, -3.4, -2.3)
"""What counts for an answer, as log odds: the similarity of the best passages, the share of the question that one file's passages
hold, each name that none of them holds, and being asked whether there is such a thing. Fitted, and rounded
(`benchmarks/answers/verdicts.py --fit`)."""
BIAS = -9.4
_ASKS_WHICH = re.compile(
    r"\s*(?:which|what)\s+(?:[\w'-]+\s+){0,3}?(?:options?|settings?|flags?|switch(?:es)?|parameters?|arguments?|propert(?:y|ies)"
    r"|functions?|methods?|class(?:es)?|types?|decorators?|helpers?|hooks?|commands?|plugins?|extensions?|middlewares?|filters?"
    r"|loaders?|processors?|validators?|layers?|extractors?|adapters?|encoders?|interceptors?|calls?|fields?|values?)\b",
    re.IGNORECASE,
)
"""A question whether there is such a thing. Others speak of what is there: how it works, or why."""

WHICH_FIRST = "Which one should I go deeper on?"


class Action(enum.StrEnum):
    """What to do with the results."""

    ANSWER = "answer"
    CLARIFY = "clarify"
    NO_MATCH = "noMatch"


@frozen
class Evidence:
    """How well one document matches, by its matching words."""

    title: str
    category: str
    path: str
    score: float
    matched: tuple[str, ...]
    named: bool
    """Whether a term stands in the title or keywords."""
    phrase: bool = False
    """Whether the title has the terms next to each other and in order."""
    other_words: int = 0
    """Words of the title that belong to no term."""
    defined: frozenset[str] = frozenset()
    """Of the names that were asked for those that it defines, in lower case."""
    coverage: float = 0.0
    """How much of the question it holds, 0 to 1, rare terms counting more."""


def matched_terms(query: Query, stored: StoredChunk) -> tuple[str, ...]:
    """The query's terms that the chunk holds, in any inflection or by an alternative, in the query's order."""
    held = _held(query, stored)
    return tuple(term for place, term in enumerate(query.terms) if place in held)


def _held(query: Query, stored: StoredChunk) -> frozenset[int]:
    """The places of the query's terms that a chunk holds, its path and headings included."""
    wanted = matcher(query.groups)
    texts = (stored.chunk.text, stored.chunk.title, _keywords(stored))
    return frozenset().union(*map(wanted.held, texts))


def _keywords(stored: StoredChunk) -> str:
    # Lines of their own, so that no phrase is made of the end of one and the beginning of the other.
    return "\n".join((stored.path, stored.chunk.header_path, *stored.chunk.defines))


_Decision = tuple[Action, str, Sequence[Evidence]]
"""What to do, what to say, and which results that is about."""


def judge(
    query: Query,
    found: Sequence[Ranked],
    settings: VerdictSettings,
    shares: Sequence[float],
    strength: Strength | None = None,
) -> Verdict:
    """What to do with the results, best ranked first; `shares` are the terms' (`rarity.term_shares`).

    The first JUDGED files of `found` count, each with its first chunk. `strength` is what their passages show of the question;
    without it the words alone decide, as they do without vectors and for a question that is translated word by word.
    """
    found = first_of_files(found)[:JUDGED]
    judged = [evidence(query, ranked.stored, shares) for ranked in found]
    coverage = max((sum(shares[term] for term in _held(query, each.stored)) for each in found), default=0.0)
    # A name is meant as it is written; of what is translated word by word, similarities are lower.
    likely = None if query.is_symbol or query.language else likelihood(query, shares, strength)
    introduction = _introduction(judged, strength)
    decision = (
        introduction or _several(query, found, settings) or _decide(query, judged, settings, coverage, likely)
    )
    return _verdict(query, decision, _lead(found), coverage)


def likelihood(query: Query, shares: Sequence[float], strength: Strength | None) -> float | None:
    """How likely passages of this strength answer the question, 0 to 1; None where they were not compared by meaning."""
    if strength is None or strength.similarity is None:
        return None
    weighed = zip(WEIGHTS, features(query, shares, strength), strict=True)
    return 1 / (1 + math.exp(-BIAS - sum(weight * value for weight, value in weighed)))


def features(query: Query, shares: Sequence[float], strength: Strength) -> tuple[float, ...]:
    """What `WEIGHTS` weigh."""
    held = max((sum(shares[term] for term in terms) for terms in strength.held), default=0.0)
    asks_which = bool(_ASKS_WHICH.match(query.meant or query.text))
    return strength.similarity or 0.0, held, float(strength.missing_names), float(asks_which)


def _verdict(query: Query, decision: _Decision, lead: float, coverage: float) -> Verdict:
    """The verdict; its terms are those of the first candidate, or of all where each answers a question of its own."""
    action, message, candidates = decision
    counted = candidates if message == WHICH_FIRST else candidates[:1]
    return Verdict(
        action=action.value,
        message=message,
        candidates=tuple(Candidate(each.title, each.category, each.path) for each in candidates),
        confidence=round(lead, 4),
        matched_terms=tuple(dict.fromkeys(term for each in counted for term in each.matched)),
        coverage=round(coverage, 4),
        note=query.note,
    )


def _decide(
    query: Query, judged: Sequence[Evidence], settings: VerdictSettings, coverage: float, likely: float | None
) -> _Decision:
    strong = [each for each in judged[: 1 + _COMPARED] if _is_strong(each, query, settings)]
    matches = any(each.score for each in judged)
    is_short = len(query.terms) <= settings.min_matched_terms
    if likely is None:
        is_there = matches and coverage >= settings.min_coverage
    elif is_short:  # who types a name or two means what is called so, however near its text comes
        is_called_so = any(len(each.matched) == len(query.terms) for each in strong)
        is_there = matches and (is_called_so or likely >= settings.min_evidence)
    else:
        is_there = bool(judged) and likely >= settings.min_evidence
    if not is_there:
        return _NOTHING
    top = _explained(query, judged) or judged[0]
    if likely is not None and not is_short:
        return Action.ANSWER, "" if likely >= settings.sure_evidence else WEAK, (top,)
    if rival := _namesake(query, top, judged, settings):
        return _between(top, rival)
    return (Action.ANSWER, "", (top,)) if strong else _unsure(top, judged)


def _is_strong(judged: Evidence, query: Query, settings: VerdictSettings) -> bool:
    """The guards: enough of the terms, not in the text alone, and well enough."""
    # One word can never match twice: what is asked for by one name is judged by the other rules.
    needed = min(settings.min_matched_terms, max(1, len(query.terms)))
    # A phrase in the title counts as two matched terms.
    matched = max(len(judged.matched), 2 * judged.phrase)
    return matched >= needed and judged.named and judged.score >= settings.min_score


def _explained(query: Query, ranked: Sequence[Evidence]) -> Evidence | None:
    """What an explanation asks for by its whole title: "what is home" means "Home", and not "Dashboard home"."""
    if query.type is not QueryType.EXPLANATION:
        return None
    return next((each for each in ranked[: 1 + _COMPARED] if each.phrase and not each.other_words), None)


def _namesake(
    query: Query, top: Evidence, ranked: Sequence[Evidence], settings: VerdictSettings
) -> Evidence | None:
    """Another result that is called what was asked for, as `top` is, and that the count does not tell from it."""
    words = 0 if _explained(query, ranked) else 1
    for rival in ranked[: 1 + _COMPARED]:
        by_title = top.phrase and rival.phrase and rival.other_words <= words
        if rival is top or not (by_title or top.defined & rival.defined):
            continue
        gap = top.score - rival.score
        if gap < settings.min_gap or gap / top.score < settings.min_confidence:
            return rival
    return None


def _lead(found: Sequence[Ranked]) -> float:
    """The confidence, (top - second) / top, the second being the mean of the next results, as if there were three more."""
    scores = [ranked.score for ranked in found[: 1 + _COMPARED]]
    if not scores or scores[0] <= 0:
        return 0.0
    return max(0.0, 1 - sum(scores[1:]) / _COMPARED / scores[0])


def _introduction(judged: Sequence[Evidence], strength: Strength | None) -> _Decision | None:
    """The answer to what something is, where the best passages introduce it."""
    if strength is None or not strength.introductions:
        return None
    path = strength.introductions[0][1].path
    return Action.ANSWER, "", [each for each in judged if each.path == path][:1] or judged[:1]


def _several(query: Query, found: Sequence[Ranked], settings: VerdictSettings) -> _Decision | None:
    """For each thing that is asked for the result that is called so; None unless there are two, each with its own."""
    answers: list[Evidence] = []
    for part in _split(query):
        shares = [1 / len(part.terms)] * len(part.terms)
        judged = (evidence(part, ranked.stored, shares) for ranked in found)
        own = next((each for each in judged if _is_own(each, part, settings)), None)
        if own is None or any(own.path == other.path for other in answers):
            return None
        answers.append(own)
    return (Action.ANSWER, WHICH_FIRST, answers) if answers else None


def _is_own(judged: Evidence, part: Query, settings: VerdictSettings) -> bool:
    return _is_strong(judged, part, settings) and judged.phrase and judged.other_words <= 1


def _split(query: Query) -> list[Query]:
    """What stands between "and", "or" and commas, if that makes two; every term must belong to one."""
    pieces = (read_words(piece).terms for piece in _CONNECTIVE.split(query.meant or query.text))
    asked = [set(map(stem, terms)) for terms in pieces if terms]
    terms = [tuple(group[0] for group in query.groups if stems & set(map(stem, group))) for stems in asked]
    if len(asked) != _MAX_INTENTS or not all(terms) or sum(map(len, terms)) != len(query.terms):
        return []
    return [evolve(query, terms=of_part) for of_part in terms]


_NOTHING: _Decision = (Action.NO_MATCH, NOTHING_MATCHES, ())


def _unsure(top: Evidence, judged: Sequence[Evidence]) -> _Decision:
    message = f"I’m not sure which part you mean. Are you asking about {top.title}? If not, tell me its name."
    if sum(each.score > 0 for each in judged) <= 1:
        message = f"I think you mean {top.title}. Is that right?"
    return Action.CLARIFY, message, (top,)


def _between(first: Evidence, second: Evidence) -> _Decision:
    """Which of two: by their categories, or where these are one and the same by their folders, or else their paths."""
    if first.category == second.category:
        where = [each.path.rpartition("/")[0] for each in (first, second)]
        if where[0] == where[1] or not all(where):
            where = [first.path, second.path]
        first, second = evolve(first, category=where[0]), evolve(second, category=where[1])
    message = f"Do you mean {first.title} ({first.category}) or {second.title} ({second.category})?"
    return Action.CLARIFY, message, (first, second)


def evidence(query: Query, stored: StoredChunk, shares: Sequence[float]) -> Evidence:
    """The count of one chunk's matching words; `shares` are the terms'."""
    chunk, wanted = stored.chunk, matcher(query.groups)
    title, keywords, content = (wanted.held(text) for text in (chunk.title, _keywords(stored), chunk.text))
    phrase = wanted.is_phrase_of(chunk.title)
    raw = (
        _PHRASE_IN_TITLE * (phrase and len(query.terms) > 1)
        + _TERM_IN_TITLE * len(title)
        + _TERM_IN_KEYWORDS * len(keywords)
        + _TERM_IN_CONTENT * len(content)
    )
    length = math.sqrt(max(1.0, len(chunk.text.split()) / _UNIT_WORDS))
    if phrase:
        length = 1 + (length - 1) / 2
    named = title | keywords
    coverage = sum(
        share * (_HELD_BY_NAME * (place in named) + _HELD_BY_TEXT * (place in content or place in named))
        for place, share in enumerate(shares)
    )
    return Evidence(
        title=chunk.title or stored.path,
        category=stored.collection,
        path=stored.path,
        score=raw / length,
        matched=tuple(term for place, term in enumerate(query.terms) if place in named | content),
        named=bool(named),
        phrase=phrase,
        other_words=wanted.words_beside(chunk.title) if phrase else 0,
        defined=frozenset(map(str.lower, query.names)) & frozenset(map(str.lower, chunk.defines))
        if chunk.type is not ChunkType.PROSE
        else frozenset(),
        coverage=coverage,
    )
