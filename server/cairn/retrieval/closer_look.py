"""Compare the most promising files with the query more closely, which takes too long for every candidate. For
each of these files this reads the text of the best chunk, and adds up the vectors of all chunks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.candidates import Candidates
from cairn.retrieval.query import Query
from cairn.retrieval.scores import CloserScores
from cairn.retrieval.scoring import best_chunks
from cairn.retrieval.windows import read_chunk


@frozen(eq=False)
class CloserLook:
    """Compares files with a query by static vectors."""

    readers: Sequence[IndexReader]
    query: Query
    candidates: Candidates
    table: StaticTable

    def __call__(self, files: NDArray[np.intp]) -> CloserScores:
        text = self.query.meant or self.query.text
        best = best_chunks(self.candidates, self.query)[files]
        pieces: list[Sequence[int]] = [()] * len(files)
        cosines = np.zeros(len(files))
        vector = self.table.embed_queries([text])[0]
        for folder, reader in enumerate(self.readers):
            here = np.flatnonzero(self.candidates.folders[best] == folder).tolist()
            stored = reader.chunks(self.candidates.ids[best[here]].tolist())
            sums = self._sums(reader, [self.candidates.files[file].path for file in files[here]])
            for place in here:
                outline = self.candidates.outlines[best[place]]
                if outline.id in stored:
                    pieces[place] = list(
                        chain.from_iterable(read_chunk(stored[outline.id], self.table).pieces)
                    )
                if outline.path in sums:
                    total = sums[outline.path]
                    cosines[place] = total @ vector / (np.linalg.norm(total) or 1.0)
        nearness, whole = (np.zeros(len(self.candidates.files)) for _ in range(2))
        nearness[files] = self.table.nearness(text, pieces)
        whole[files] = np.maximum(cosines - np.median(cosines), 0.0)
        return CloserScores(nearness, whole)

    @staticmethod
    def _sums(reader: IndexReader, paths: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        file_of = {chunk: path for path, ids in reader.chunk_ids(paths).items() for chunk in ids}
        ids, vectors = reader.static_vectors(file_of)
        numbers = {path: number for number, path in enumerate(paths)}
        owners = np.array([numbers[file_of[chunk]] for chunk in ids.tolist()], np.intp)
        return {
            path: vectors[owners == number].sum(axis=0, dtype=np.float32)
            for path, number in numbers.items()
            if (owners == number).any()
        }
