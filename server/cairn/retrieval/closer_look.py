"""A closer look at the files that may come first: what takes too long to ask of every candidate.

Other signals rank the files; of the first ones the text of the best chunk is read, and the vectors of all chunks are added up.
"""

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
from cairn.retrieval.reading import read_chunk
from cairn.retrieval.scores import Closer
from cairn.retrieval.scoring import best_chunks


@frozen(eq=False)
class CloserLook:
    """Compares files with a question, by static vectors."""

    readers: Sequence[IndexReader]
    query: Query
    candidates: Candidates
    table: StaticTable

    def __call__(self, files: NDArray[np.intp]) -> Closer:
        """What is seen of the candidate files at these places."""
        text = self.query.meant or self.query.text
        best = best_chunks(self.candidates, self.query)[files]
        pieces: list[Sequence[int]] = [()] * len(files)
        cosines = np.zeros(len(files))
        asked = self.table.embed_queries([text])[0]
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
                    cosines[place] = total @ asked / (np.linalg.norm(total) or 1.0)
        nearness, whole = (np.zeros(len(self.candidates.files)) for _ in range(2))
        nearness[files] = self.table.nearness(text, pieces)
        whole[files] = np.maximum(cosines - np.median(cosines), 0.0)
        return Closer(nearness, whole)

    @staticmethod
    def _sums(reader: IndexReader, paths: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """float32[dimension]: for each file the sum of its chunks' vectors, if there are any."""
        file_of = {chunk: path for path, ids in reader.chunk_ids(paths).items() for chunk in ids}
        ids, vectors = reader.static_vectors(file_of)
        numbers = {path: number for number, path in enumerate(paths)}
        owners = np.array([numbers[file_of[chunk]] for chunk in ids.tolist()], np.intp)
        return {
            path: vectors[owners == number].sum(axis=0, dtype=np.float32)
            for path, number in numbers.items()
            if (owners == number).any()
        }
