"""Rate passages as answers, in different ways for a search and for evidence.

A search shows each file's best passage, so the file's score decides. Evidence consists of many passages, and
most of a good file is about something else, so the value of a passage is a sum of shares. Its first 20
passages contained 89 % of what answers to 60 questions must cite. If the value is the file's score times the
passage's match relative to the best in the file, they contained 81 % (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cairn.retrieval.candidates import Candidates, Floats, Pool
from cairn.retrieval.legs import Legs
from cairn.retrieval.query import Query
from cairn.retrieval.scores import Scores
from cairn.retrieval.signals import definitions

_PREAMBLE_SHARE = 0.5
"""The factor of a preamble's match, which must be twice as good as that of every definition below it."""
_DEFINITION = 20.0
"""The weight of a definition if the query is a name, so that no other chunk of the file is shown."""

# The weights of evidence. With these, the first passages had most of what 60 answers must cite.
_FILE = 1.0
"""The weight of the file's score."""
_KEYWORDS = 0.75
"""The weight of the passage's BM25 score."""
_MEANING = 1.0
"""The weight of the similarity above the median."""
_COVERAGE = 2.0
"""The weight of the share of the query's words in the passage."""
_NAME = 2.0
"""The weight of a definition of the query's name, or of its literal text, in the passage."""
_PENALTY = 0.2
"""The weight of the penalties of the file, by signals such as "is a test"."""
_LEAST_LEFT = 0.05
"""The minimum share of its value that a penalised passage keeps."""
_VARIATION = 0.5
"""The factor of the value for a variation of the query."""


Scoring = Callable[[Candidates, Scores, Sequence[Legs]], Floats]
"""Returns float64[queries, chunks], at least 0: the value of each chunk by query, variations last."""


def best_of_file(candidates: Candidates, scores: Scores, legs: Sequence[Legs]) -> Floats:
    """Return float64[1, chunks] for a search: the file's score, scaled by the chunk's match in its file."""
    matching = _matching(candidates, legs[0].query)
    best = candidates.best(matching)[candidates.file_of] if len(matching) else matching
    shares = np.divide(matching, best, out=np.ones_like(best), where=best != 0)
    return (scores.totals[candidates.file_of] * shares)[np.newaxis]


def best_chunks(candidates: Candidates, query: Query) -> NDArray[np.intp]:
    """Return intp[files]: the index of each file's best chunk."""
    first: NDArray[np.intp] = candidates.ordered(_matching(candidates, query))[candidates.places() == 0]
    return first


def _matching(candidates: Candidates, query: Query) -> Floats:
    """Return float64[chunks]: how well each chunk matches, for comparison within its file."""
    words = 3.0 * share(candidates.keyword) + 0.5 * share(candidates.definition)
    symbol = 2.0 * candidates.symbol
    if query.is_symbol:
        symbol = _DEFINITION * np.maximum(definitions(query, candidates), candidates.reexport)
    by_words = (1 - query.alpha) * (words + symbol + 4.0 * candidates.exact)
    matching = by_words + query.alpha * share(candidates.similarity)
    return np.where(candidates.preambles, _PREAMBLE_SHARE * matching, matching)


def evidence(candidates: Candidates, scores: Scores, legs: Sequence[Legs]) -> Floats:
    """Return float64[queries, chunks] for a discovery: sums of shares; 0 for chunks not found."""
    question = legs[0].query
    in_file = _FILE * share(scores.totals)[candidates.file_of]
    penalties = _PENALTY * scores.penalties()[candidates.file_of]
    named = _NAME * np.maximum(definitions(question, candidates), candidates.exact)
    values = []
    for number, legs_of_query in enumerate(legs):
        keyword = candidates.keywords(legs_of_query.pools)
        worth = (
            in_file
            + _KEYWORDS * share(keyword)
            + _MEANING * _above_usual(candidates.column(legs_of_query.found("compared")))
            + _COVERAGE * coverage(candidates.ids, candidates.folders, legs_of_query.pools)
        )
        if number == 0:
            values.append(_less(worth + named, penalties))
        else:
            nearest = candidates.column(legs_of_query.found("static")) + candidates.column(
                legs_of_query.found("similarity")
            )
            found = candidates.column(legs_of_query.found("keyword")) + nearest > 0
            values.append(np.where(found, _VARIATION * _less(worth, penalties), 0.0))
    return np.stack(values)


def _less(worth: Floats, penalties: Floats) -> Floats:
    return np.maximum(worth - penalties, _LEAST_LEFT * worth)


def share(column: Floats) -> Floats:
    """Return `column` divided by its maximum."""
    return column / (column.max(initial=0.0) or 1.0)


def _above_usual(cosines: Floats) -> Floats:
    """Map cosines to 0 to 1: the median and lower ones to 0, the maximum to 1."""
    if not cosines.any():
        return cosines
    usual = np.median(cosines)
    return np.maximum(cosines - usual, 0.0) / ((cosines.max() - usual) or 1.0)


def coverage(ids: NDArray[np.int64], folders: NDArray[np.intp], pools: Sequence[Pool]) -> Floats:
    """Return float64[chunks], 0 to 1: the share of the query's words in each chunk, weighted by idf."""
    covered = np.zeros(len(ids))
    for folder, pool in enumerate(pools):
        possible = sum(word.idf for word in pool.words) or 1.0
        here = folders == folder
        for word in pool.words:
            covered[here] += word.idf / possible * word.postings.contain(ids[here])
    return covered
