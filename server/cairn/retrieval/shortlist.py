"""Choose the candidates to rank. Ranking reads details of these only. The legs find thousands of chunks,
because each leg finds what others miss. By a rough score of every chunk, the files that later rank in the top
ten are among the first few hundred."""

from __future__ import annotations

from itertools import repeat
from typing import cast

import numpy as np

from cairn.index.queries.file_queries import file_ids
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.candidates import Floats
from cairn.retrieval.pools import Pool

MOST_FILES = 200
_MOST_OF_A_FILE = 12
"""The maximum number of chunks ranked of one file. No signal uses more than eight."""
_ALWAYS_RANKED = ("symbol", "exact", "reexport", "file", "named")
"""The legs whose chunks are always ranked."""
_BEST, _SUM, _COVERED, _MEANING = 0.5, 1.5, 1.5, 3.5
"""The weights of the strongest signals, as in `retrieval/signals.py`."""
_DECAY = 0.7 ** np.arange(8)


def shortlist(reader: IndexReader, pool: Pool) -> list[int]:
    """Return the ids of the chunks to rank: those of promising files, and all that must be ranked."""
    ids = np.array(pool.chunks(), np.int64)
    files = reader.columns().files_of(ids)
    always = np.isin(ids, [chunk for leg in _ALWAYS_RANKED for chunk in pool.found.get(leg, ())])
    always |= np.isin(files, list(file_ids(reader, pool.files).values()))
    if len(np.unique(files)) <= MOST_FILES:
        return cast("list[int]", ids.tolist())
    keyword = _share(pool.keywords.scores(ids))
    cosines: dict[int, float] = {}
    for leg in ("compared", "similarity"):
        cosines |= pool.found.get(leg, {})
    near = np.fromiter(map(cosines.get, ids.tolist(), repeat(0.0)), np.float64, len(ids))
    meaning = _share(np.maximum(near, 0.0))
    covered = np.zeros(len(ids))
    for word in pool.words:
        covered += word.idf * word.postings.shares(ids)
    worth = keyword + meaning
    order = np.lexsort((-worth, files))
    ids, files, always = ids[order], files[order], always[order]
    keyword, meaning, covered = keyword[order], meaning[order], _share(covered[order])
    starts = np.flatnonzero(np.diff(files, prepend=np.iinfo(np.int64).min))
    file_of = np.cumsum(np.diff(files, prepend=files[0]) != 0)
    place = np.arange(len(ids)) - starts[file_of]
    decayed = keyword * np.append(_DECAY, 0.0)[np.minimum(place, len(_DECAY))]
    totals = (
        _BEST * np.maximum.reduceat(keyword, starts)
        + _SUM * _share(np.add.reduceat(decayed, starts))
        + _COVERED * np.maximum.reduceat(covered, starts)
        + _MEANING * np.maximum.reduceat(meaning, starts)
    )
    first = np.zeros(len(starts), np.bool_)
    first[np.argsort(-totals, kind="stable")[:MOST_FILES]] = True
    chosen = always | (first[file_of] & (place < _MOST_OF_A_FILE))
    return cast("list[int]", ids[chosen].tolist())


def _share(column: Floats) -> Floats:
    shares: Floats = column / (column.max(initial=0.0) or 1.0)
    return shares
