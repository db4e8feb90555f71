"""Stage 3: derive several queries from a question. The same question always gives the same queries."""

from __future__ import annotations

import re

from cairn.discovery.terms import EDGE_PUNCTUATION, bare_words, content_words
from cairn.retrieval.languages.translation import in_english
from cairn.retrieval.question_kinds import is_name
from cairn.settings.discovery import ExpansionConfig
from cairn.text.words import LIGHT_WORDS, RELATIONS, is_stopword

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
