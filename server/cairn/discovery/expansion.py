"""Stage 3: one question becomes several searches, always the same ones for the same question."""

from __future__ import annotations

from attrs import frozen

from cairn.config import ExpansionConfig
from cairn.discovery.terms import EDGE_PUNCTUATION
from cairn.words import LIGHT_WORDS, RELATIONS, is_stopword

MAX_TERM_WORDS = 3
"""Content words of the main term; longer phrases make every variation the same search."""

CONNECTORS = frozenset({"of", "de", "do", "da", "dos", "das"})
"""Function words that hold a noun phrase together: "life cycle of requests"."""
_BREAKS = ",;:.!?)"


@frozen
class _Template:
    """A variation of the main term. `rank` orders what a small `max_expansions` keeps."""

    toggle: str
    rank: int
    text: str


_TEMPLATES = (
    # In S1's order of output. S1's worked example keeps other variations than its code would;
    # ranks 1 to 7 are the example's, the rest follow S1's order of importance within each family.
    _Template("include_definition", 1, "{} definition"),
    _Template("include_definition", 2, "what is {}"),
    _Template("include_features", 3, "{} features"),
    _Template("include_features", 4, "{} capabilities"),
    _Template("include_features", 9, "{} main functionality"),
    _Template("include_architecture", 5, "{} architecture"),
    _Template("include_architecture", 10, "{} components"),
    _Template("include_architecture", 11, "{} system design"),
    _Template("include_api", 6, "{} API"),
    _Template("include_api", 12, "{} usage"),
    _Template("include_performance", 7, "{} performance"),
    _Template("include_performance", 13, "{} benchmarks"),
    _Template("include_use_cases", 8, "{} use cases"),
    _Template("include_use_cases", 14, "{} examples"),
)


def expand_queries_baseline(query: str, config: ExpansionConfig) -> list[str]:
    """The query and its variations, at most `config.max_expansions` in all (S1, stage 3).

    The query comes first, then the best ranked variations in S1's order. No two are equal but for
    case and a trailing question mark. An empty query has no variations.
    """
    query = query.strip()
    if not query or config.max_expansions == 0:
        return []
    term = main_term(query)
    seen = {_folded(query)}
    variations: list[tuple[_Template, str]] = []
    for template in _TEMPLATES:
        text = template.text.format(term)
        if getattr(config, template.toggle) and _folded(text) not in seen:
            seen.add(_folded(text))
            variations.append((template, text))
    by_rank = sorted(variations, key=lambda pair: pair[0].rank)
    chosen = {text for _, text in by_rank[: config.max_expansions - 1]}
    return [query, *(text for _, text in variations if text in chosen)]


def main_term(query: str) -> str:
    """What the question is about: its first run of up to three content words, as written.

    "how does request routing work" → "request routing". The query itself, without its question mark,
    when it holds function words alone.
    """
    run: list[str] = []
    for token in query.split():
        word = token.strip(EDGE_PUNCTUATION)
        if run and word.lower() in CONNECTORS:
            run.append(word)
            continue
        if word and not is_stopword(word) and word.lower() not in LIGHT_WORDS | RELATIONS:
            run.append(word)
            if token[-1] not in _BREAKS and _content_count(run) < MAX_TERM_WORDS:
                continue
        if run:
            break
    while run and run[-1].lower() in CONNECTORS:
        run.pop()
    return " ".join(run) or query.rstrip("?").strip() or query


def _content_count(run: list[str]) -> int:
    return sum(word.lower() not in CONNECTORS for word in run)


def _folded(text: str) -> str:
    return " ".join(text.casefold().rstrip("? ").split())
