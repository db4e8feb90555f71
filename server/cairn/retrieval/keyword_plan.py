"""The FTS5 expression by which a question is asked of paths and of subjects of commits, planned so that it is answered in time.

FTS5 scores every row that any word occurs in: eight common words in 100,000 rows took 70 to 250 ms. So rare words come
first: as many as together match no more rows than the budget. Of what is left, rows count that hold the two rarest words
both, unless those are more than the budget, too; more common ones tell next to nothing beside those, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from cairn.index.reader.records import KeywordCounts
from cairn.index.text.match import quoted_word
from cairn.retrieval.query import Query

_K1 = 1.2
"""The k1 of FTS5's bm25."""
_LOWEST_IDF = 1e-6
"""What FTS5's bm25 counts a word that most rows hold."""


Count = Callable[[Sequence[str]], KeywordCounts]
"""From FTS5 expressions to the number of rows that match each, up to just above the budget, and of all rows."""


@frozen
class KeywordPlan:
    """How a question is asked of one keyword table."""

    match: str
    """The FTS5 expression; "" where there is nothing to find."""
    possible: float
    """What BM25 gives a row in which every word of the question stands any number of times, a bound that is not met."""


@frozen
class _Term:
    expression: str
    rows: int


def plan_keywords(query: Query, count: Count, budget: int, *, absent: bool = True) -> KeywordPlan:
    """A plan for `query` that matches hardly more rows than `budget`.

    `absent` is whether words that do not occur are asked for all the same, as unsaved documents may hold them. Most spellings of a
    question occur nowhere, and each takes FTS5 some time in every row.
    """
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
        # "test" and "1" meet in 24,000 of 107,000 chunks, and tell nothing beside the rest of a name.
        if not is_found or count([both]).matching.get(both, 0) <= budget:
            parts.append(both)
    elif left and not is_found:
        parts.append(left[0].expression)  # nothing else of the question occurs
    idf = (max(math.log(_odds(counts.rows, group.rows)), _LOWEST_IDF) for group in groups)
    possible = sum(each * (_K1 + 1) for each in idf)
    return KeywordPlan(" OR ".join(dict.fromkeys(parts)), possible)


def _odds(rows: int, holding: int) -> float:
    return (max(rows, holding) - holding + 0.5) / (holding + 0.5)


def _essential(terms: Sequence[_Term], budget: int) -> list[_Term]:
    """The rarest ones, one at least."""
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
    asked = [word for word in every if absent or counts.get(word, 0)]
    # One that is left of several keeps its brackets: beside the same word elsewhere in the question it counts once more.
    expression = every[0] if len(every) == 1 else f"({' OR '.join(asked)})"
    return _Term(expression, sum(counts.get(word, 0) for word in every))
