"""The base class of a snapshot's queries: access to the database and the files, and the chunk filter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np
from attrs import define, field
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.catalogue import SnapshotMemory
from cairn.index.postgres.connection import Store
from cairn.index.postgres.segment import WORDS
from cairn.index.postgres.session import Reads
from cairn.index.postgres.words import SnapshotWords
from cairn.index.reader.arrays import Ids
from cairn.index.reader.catalogue_reader import CatalogueReader
from cairn.index.reader.connection import interruption
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import Hit
from cairn.index.sqlite.filters import admitted_files
from cairn.index.store.deadline import Cancelled
from cairn.text.unicode import well_formed

T = TypeVar("T")

_WORDS: WeakKeyDictionary[SnapshotMemory, SnapshotWords] = WeakKeyDictionary()


@define(eq=False, slots=False)
class SnapshotReader(CatalogueReader):
    """Reads the snapshot of `memory`. Row security decides which rows `reads` may see.

    The chunks and files of all methods are numbers of the snapshot; only SQL has the ids of the pool.
    """

    memory: SnapshotMemory = field(kw_only=True)
    reads: Reads = field(kw_only=True)

    @classmethod
    def of(cls, store: Store, role: str | None, memory: SnapshotMemory, root: str = "") -> Self:
        """Return the reader of a snapshot for a role. Each read has its own transaction."""
        return cls.within(store.single_reads(role), memory, root)

    @classmethod
    def within(cls, reads: Reads, memory: SnapshotMemory, root: str = "") -> Self:
        """Return the reader of a snapshot for one request, whose `reads` must be allowed to see the snapshot.

        Create a reader per request: this is cheap, because `memory` has all cached data.
        """
        return cls(Path(f"snapshot {memory.key.id}"), memory=memory, root=root, reads=reads)

    # --- the database ---------------------------------------------------------------------------------

    def _ask(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        return self.reads.read(self.memory.watched(ask))

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query whose first two parameters are the shard and the pool."""
        key = self.memory.key
        return self._ask(lambda db: db.execute(sql, (key.shard, key.pool, *values)).fetchall())

    def _chunk_rows(self, columns: str, condition: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the number, the file's number and these columns of the snapshot's chunks, by number."""
        rows = self._rows(
            f"SELECT id, file, {columns} FROM cairn.chunks c WHERE shard = %s AND pool = %s AND {condition}",
            *values,
        )
        chunk_of, file_of = self.memory.chunk_numbers.number, self.memory.file_numbers.number
        numbered = ((chunk_of(chunk), file_of(file), *rest) for chunk, file, *rest in rows)
        return sorted((row for row in numbered if row[0]), key=itemgetter(0))

    def _rows_of(self, numbers: Iterable[int], columns: str) -> list[tuple[Any, ...]]:
        """Return `_chunk_rows` of the chunks with these numbers."""
        return self._chunk_rows(columns, "id = ANY(%s)", self.memory.chunk_numbers.ids_of(numbers))

    def _file_numbers(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the files that are in the snapshot, by path, in the order of `paths`."""
        sql = "SELECT f.path, f.id FROM json_each(?) w CROSS JOIN files f ON f.path = w.value ORDER BY w.key"
        return dict(self.select(sql, (json.dumps(list(paths)),)))

    @property
    def _words(self) -> SnapshotWords:
        return _WORDS.setdefault(self.memory, SnapshotWords(ref(self.memory)))

    def term_postings(self, terms: Sequence[str], kind: int = WORDS) -> dict[str, Postings]:
        return self._words.postings(self._ask, terms, kind)

    # --- which chunks may be found ----------------------------------------------------------------------

    def _mask(self, only: ChunkFilter) -> NDArray[np.bool_] | None:
        """Return bool[numbers]: whether each chunk passes, also in hidden files; None if all chunks pass."""
        if not only:
            return None
        file_of = self.columns().file_of
        mask = file_of > 0
        files = admitted_files(self, _without_kinds(only))
        if files is not None and (only.collections or only.paths_in(self.root) is not None):
            with self.reading() as db:
                ids = [number for (number,) in db.execute(*files)]
            mask &= np.isin(file_of, np.array(ids, np.int32))
        for allowed, known in ((only.types, self.memory.types), (only.languages, self.memory.languages)):
            if allowed:
                named = [known[value] for value in allowed if value in known]
                mask &= np.logical_or.reduce(named) if named else np.zeros_like(mask)
        return mask

    def _passing(self, ids: Ids, only: ChunkFilter) -> NDArray[np.bool_]:
        """Return bool[n]: whether each of these chunks is in the snapshot and passes."""
        passing = self.memory.chunk_numbers.has(ids)
        mask = self._mask(only)
        if mask is not None:
            passing[passing] = mask[ids[passing]]
        if only.hidden:
            hidden = list(self._file_numbers(only.hidden).values())
            passing[passing] = ~np.isin(self.columns().file_of[ids[passing]], np.array(hidden, np.int32))
        return passing

    def _filtered(self, hits: Sequence[Hit], only: ChunkFilter, limit: int) -> list[Hit]:
        passing = self._passing(np.array([hit.chunk_id for hit in hits], np.int64), only)
        return [hit for hit, passes in zip(hits, passing.tolist(), strict=True) if passes][:limit]


def check(cancelled: Cancelled) -> None:
    """Raise the appropriate error if the query was cancelled or its deadline has passed."""
    if cancelled():
        raise interruption(cancelled)


def storable(text: str) -> str:
    """Replace characters that PostgreSQL cannot store. The replacement matches nothing."""
    return well_formed(text).replace("\0", "\ufffd")


def _without_kinds(only: ChunkFilter) -> ChunkFilter:
    return ChunkFilter(paths=only.paths, folders=only.folders, collections=only.collections)


def best_first(scores: Mapping[int, float]) -> list[Hit]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return list(starmap(Hit, ordered))
