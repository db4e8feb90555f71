"""Plan FTS5 queries over paths and commit subjects so that they finish in time.

FTS5 scores every row that contains any of the words: for eight common words in 100,000 rows this took 70 to
250 ms. So the plan takes the rarest words that together match no more rows than the budget. It adds rows with
both of the next two words if there are few enough. It drops the other words, which add almost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from cairn.index.reader.bm25 import K1, fts5_idf, quoted_word
from cairn.index.reader.records import KeywordCounts
from cairn.retrieval.query import Query

Count = Callable[[Sequence[str]], KeywordCounts]
"""Counts the rows that match each FTS5 expression, up to just above the budget, and all rows of the table."""


@frozen
class KeywordPlan:
    match: str
    """The FTS5 expression; "" if there is nothing to find."""
    possible: float
    """An upper bound of the BM25 score: that of a row with every word of the query."""


@frozen
class _Term:
    expression: str
    rows: int


def plan_keywords(query: Query, count: Count, budget: int, *, absent: bool = True) -> KeywordPlan:
    """Return a plan for `query` that matches hardly more rows than `budget`. With `absent`, the plan keeps
    words that occur nowhere, since unsaved documents may contain them. Most spellings of a query occur
    nowhere, yet each costs FTS5 time in every row."""
    words = [[quoted_word(word) for word in group] for group in query.groups]
    known = {word for group in words for word in group}
    others = [word for spelling in query.spellings if (word := quoted_word(spelling)) not in known]
    counts = count([*(word for group in words for word in group), *others])
    groups = [_any(group, counts.matching, absent) for group in words]
    extra = [_Term(word, counts.matching.get(word, 0)) for word in others]
    terms = sorted((*groups, *extra), key=lambda term: term.rows)
    needed = _essential(terms, budget)
    left = terms[len(needed) :]
    parts = [term.expression for term in needed if absent or term.rows]
    is_found = any(term.rows for term in needed)
    if len(left) > 1:
        both = f"({left[0].expression} AND {left[1].expression})"
        # Two common words together may match too many rows: "test" and "1" match 24,000 of 107,000 chunks.
        if not is_found or count([both]).matching.get(both, 0) <= budget:
            parts.append(both)
    elif left and not is_found:
        parts.append(left[0].expression)  # No other word of the query occurs.
    possible = sum(fts5_idf(group.rows, max(counts.rows, group.rows)) * (K1 + 1) for group in groups)
    return KeywordPlan(" OR ".join(dict.fromkeys(parts)), possible)


def _essential(terms: Sequence[_Term], budget: int) -> list[_Term]:
    needed: list[_Term] = []
    rows = 0
    for term in terms:
        rows += term.rows
        if needed and rows > budget:
            break
        needed.append(term)
    return needed


def _any(words: Iterable[str], counts: Mapping[str, int], absent: bool) -> _Term:
    every = list(dict.fromkeys(words))
    present = [word for word in every if absent or counts.get(word, 0)]
    # A group with one present word stays in brackets, so that it is counted apart from the bare word.
    expression = every[0] if len(every) == 1 else f"({' OR '.join(present)})"
    return _Term(expression, sum(counts.get(word, 0) for word in every))
