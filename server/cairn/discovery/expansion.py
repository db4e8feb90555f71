"""Stage 3: one question becomes several searches, always the same ones for the same question."""

from __future__ import annotations

import re

from cairn.discovery.terms import EDGE_PUNCTUATION, bare_words, content_words
from cairn.retrieval.languages.translation import in_english
from cairn.retrieval.query_types import is_name
from cairn.settings.discovery import ExpansionConfig
from cairn.text.words import LIGHT_WORDS, RELATIONS, is_stopword

MAX_TERM_WORDS = 3
"""Content words of the main term; longer phrases make every variation the same search."""

MAX_OVERVIEW_WORDS = 2
"""Content words of a question about a thing as a whole."""
NAME_FAMILIES = frozenset({"include_definition", "include_api", "include_use_cases"})
"""What is asked of a name in code; a function has no architecture."""
_ASKS_FOR_WHOLE = re.compile(
    r"(?:what|who)(?:'s|’s| is| are)\b|(?:explain|describe|define|overview|summari[sz]e|introduc\w+|tell me about)\b",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
CONNECTORS = frozenset({"of"})
"""Function words that hold a noun phrase together: "life cycle of requests"."""
_BREAKS = ",;:.!?)"


# The variations of the main term, in S1's order of output, each with its rank, which orders what a small
# `max_expansions` keeps. S1's worked example keeps other variations than its code would; ranks 1 to 7 are the
# example's, the rest follow S1's order of importance within each family.
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
"""What a variation adds: of "flask architecture" the others are those of "flask"."""


def expand_queries_baseline(query: str, config: ExpansionConfig) -> list[str]:
    """The query and its variations, at most `config.max_expansions` in all (S1, stage 3).

    The query comes first. A question about a thing as a whole has S1's variations, the best ranked ones in S1's order,
    in English whatever its language; a name in code those that lead to its definition and its use. Any other stands alone:
    templates filled with its first words find what is said of them in general (with S1's variations for every question,
    0.45 of what 30 of them must cite was found, without 0.58), and its clauses and names searched for by themselves found
    nothing more (60 questions: the same citations; 93: 0.769 of the facts, without 0.776).
    No two are equal but for case and a trailing question mark. An empty query has no variations.
    """
    query = query.strip()
    if not query or config.max_expansions == 0:
        return []
    asked = " ".join(in_english(query).text.split())
    variations = _templates(asked, config) if is_overview(asked) else []
    new: dict[str, tuple[int, str]] = {}
    for rank, text in variations:
        if _folded(text) != _folded(query):
            new.setdefault(_folded(text), (rank, text))
    chosen = set(sorted(new, key=lambda folded: new[folded][0])[: config.max_expansions - 1])
    return [query, *(text for folded, (_, text) in new.items() if folded in chosen)]


def is_overview(query: str) -> bool:
    """Whether the question is about one thing as a whole, or one aspect of it: "what is flask", "session cookies"."""
    thing = _ASPECT.sub(" aspect", _subject(query))  # one word, however many "use cases" has
    words = content_words(thing)
    if len(words) > MAX_OVERVIEW_WORDS:
        return False
    has_others = len(bare_words(thing)) > len(words)
    return not has_others or bool(_ASKS_FOR_WHOLE.match(query))


def _subject(query: str) -> str:
    """A question without the words that ask for a whole, where others are left: "overview of flask", "of flask"."""
    asks = _ASKS_FOR_WHOLE.match(query)
    rest = query[asks.end() :].strip() if asks else ""
    return rest if any(not is_stopword(word) for word in bare_words(rest)) else query


def _templates(query: str, config: ExpansionConfig) -> list[tuple[int, str]]:
    """S1's variations of the main term, each with its rank."""
    term = _ASPECT.sub("", main_term(_subject(query)))
    families = NAME_FAMILIES if _is_code_name(term) else _TEMPLATES.keys()
    return [
        (rank, text.format(term))
        for family, texts in _TEMPLATES.items()
        if family in families and getattr(config, family)
        for rank, text in texts.items()
    ]


def _is_code_name(word: str) -> bool:
    """Whether `word` is a name as only code has it: `add_url_rule`, `HTTPServer`, `app.run()`."""
    return (is_name(word) and not word.removesuffix("()").isalpha()) or bool(_CAMEL_CASE.search(word))


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
