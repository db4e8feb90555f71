"""Stages 1 to 3, before anything is searched: choose the collections, score them, and derive several queries
from the question, always the same ones. The content words of a question also tell how much of it a text
covers. They are compared by stem and identifiers by parts, so "session cookie" matches `SessionCookie`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from types import MappingProxyType

from attrs import field, frozen

from cairn.protocol.discovery_messages import CollectionRef
from cairn.retrieval.introductions import OverviewSubject
from cairn.retrieval.matching import beginning_of, matcher, words_with
from cairn.retrieval.natural_languages.translation import in_english
from cairn.retrieval.question_kinds import is_name
from cairn.settings.discovery import ExpansionConfig, FilterConfig, ScoringConfig
from cairn.text.identifiers import identifier_words
from cairn.text.unspaced import spread
from cairn.text.words import LIGHT_WORDS, RELATIONS, is_stopword, stem, stems

_WORD = re.compile(r"\w+")
EDGE_PUNCTUATION = " \t\n\r.,;:!?¿¡…\"'`´“”‘’«»()[]{}<>*"


def bare_words(text: str) -> list[str]:
    """Return the words of `text`, separated by whitespace, without punctuation around them, in their case."""
    words = (word.strip(EDGE_PUNCTUATION) for word in text.split())
    return [word for word in words if word]


def content_words(text: str) -> list[str]:
    """Return the words that say what `text` is about, in order and as written.

    Light words, such as "show", are returned only if there are no others: "explain show" is about "show".
    """
    words = [word for word in bare_words(text) if not is_stopword(word)]
    return [word for word in words if word.lower() not in LIGHT_WORDS] or words


@frozen
class QueryTerms:
    """The distinct terms of a question, with their alternatives and weights."""

    groups: tuple[tuple[str, ...], ...]
    """Each term with its alternatives, which are other words or phrases (`Query.groups`)."""
    shares: tuple[float, ...] = field()
    """Each term's share of the question, by inverse document frequency. The sum is 1; equal by default."""

    about: OverviewSubject | None = None
    """The subject of a question that asks for an overview; None for other questions."""

    @shares.default
    def _equal_shares(self) -> tuple[float, ...]:
        return (1 / len(self.groups),) * len(self.groups) if self.groups else ()

    @cached_property
    def _term_of(self) -> dict[str, int]:
        """For each stem, the index of the first term with it."""
        words = ((text, place) for place, group in enumerate(self.groups) for text in group)
        return dict(reversed([(stem(text), place) for text, place in words if _WORD.fullmatch(text)]))

    @classmethod
    @lru_cache(maxsize=4)  # Each collection's search asks again.
    def of(cls, query: str) -> QueryTerms:
        """Return the terms of `query` by the rules of English, without alternatives and function words."""
        english = in_english(query).text
        parts = (part for word in content_words(english) for part in _parts(word) if not is_stopword(part))
        by_stem = {stem(part): part for part in reversed([*parts])}
        return cls(tuple((part,) for part in reversed(by_stem.values())), about=OverviewSubject.by(english))

    def counts(self, text: str) -> Counter[int]:
        """Return the number of occurrences in `text` of each term that occurs, by the term's index."""
        counts = Counter[int]()
        for word in words_with(self._beginnings, text):
            for place in self._terms_in(word):
                counts[place] += 1
        return counts

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        return tuple(sorted({beginning_of(each) for each in self._term_of}))

    @cached_property
    def _terms_in(self) -> Callable[[str], tuple[int, ...]]:
        @cache  # Found chunks share most of their words.
        def terms_in(word: str) -> tuple[int, ...]:
            parts = (stem(word),) if _is_plain(word) else stems(word)
            return tuple(self._term_of[each] for each in parts if each in self._term_of)

        return terms_in

    def coverage(self, text: str) -> float:
        """Return the share of the question that `text` covers, 0 to 1; 0 without terms."""
        return (
            sum(self.shares[place] for place in matcher(self.groups).terms_in(text)) if self.groups else 0.0
        )


def _parts(text: str) -> Iterator[str]:
    """Yield the lower-case words of `text`, with identifiers split."""
    for word in _WORD.findall(spread(text)):
        yield from (word,) if _is_plain(word) else identifier_words(word)


def _is_plain(word: str) -> bool:
    return word.islower() and "_" not in word


_PART = re.compile(r"[\W_]+")
KIND_WORDS = frozenset(
    {"source", "doc", "docs", "documentation", "test", "tests", "config", "example", "examples"}
)
"""The kinds of collections, which are the last parts of their names. Questions such as "how do I test a
route" use them as ordinary words, so they choose collections only if the question has no other word."""
MIN_SHARE = 0.2
"""The minimum share of all chunks for a collection that is chosen by its name. A smaller one's name is often
an ordinary word: a question about log transports searched only a test fixture named so."""


def filter_collections(
    query: str,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    all_collections: Sequence[CollectionRef],
    config: FilterConfig = FilterConfig(),  # noqa: B008 - frozen
) -> list[CollectionRef]:
    """Return the collections to search, in the given order.

    `include` and `exclude` are globs over collection names, case-insensitive; `exclude` always wins. If they
    are absent or empty, `config.default_include` and `config.default_exclude` are used. Without globs to
    include, collections with a word of their name in the query are returned, unless they have few chunks; if
    there are none, all are.
    """
    excluded = exclude or config.default_exclude
    candidates = [ref for ref in all_collections if not _matches_any(ref.name, excluded)]
    included = include or config.default_include
    if included:
        return [ref for ref in candidates if _matches_any(ref.name, included)]
    terms = {part for word in content_words(query) for part in _PART.split(word.lower())}
    terms = terms - KIND_WORDS or terms
    named = [ref for ref in candidates if not terms.isdisjoint(_PART.split(ref.name.lower()))]
    in_named, in_all = (sum(ref.vector_count for ref in refs) for refs in (named, candidates))
    return named if named and in_named >= MIN_SHARE * in_all else candidates


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


BOOST_TERMS = ("docs", "source", "api", "sdk", "core")
IMPORTANT_TAGS = ("documentation", "code", "api")
STARTS_WITH_BOOST = 1.5
FULL_SIZE = 1_000_000
"""The number of vectors from which on the size of a collection scores 1."""


def score_collections(
    query_terms: Sequence[str],
    collections: Sequence[CollectionRef],
    config: ScoringConfig,
    now: datetime | None = None,
    package_relevance: Mapping[str, float] = MappingProxyType({}),
) -> list[tuple[CollectionRef, float]]:
    """Return each collection with its score, best first, equal scores by name.

    The score is the weighted sum of three signals: the share of query terms that are in the name, the share
    of `BOOST_TERMS` that are in the name, and the mean of size, recency and tags. `config.evidence_weight`
    times `package_relevance` is added, which says, by a collection's name, how much the question is about its
    package, 0 to 1. Recency is relative to `now`, by default the current time. Times without a zone are UTC.
    """
    moment = now or datetime.now(UTC)
    terms = [term.lower() for term in query_terms if term]
    scored = [
        (
            ref,
            _score(ref, terms, config, moment)
            + config.evidence_weight * package_relevance.get(ref.name, 0.0),
        )
        for ref in collections
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].name))


def _score(ref: CollectionRef, terms: Sequence[str], config: ScoringConfig, now: datetime) -> float:
    name = ref.name.lower()
    term_boost = sum(term in name for term in BOOST_TERMS) / len(BOOST_TERMS)
    size = min(ref.vector_count / FULL_SIZE, 1.0)
    tags = sum(tag in ref.tags for tag in IMPORTANT_TAGS) / len(IMPORTANT_TAGS)
    signal_boost = (size + _recency(ref.updated_at, config.recency_decay_days, now) + tags) / 3
    return (
        _name_match(name, terms) * config.name_match_weight
        + term_boost * config.term_boost_weight
        + signal_boost * config.signal_boost_weight
    )


def _name_match(name: str, terms: Sequence[str]) -> float:
    """Return the share of the terms that are in the name, times 1.5 if the name starts with one of them."""
    if not terms:
        return 0.0
    share = sum(term in name for term in terms) / len(terms)
    return share * STARTS_WITH_BOOST if name.startswith(tuple(terms)) else share


def _recency(updated_at: str | None, decay_days: float, now: datetime) -> float:
    """Return `exp(-days / decay_days)`: 1 for today, 0 without a time. Whole days make answers repeatable."""
    if not updated_at:
        return 0.0
    days = days_since(updated_at, now)
    if decay_days == 0:
        return 0.0 if days else 1.0
    return math.exp(-days / decay_days)


def days_since(updated_at: str | None, now: datetime) -> int:
    """Return the number of whole days from a time to `now`; 0 for a later time or none."""
    return max(0, (_utc(now) - _utc(datetime.fromisoformat(updated_at))).days) if updated_at else 0


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


MAX_TERM_WORDS = 3
"""The maximum number of content words in the main term. With longer terms, all variations find the same."""

MAX_OVERVIEW_WORDS = 2
"""The maximum number of content words in a question about a thing as a whole."""
NAME_FAMILIES = frozenset({"include_definition", "include_api", "include_use_cases"})
"""The kinds of variations for a name in code. Others make no sense: a function has no architecture."""
_ASKS_FOR_WHOLE = re.compile(
    r"(?:what|who)(?:'s|’s| is| are)\b|(?:explain|describe|define|overview|summari[sz]e|introduc\w+"
    r"|tell me about)\b",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
CONNECTORS = frozenset({"of"})
"""The function words that may be inside a noun phrase: "life cycle of requests"."""
_BREAKS = ",;:.!?)"


# The variations of the main term, in the order of output, each with its rank. If `max_expansions` is small,
# those with the lowest ranks are used.
_TEMPLATES = {
    "include_definition": {1: "{} definition", 2: "what is {}"},
    "include_features": {3: "{} features", 4: "{} capabilities", 9: "{} main functionality"},
    "include_architecture": {5: "{} architecture", 10: "{} components", 11: "{} system design"},
    "include_api": {6: "{} API", 12: "{} usage"},
    "include_performance": {7: "{} performance", 13: "{} benchmarks"},
    "include_use_cases": {8: "{} use cases", 14: "{} examples"},
}
_ASPECTS = {text.format("").strip() for texts in _TEMPLATES.values() for text in texts.values()} - {"what is"}
_ASPECT = re.compile(rf"\s+(?:{'|'.join(sorted(_ASPECTS))})\Z", re.IGNORECASE)
"""Matches the aspect that a variation adds. The variations of "flask architecture" are those of "flask"."""


def expand_queries_baseline(query: str, config: ExpansionConfig) -> list[str]:
    """Return the query and its variations, at most `config.max_expansions` in all.

    The query comes first. A question about a thing as a whole gets the templates' variations, which are
    English for questions in any language. A name in code gets the variations about its definition and use.
    Other questions have no variations, because two kinds of variations did not improve their results. The
    first kind is templates filled with the first words of the question: over 30 questions, 0.45 of the needed
    citations were found with them and 0.58 without. The second kind is searches for the clauses and names of
    the question: over 60 questions, the citations stayed the same, and over 93 questions, 0.769 of the facts
    were found with them and 0.776 without. No two queries differ only in case or a question mark. An empty
    query has no variations.
    """
    query = query.strip()
    if not query or config.max_expansions == 0:
        return []
    english = " ".join(in_english(query).text.split())
    variations = _templates(english, config) if is_overview(english) else []
    new: dict[str, tuple[int, str]] = {}
    for rank, text in variations:
        if _folded(text) != _folded(query):
            new.setdefault(_folded(text), (rank, text))
    chosen = set(sorted(new, key=lambda folded: new[folded][0])[: config.max_expansions - 1])
    return [query, *(text for folded, (_, text) in new.items() if folded in chosen)]


def is_overview(query: str) -> bool:
    """Return whether the question is about one thing or one aspect of it, such as "what is flask"."""
    thing = _ASPECT.sub(" aspect", _subject(query))  # An aspect counts as one word, also "use cases".
    words = content_words(thing)
    if len(words) > MAX_OVERVIEW_WORDS:
        return False
    has_others = len(bare_words(thing)) > len(words)
    return not has_others or bool(_ASKS_FOR_WHOLE.match(query))


def _subject(query: str) -> str:
    """Return a question without words such as "overview", unless nothing would be left."""
    asks = _ASKS_FOR_WHOLE.match(query)
    rest = query[asks.end() :].strip() if asks else ""
    return rest if any(not is_stopword(word) for word in bare_words(rest)) else query


def _templates(query: str, config: ExpansionConfig) -> list[tuple[int, str]]:
    term = _ASPECT.sub("", main_term(_subject(query)))
    families = NAME_FAMILIES if _is_code_name(term) else _TEMPLATES.keys()
    return [
        (rank, text.format(term))
        for family, texts in _TEMPLATES.items()
        if family in families and getattr(config, family)
        for rank, text in texts.items()
    ]


def _is_code_name(word: str) -> bool:
    """Return whether `word` can only be a name in code: `add_url_rule`, `HTTPServer`, `app.run()`."""
    return (is_name(word) and not word.removesuffix("()").isalpha()) or bool(_CAMEL_CASE.search(word))


def main_term(query: str) -> str:
    """Return the subject of a question: its first run of up to three content words, as written.

    "how does request routing work" becomes "request routing". A query that consists of function words is
    returned without its question mark.
    """
    run: list[str] = []
    for token in query.split():
        word = token.strip(EDGE_PUNCTUATION)
        if run and word.lower() in CONNECTORS:
            run.append(word)
            continue
        if word and not is_stopword(word) and word.lower() not in LIGHT_WORDS | RELATIONS:
            run.append(word)
            words = sum(each.lower() not in CONNECTORS for each in run)
            if token[-1] not in _BREAKS and words < MAX_TERM_WORDS:
                continue
        if run:
            break
    while run and run[-1].lower() in CONNECTORS:
        run.pop()
    return " ".join(run) or query.rstrip("?").strip() or query


def _folded(text: str) -> str:
    return " ".join(text.casefold().rstrip("? ").split())
