"""Decide whether the best result answers the query, or whether to ask back.

Counting matching words suits a few short help texts, where the document with the question's words is the
right one. In a repository many files have these words. So the count judges only queries of a word or two, and
two documents of one name. Longer queries are judged by their best passages (`Strength`), with a calibrated
rule of four numbers (`benchmarks/answers/verdicts.py`).
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence

from attrs import evolve, frozen

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol import Candidate, Verdict
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.matching import matcher
from cairn.retrieval.query import Query
from cairn.retrieval.question_kinds import QueryType
from cairn.retrieval.scores import Ranked, first_of_files
from cairn.retrieval.window_ranking import Strength
from cairn.retrieval.wording import read_words
from cairn.settings.tree import VerdictSettings
from cairn.text.unspaced import is_unspaced, places_of, spread
from cairn.text.words import stem
from cairn.workspace.collections import file_kind

_PHRASE_IN_TITLE, _TERM_IN_TITLE, _TERM_IN_KEYWORDS, _TERM_IN_CONTENT = 5.0, 3.0, 2.0, 1.0
"""The points of a match by its place. A phrase counts only for queries of several terms."""
_UNIT_WORDS = 150
"""Points are divided by √(words / 150), since the thresholds suit short help texts of this length."""

JUDGED = 10
"""The number of files that are judged."""
_COMPARED = 3
"""The number of results after the first with which it is compared. A user sees as many beside an answer."""
_MAX_INTENTS = 2
"""The maximum number of short answers given at once. If there are more, the user chooses."""

_CONNECTIVE = re.compile(r"\s*,\s*|\s+(?:and|or|&)\s+", re.IGNORECASE)

NOTHING_MATCHES = "Which part should I explain?"
WEAK = "The evidence is weak: it may be about something else."

WEIGHTS = (17.0, 4.3, -3.4, -2.3)
"""The weight of each value of `features` in the log odds of an answer: the similarity of the best passages,
the share of the query in one file's passages, the number of names that no passage contains, and whether the
question asks if something exists. The weights are fitted and rounded (`benchmarks/answers/verdicts.py
--fit`)."""
BIAS = -9.4
_CONTAINED = 0.7
"""The share of a query's words, weighted by inverse document frequency, from which evidence that has them in
one definition is never weak."""
_ASKS_WHICH = re.compile(
    r"\s*(?:which|what)\s+(?:[\w'-]+\s+){0,3}?(?:options?|settings?|flags?|switch(?:es)?|parameters?|arguments?|propert(?:y|ies)"
    r"|functions?|methods?|class(?:es)?|types?|decorators?|helpers?|hooks?|commands?|plugins?|extensions?|middlewares?|filters?"
    r"|loaders?|processors?|validators?|layers?|extractors?|adapters?|encoders?|interceptors?|calls?|fields?|values?)\b",
    re.IGNORECASE,
)
"""Matches questions whether something exists. Others presume that it does: how it works, or why."""

WHICH_FIRST = "Which one should I go deeper on?"


class Action(enum.StrEnum):
    ANSWER = "answer"
    CLARIFY = "clarify"
    NO_MATCH = "noMatch"


@frozen
class Evidence:
    """The matching words of one document, and how well they match."""

    title: str
    category: str
    path: str
    score: float
    matched: tuple[str, ...]
    named: bool
    """Whether a term is in the title or keywords."""
    phrase: bool = False
    """Whether the title has the terms adjacent and in order."""
    other_words: int = 0
    """The number of words in the title that do not belong to a term."""
    defined: frozenset[str] = frozenset()
    """The names of the query that the document defines, in lower case."""
    is_exact: bool = False
    """Whether the document defines the name, or contains the text, that is the whole query."""


def matched_terms(query: Query, stored: StoredChunk) -> tuple[str, ...]:
    """Return the query's terms in the chunk, in any inflection or by an alternative, in the query's order.
    Words of scripts without spaces are returned first, as the text has them."""
    contained, text = _terms_in(query, stored), stored.chunk.text
    words = {part for place in contained for each in query.groups[place] for part in spread(each).split()}
    pairs = set(filter(is_unspaced, words))
    places = places_of(pairs, text) if pairs else ()
    terms = (term for place, term in enumerate(query.terms) if place in contained and not is_unspaced(term))
    return (*dict.fromkeys(text[start:end] for start, end in places), *terms)


def _terms_in(query: Query, stored: StoredChunk) -> frozenset[int]:
    wanted = matcher(query.groups)
    texts = (stored.chunk.text, stored.chunk.title, _keywords(stored))
    return frozenset().union(*map(wanted.terms_in, texts))


def _keywords(stored: StoredChunk) -> str:
    # The parts are on separate lines, so that no phrase spans two of them.
    return "\n".join((stored.path, stored.chunk.header_path, *stored.chunk.defines))


_Decision = tuple[Action, str, Sequence[Evidence]]
"""The action, the message, and the results to show."""


def judge(
    query: Query,
    found: Sequence[Ranked],
    settings: VerdictSettings,
    shares: Sequence[float],
    strength: Strength | None = None,
) -> Verdict:
    """Decide what to do with the results, best first. The first chunk of each of the first JUDGED files
    counts. `shares` are from `term_shares`. `strength` describes the results' passages; without it only words
    decide, as they do without vectors and for a translated query."""
    found = first_of_files(found)[:JUDGED]
    judged = [evidence(query, ranked.stored) for ranked in found]
    coverage = max(
        (sum(shares[term] for term in _terms_in(query, each.stored)) for each in found), default=0.0
    )
    # A name is meant literally, and translations word by word have lower similarities.
    likely = None if query.is_symbol or query.language else likelihood(query, shares, strength)
    introduction = _introduction(judged, strength)
    has_words = strength is not None and _covered(shares, strength.terms_by_definition) >= _CONTAINED
    decision = (
        introduction
        or _several(query, found, settings)
        or _decide(query, judged, settings, coverage, likely, has_words)
    )
    return _verdict(query, decision, _lead(found), coverage)


def likelihood(query: Query, shares: Sequence[float], strength: Strength | None) -> float | None:
    """Return the likelihood that passages of this strength answer, 0 to 1; None without vectors."""
    if strength is None or strength.similarity is None:
        return None
    weighed = zip(WEIGHTS, features(query, shares, strength), strict=True)
    return 1 / (1 + math.exp(-BIAS - sum(weight * value for weight, value in weighed)))


def features(query: Query, shares: Sequence[float], strength: Strength) -> tuple[float, ...]:
    """Return the values to which `WEIGHTS` apply."""
    covered = _covered(shares, strength.terms_by_file)
    asks_which = bool(_ASKS_WHICH.match(query.meant or query.text))
    return strength.similarity or 0.0, covered, float(strength.missing_names), float(asks_which)


def _covered(shares: Sequence[float], terms_of: Sequence[frozenset[int]]) -> float:
    """Return the largest share of the query that the terms of one of several texts have."""
    return max((sum(shares[term] for term in terms) for terms in terms_of), default=0.0)


def _verdict(query: Query, decision: _Decision, lead: float, coverage: float) -> Verdict:
    """Return the verdict, with the terms of the first candidate, or of all candidates in a split answer."""
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
    query: Query,
    judged: Sequence[Evidence],
    settings: VerdictSettings,
    coverage: float,
    likely: float | None,
    has_words: bool,
) -> _Decision:
    if judged and judged[0].is_exact:
        rival = _namesake(query, judged[0], judged, settings) if judged[0].defined else None
        return _between(judged[0], rival) if rival else (Action.ANSWER, "", judged[:1])
    strong = [each for each in judged[: 1 + _COMPARED] if _is_strong(each, query, settings)]
    matches = any(each.score for each in judged)
    is_short = len(query.terms) + query.names_project <= settings.min_matched_terms
    if likely is None:
        is_answerable = matches and coverage >= settings.min_coverage
    elif is_short:  # A word or two mean a name, however similar the texts are.
        has_name_match = any(len(each.matched) == len(query.terms) for each in strong)
        is_answerable = matches and (has_name_match or likely >= settings.min_evidence)
    else:
        is_answerable = bool(judged) and likely >= settings.min_evidence
    if not is_answerable:
        return _NOTHING
    top = _explained(query, judged) or judged[0]
    if likely is not None and not is_short:
        is_sure = has_words or likely >= settings.sure_evidence
        return Action.ANSWER, "" if is_sure else WEAK, (top,)
    if rival := _namesake(query, top, judged, settings):
        return _between(top, rival)
    # A title is seldom in the script of the query.
    contains_it = query.has_own_script and len(top.matched) >= _CONTAINED * len(query.terms)
    return (Action.ANSWER, "", (top,)) if strong or contains_it else _unsure(top, judged)


def _is_strong(judged: Evidence, query: Query, settings: VerdictSettings) -> bool:
    """Return whether enough terms match, not only in the text, and the score is sufficient."""
    # A query of one word cannot match two terms; the other rules judge it.
    needed = min(settings.min_matched_terms, max(1, len(query.terms)))
    # A phrase in the title counts as two matched terms.
    matched = max(len(judged.matched), 2 * judged.phrase)
    return matched >= needed and judged.named and judged.score >= settings.min_score


def _explained(query: Query, ranked: Sequence[Evidence]) -> Evidence | None:
    """Return the result whose whole title is meant: "what is home" means "Home", not "Dashboard home"."""
    if query.type is not QueryType.EXPLANATION:
        return None
    return next((each for each in ranked[: 1 + _COMPARED] if each.phrase and not each.other_words), None)


def _namesake(
    query: Query, top: Evidence, ranked: Sequence[Evidence], settings: VerdictSettings
) -> Evidence | None:
    """Return another result with the same name as `top`, unless their scores differ enough."""
    words = 0 if _explained(query, ranked) else 1
    for rival in ranked[: 1 + _COMPARED]:
        if top.is_exact:
            is_namesake = (
                bool(rival.defined) and rival.is_exact and file_kind(rival.path) is file_kind(top.path)
            )
        else:
            by_title = top.phrase and rival.phrase and rival.other_words <= words
            is_namesake = by_title or bool(top.defined & rival.defined)
        if rival is top or not is_namesake:
            continue
        gap = top.score - rival.score
        if gap < settings.min_gap or gap / top.score < settings.min_confidence:
            return rival
    return None


def _lead(found: Sequence[Ranked]) -> float:
    """Return (top - second) / top, where second is the mean of the next three scores, 0 if missing."""
    scores = [ranked.score for ranked in found[: 1 + _COMPARED]]
    if not scores or scores[0] <= 0:
        return 0.0
    return max(0.0, 1 - sum(scores[1:]) / _COMPARED / scores[0])


def _introduction(judged: Sequence[Evidence], strength: Strength | None) -> _Decision | None:
    """Return the best passage's answer to what something is, if the best passages introduce it."""
    if strength is None or not strength.introductions:
        return None
    path = strength.introductions[0][1].path
    return Action.ANSWER, "", [each for each in judged if each.path == path][:1] or judged[:1]


def _several(query: Query, found: Sequence[Ranked], settings: VerdictSettings) -> _Decision | None:
    """Return an answer for each of two things in the query; None unless each thing has its own result."""
    answers: list[Evidence] = []
    for part in _split(query):
        judged = (evidence(part, ranked.stored) for ranked in found)
        strong = (each for each in judged if _is_strong(each, part, settings))
        own = next((each for each in strong if each.phrase and each.other_words <= 1), None)
        if own is None or any(own.path == other.path for other in answers):
            return None
        answers.append(own)
    return (Action.ANSWER, WHICH_FIRST, answers) if answers else None


def _split(query: Query) -> list[Query]:
    """Return the parts between "and", "or" and commas, if these are two with all terms of the query."""
    pieces = (read_words(piece).terms for piece in _CONNECTIVE.split(query.meant or query.text))
    parts = [set(map(stem, terms)) for terms in pieces if terms]
    terms = [tuple(group[0] for group in query.groups if stems & set(map(stem, group))) for stems in parts]
    if len(parts) != _MAX_INTENTS or not all(terms) or sum(map(len, terms)) != len(query.terms):
        return []
    return [evolve(query, terms=of_part) for of_part in terms]


_NOTHING: _Decision = (Action.NO_MATCH, NOTHING_MATCHES, ())


def _unsure(top: Evidence, judged: Sequence[Evidence]) -> _Decision:
    message = f"I’m not sure which part you mean. Are you asking about {top.title}? If not, tell me its name."
    if sum(each.score > 0 for each in judged) <= 1:
        message = f"I think you mean {top.title}. Is that right?"
    return Action.CLARIFY, message, (top,)


def _between(first: Evidence, second: Evidence) -> _Decision:
    """Ask which of two results is meant: by category, or by folder if that is equal, else by path."""
    if first.category == second.category:
        where = [each.path.rpartition("/")[0] for each in (first, second)]
        if where[0] == where[1] or not all(where):
            where = [first.path, second.path]
        first, second = evolve(first, category=where[0]), evolve(second, category=where[1])
    message = f"Do you mean {first.title} ({first.category}) or {second.title} ({second.category})?"
    return Action.CLARIFY, message, (first, second)


def evidence(query: Query, stored: StoredChunk) -> Evidence:
    """Count the matching words of one chunk."""
    chunk, wanted = stored.chunk, matcher(query.groups)
    title, keywords, content = (
        wanted.terms_in(text) for text in (chunk.title, _keywords(stored), chunk.text)
    )
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
        is_exact=_is_exact(query, chunk),
    )


def _is_exact(query: Query, chunk: Chunk) -> bool:
    if query.is_symbol and chunk.type is not ChunkType.PROSE:
        if any(name in chunk.defines for name in query.names[-1:]):
            return True
        # A word that nothing defines is found as a text.
        return query.is_one_text and query.text.strip() in chunk.text
    if query.is_one_text and is_unspaced(query.text) and query.typed in chunk.text:
        return True  # It is more than a common word, since it may be a whole sentence.
    is_quote = query.is_one_text and bool(query.required)
    return is_quote and all(text.casefold() in chunk.text.casefold() for text in query.required)
