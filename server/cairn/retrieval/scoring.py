"""Rate passages as answers, in different ways for a search and for evidence.

A search shows each file's best passage, so the file's score decides. Evidence consists of many passages, and
most of a good file is about something else, so the value of a passage is a sum of shares. Its first 20
passages contained 89 % of what answers to 60 questions must cite. If the value is the file's score times the
passage's match relative to the best in the file, they contained 81 % (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.candidates import Candidates, Floats, coverage, share
from cairn.retrieval.legs import Legs
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import Query
from cairn.retrieval.scores import CloserScores, Scores, Signal
from cairn.retrieval.signals import definitions
from cairn.retrieval.windows import read_chunks

_PREAMBLE_SHARE = 0.5
"""The factor of a preamble's match, which must be twice as good as that of every definition below it."""
_DEFINITION = 20.0
"""The weight of a definition if the query is a name, so that no other chunk of the file is shown."""

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


def _matching(candidates: Candidates, query: Query) -> Floats:
    """Return float64[chunks]: how well each chunk matches, for comparison within its file."""
    words = 3.0 * share(candidates.keyword) + 0.5 * share(candidates.definition)
    symbol = 2.0 * candidates.symbol
    if query.is_symbol:
        symbol = _DEFINITION * np.maximum(definitions(query, candidates), candidates.reexport)
    by_words = (1 - query.alpha) * (words + symbol + 4.0 * candidates.exact)
    matching = by_words + query.alpha * share(candidates.similarity)
    return np.where(candidates.preambles, _PREAMBLE_SHARE * matching, matching)


def look_closer(
    readers: Sequence[IndexReader],
    query: Query,
    candidates: Candidates,
    meaning: Meaning,
    files: NDArray[np.intp],
) -> CloserScores:
    """Compare the most promising files with the query by vectors, which takes too long for every candidate:
    the text of each file's best chunk, and the sum of the vectors of all its chunks."""
    text = query.meant or query.text
    best = candidates.ordered(_matching(candidates, query))[candidates.places() == 0][files]
    pieces = [np.empty(0, np.int32)] * len(files)
    cosines = np.zeros(len(files))
    vector = meaning.encoder.embed_queries([text])[0]
    for folder, reader in enumerate(readers):
        here = np.flatnonzero(candidates.folders[best] == folder).tolist()
        stored = reader.chunks(candidates.ids[best[here]].tolist())
        read = dict(zip(stored, read_chunks(list(stored.values()), meaning.table), strict=True))
        whole_files = _cosines(reader, [candidates.files[file].path for file in files[here]], vector)
        for place in here:
            outline = candidates.outlines[best[place]]
            if outline.id in read:
                pieces[place] = read[outline.id].pieces
            cosines[place] = whole_files.get(outline.path, 0.0)
    nearness, whole = (np.zeros(len(candidates.files)) for _ in range(2))
    nearness[files] = meaning.table.nearness(text, pieces)
    whole[files] = np.maximum(cosines - np.median(cosines), 0.0)
    return CloserScores(nearness, whole)


def _cosines(reader: IndexReader, paths: Sequence[str], vector: NDArray[np.float32]) -> dict[str, float]:
    """Return the cosine similarity of `vector` to the sum of the vectors of each file's chunks, by path."""
    of_file = reader.chunk_ids(paths)
    file_of = {chunk: file for file, ids in enumerate(of_file.values()) for chunk in ids}
    ids, vectors = reader.static_vectors(file_of)
    if not len(ids):
        return {}
    files = np.fromiter(map(file_of.__getitem__, ids.tolist()), np.intp, len(ids))
    order = np.argsort(files, kind="stable")
    starts = np.flatnonzero(np.diff(files[order], prepend=-1))
    sums = np.add.reduceat(vectors[order], starts, axis=0, dtype=np.float32)
    lengths = np.linalg.norm(sums, axis=1)
    cosines = sums @ vector / np.where(lengths > 0, lengths, 1.0)
    named = map(list(of_file).__getitem__, files[order[starts]].tolist())
    return dict(zip(named, cosines.tolist(), strict=True))


@frozen(eq=False)
class EvidenceInputs:
    """What the signals of passages for evidence look at. Their values are float64[chunks]."""

    candidates: Candidates
    scores: Scores
    question: Query
    legs: Legs
    """The legs of the query whose passages are rated: the question, or a variation of it."""

    def found(self, leg: str) -> Floats:
        return self.candidates.column(self.legs.found(leg))

    @property
    def is_question(self) -> bool:
        return self.legs.query is self.question


def _names(each: EvidenceInputs) -> Floats:
    """Return whether a passage defines the question's name or contains its literal text."""
    candidates = each.candidates
    return each.is_question * np.maximum(definitions(each.question, candidates), candidates.exact)


def _coverage(each: EvidenceInputs) -> Floats:
    return coverage(each.candidates.ids, each.candidates.folders, each.legs.pools)


SIGNALS: tuple[Signal[EvidenceInputs], ...] = (
    Signal("file", "its file", 1.0, lambda each: share(each.scores.totals)[each.candidates.file_of]),
    Signal("keywords", "keywords", 0.75, lambda each: share(each.candidates.keywords(each.legs.pools))),
    Signal("meaning", "meaning above the median", 1.0, lambda each: _above_usual(each.found("compared"))),
    Signal("words", "words of the question", 2.0, _coverage),
    Signal("names", "name or literal text", 2.0, _names),
)
"""With these weights, the first passages had most of what 60 answers must cite."""
_PENALTY = 0.2
"""The weight of the penalties of the file, by signals such as "is a test"."""


def evidence(candidates: Candidates, scores: Scores, legs: Sequence[Legs]) -> Floats:
    """Return float64[queries, chunks] for a discovery: sums of shares; 0 for chunks not found."""
    penalties = _PENALTY * scores.penalties()[candidates.file_of]
    values = []
    for of_query in legs:
        inputs = EvidenceInputs(candidates, scores, legs[0].query, of_query)
        worth = np.sum([signal.weight * signal.value(inputs) for signal in SIGNALS], axis=0)
        worth = np.maximum(worth - penalties, _LEAST_LEFT * worth)
        if not inputs.is_question:
            is_found = sum(map(inputs.found, ("similarity", "keyword"))) > 0
            worth = np.where(is_found, _VARIATION * worth, 0.0)
        values.append(worth)
    return np.stack(values)


def _above_usual(cosines: Floats) -> Floats:
    """Map cosines to 0 to 1: the median and lower ones to 0, the maximum to 1."""
    if not cosines.any():
        return cosines
    usual = np.median(cosines)
    return np.maximum(cosines - usual, 0.0) / ((cosines.max() - usual) or 1.0)
