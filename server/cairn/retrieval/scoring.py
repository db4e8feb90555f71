"""What a candidate passage is worth as an answer: one way for a search, another one for evidence.

A search shows each file's best passage, so the file's score decides. Evidence is many passages, and most of a good file's are
about something else, so there a passage is worth a sum of shares. The first 20 passages by that sum held 89 % of what 60
questions must cite; by the file's score times the passage's share of its file's best match, 81 % (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cairn.retrieval.candidates import Candidates, Floats
from cairn.retrieval.legs import Legs
from cairn.retrieval.pools import Pool
from cairn.retrieval.query import Query
from cairn.retrieval.scores import Scores
from cairn.retrieval.signals import definitions

_PREAMBLE_SHARE = 0.5
"""A preamble is shown only where it matches twice as well as anything that is defined below it."""
_DEFINITION = 20.0
"""Whoever asks for a name is shown where it is defined, however often it stands elsewhere in the file."""

# With these weights the first passages held most of what 60 questions must cite.
_FILE = 1.0
"""For the file's score."""
_KEYWORDS = 0.75
"""For BM25 of the passage."""
_MEANING = 1.0
"""For the similarity above the usual one."""
_COVERAGE = 2.0
"""For the words of the question that the passage holds, by their inverse document frequency."""
_NAME = 2.0
"""For a passage that defines the very name that is asked for, or contains the very text."""
_HELD_BACK = 0.2
"""For each unit that a signal such as "is a test" takes from the file's sum: the share of a file among others says too little."""
_LEAST_LEFT = 0.05
"""A passage keeps at least this share of its worth: a folder of tests alone still has a best passage."""
_VARIATION = 0.5
"""What an answer to a variation is worth beside one to the question."""


Scoring = Callable[[Candidates, Scores, Sequence[Legs]], Floats]
"""From the candidates, the files' scores as the question ranks them, and what was found for each question, the first being the
question and the others its variations, to float64[questions, chunks], 0 or more: what each chunk is worth as an answer."""


def best_of_file(candidates: Candidates, scores: Scores, legs: Sequence[Legs]) -> Floats:
    """For a search, float64[1, chunks]: the file's score times the chunk's share of its file's best match."""
    matching = _matching(candidates, legs[0].query)
    best = candidates.best(matching)[candidates.file_of] if len(matching) else matching
    shares = np.divide(matching, best, out=np.ones_like(best), where=best != 0)
    return (scores.totals[candidates.file_of] * shares)[np.newaxis]


def best_chunks(candidates: Candidates, query: Query) -> NDArray[np.intp]:
    """intp[files]: the place of each file's chunk that answers best."""
    first: NDArray[np.intp] = candidates.ordered(_matching(candidates, query))[candidates.places() == 0]
    return first


def _matching(candidates: Candidates, query: Query) -> Floats:
    """float64[chunks]: how well each chunk answers beside the others of its file."""
    words = 3.0 * share(candidates.keyword) + 0.5 * share(candidates.definition)
    symbol = 2.0 * candidates.symbol
    if query.is_symbol:
        symbol = _DEFINITION * np.maximum(definitions(query, candidates), candidates.reexport)
    by_words = (1 - query.alpha) * (words + symbol + 4.0 * candidates.exact)
    matching = by_words + query.alpha * share(candidates.similarity)
    return np.where(candidates.preambles, _PREAMBLE_SHARE * matching, matching)


def evidence(candidates: Candidates, scores: Scores, legs: Sequence[Legs]) -> Floats:
    """For a discovery, float64[questions, chunks]: a sum of shares; 0 for a chunk that a variation did not find."""
    question = legs[0].query
    in_file = _FILE * share(scores.totals)[candidates.file_of]
    held_back = _HELD_BACK * scores.held_back()[candidates.file_of]
    named = _NAME * np.maximum(definitions(question, candidates), candidates.exact)
    values = []
    for number, of_question in enumerate(legs):
        keyword = candidates.keywords(of_question.pools)
        worth = (
            in_file
            + _KEYWORDS * share(keyword)
            + _MEANING * _above_usual(candidates.column(of_question.found("compared")))
            + _COVERAGE * coverage(candidates.ids, candidates.folders, of_question.pools)
        )
        if number == 0:
            values.append(_less(worth + named, held_back))
        else:
            nearest = candidates.column(of_question.found("static")) + candidates.column(
                of_question.found("similarity")
            )
            found = candidates.column(of_question.found("keyword")) + nearest > 0
            values.append(np.where(found, _VARIATION * _less(worth, held_back), 0.0))
    return np.stack(values)


def _less(worth: Floats, held_back: Floats) -> Floats:
    return np.maximum(worth - held_back, _LEAST_LEFT * worth)


def share(column: Floats) -> Floats:
    """Of the highest number."""
    return column / (column.max(initial=0.0) or 1.0)


def _above_usual(cosines: Floats) -> Floats:
    """0 to 1: how far each cosine lies between the median and the highest. Any two texts are somewhat alike."""
    if not cosines.any():
        return cosines
    usual = np.median(cosines)
    return np.maximum(cosines - usual, 0.0) / ((cosines.max() - usual) or 1.0)


def coverage(ids: NDArray[np.int64], folders: NDArray[np.intp], pools: Sequence[Pool]) -> Floats:
    """float64[chunks], 0 to 1: how much of the question each chunk holds, by inverse document frequency.

    `ids` are the chunks', `folders` say which of the searched folders each is from.
    """
    covered = np.zeros(len(ids))
    for folder, pool in enumerate(pools):
        possible = sum(word.idf for word in pool.words) or 1.0
        here = folders == folder
        for word in pool.words:
            covered[here] += word.idf / possible * word.held.contain(ids[here])
    return covered
