"""Reads a snapshot in a team's database, as one role sees it."""

from __future__ import annotations

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary

import apsw
import numpy as np
from attrs import define, field
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.chunking.references.packing import PackedTable
from cairn.errors import OutOfTimeError
from cairn.index.postgres.blocks import Dictionary
from cairn.index.postgres.catalogue import CataloguedFile, SnapshotMemory, present_chunks
from cairn.index.postgres.connection import Store
from cairn.index.postgres.exact import find
from cairn.index.postgres.segment import NAMES, WORDS
from cairn.index.postgres.session import Reads
from cairn.index.postgres.vectors import KeptVectors
from cairn.index.postgres.words import SnapshotWords, stems, together_at
from cairn.index.reader.arrays import Ids
from cairn.index.reader.connection import interruption
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import MAX_NEIGHBOURS
from cairn.index.reader.postings import NOWHERE, Postings
from cairn.index.reader.records import (
    ColumnWeights,
    DefinitionPlace,
    FoundName,
    Hit,
    KeywordCounts,
    Outline,
    StoredChunk,
)
from cairn.index.reader.static_only import StaticOnlyReader
from cairn.index.sqlite.filters import admitted_files
from cairn.index.store.deadline import Cancelled, Deadline, never
from cairn.index.store.keyword_columns import compound_parts
from cairn.index.store.prepared import symbol_words
from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row
from cairn.index.store.schema import STATIC_LENGTH
from cairn.index.text.bm25 import K1, LOWEST_IDF, B, Statistics
from cairn.index.text.literals import ExactMatches, Literal
from cairn.index.text.match import quoted_word
from cairn.text.unicode import well_formed

if TYPE_CHECKING:
    from cairn.index.reader.chunk_columns import ChunkColumns

T = TypeVar("T")

_MOST_CHECKED = 300
"""Chunks in which it is looked whether the words of a phrase stand beside each other; of more it is taken for granted."""
_MOST_SORTED, _MOST_NAMES = 3_000, 400
"""As of an index file (`cairn.index.sqlite.reader`)."""
_MOST_OWNERS, _MOST_OF_NAME = 50, 1_000
_COMPARED = 50_000
"""Chunks of a pool up to which all vectors are compared; with more, the graph of vectors is asked."""
_COLUMNS = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)

_WORDS: WeakKeyDictionary[SnapshotMemory, SnapshotWords] = WeakKeyDictionary()
_VECTORS = KeptVectors()


@define(eq=False, slots=False)
class PostgresReader(StaticOnlyReader):
    """Reads the snapshot of `memory`; row security decides what of it the role of `reads` sees."""

    memory: SnapshotMemory = field(kw_only=True)
    reads: Reads = field(kw_only=True)

    @classmethod
    def of(cls, store: Store, role: str | None, memory: SnapshotMemory, root: str = "") -> PostgresReader:
        """The reader of a snapshot for a role, each of whose reads has a transaction of its own."""
        return cls.within(store.single_reads(role), memory, root)

    @classmethod
    def within(cls, reads: Reads, memory: SnapshotMemory, root: str = "") -> PostgresReader:
        """The reader of a snapshot for one question, by `reads` of `Store.session`, whose role may see the snapshot.

        It is made anew for each question, which costs nothing: what is kept of the snapshot is in `memory`.
        """
        return cls(Path(f"snapshot {memory.key.id}"), memory=memory, root=root, reads=reads)

    @property
    def key(self) -> Hashable:
        return ("snapshot", self.memory.key.id)

    def identity(self) -> object:
        return self.key

    def _connection(self) -> apsw.Connection:
        local = self.memory.local
        if local.db is None:
            local.db, local.identity = self.memory.connect(), self.identity()
        return local.db

    # --- the database ---------------------------------------------------------------------------------

    def _ask(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        return self.reads.read(ask)

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query about the pool, whose first two values are its shard and itself."""
        key = self.memory.key
        return self._ask(lambda db: db.execute(sql, (key.shard, key.pool, *values)).fetchall())

    def _file(self, number: int) -> CataloguedFile | None:
        return self.memory.files.get(number)

    def _file_ids(self, paths: Iterable[str]) -> dict[str, int]:
        """The ids of those of these files that are in the snapshot, in their order."""
        sql = "SELECT f.path, f.id FROM json_each(?) w CROSS JOIN files f ON f.path = w.value ORDER BY w.key"
        return dict(self.select(sql, (json.dumps(list(paths)),)))

    # --- words ----------------------------------------------------------------------------------------

    @property
    def _words(self) -> SnapshotWords:
        return _WORDS.setdefault(self.memory, SnapshotWords(self.memory))

    def _stems(self, text: str) -> list[str]:
        with self.reading() as db:
            return stems(db, text)

    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        terms = {text: self._stems(text) for text in texts}
        counts = self._words.counts(self._ask, (term for every in terms.values() for term in every))
        every = self.memory.chunks
        return KeywordCounts(
            every,
            {text: min((counts[term] for term in found), default=0) for text, found in terms.items()}
            if bound >= every
            else {
                text: min([bound, *(counts[t] for t in found)]) if found else 0
                for text, found in terms.items()
            },
        )

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        terms = {text: self._stems(text) for text in texts}
        try:
            _check(cancelled)
        except OutOfTimeError:
            return {}
        found = self._standing(terms).items()
        return {text: _once(each) if len(terms[text]) > 1 else each for text, each in found}

    def _standing(self, terms: Mapping[str, Sequence[str]]) -> dict[str, Postings]:
        """Where words and phrases stand, given with their stems, and how often."""
        found = self._words.postings(self._ask, (term for every in terms.values() for term in every))
        return {text: self._phrase(every, [found[term] for term in every]) for text, every in terms.items()}

    def _phrase(self, terms: Sequence[str], every: Sequence[Postings]) -> Postings:
        """Where the terms stand beside each other."""
        if len(every) < 2:
            return every[0] if every else NOWHERE
        near = together_at(every)
        if not 0 < len(near.ids) <= _MOST_CHECKED:
            return near
        counts, names = np.zeros(len(near.ids), np.uint8), np.zeros(len(near.ids), np.uint8)
        wanted, stored = f" {' '.join(terms)} ", self.chunks(near.ids.tolist())
        with self.reading() as db:
            for place, number in enumerate(near.ids.tolist()):
                if number in stored:
                    chunk = stored[number].chunk
                    texts = (chunk.text, " ".join(compound_parts(chunk.text)))
                    counts[place] = min(255, sum(_times(db, wanted, text) for text in texts))
                    if near.names[place]:
                        names[place] = min(255, _times(db, wanted, symbol_words(chunk)))
        there = (counts > 0) | (names > 0)
        return Postings(near.ids[there], counts[there], names[there])

    def term_postings(self, terms: Sequence[str], kind: int = WORDS) -> dict[str, Postings]:
        """Where each of these terms stands in the snapshot."""
        return self._words.postings(self._ask, terms, kind)

    def dictionaries(self) -> list[Dictionary]:
        """All terms of the repository's chunks."""
        return self._words.dictionaries(self._ask)

    def columns(self) -> ChunkColumns:
        return self.memory.columns

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        _check(cancelled)
        terms = {word: self._stems(word) for word in words}
        found = [each for each in self._standing(terms).values() if len(each.ids)]
        if not found:
            return []
        ids = np.unique(np.concatenate([each.ids for each in found])).astype(np.int64)
        ids = ids[self._passing(ids, only)]
        columns, every = self.columns(), self.memory.chunks
        scores = np.zeros(len(ids))
        damping = K1 * (1 - B + B * columns.tokens_of(ids) / columns.mean_tokens)
        for each in found:
            places, there = each.at(ids)
            here = places[there]
            times = weights.text * each.counts[here] + weights.symbol * each.names[here]
            idf = max(LOWEST_IDF, math.log((every - len(each.ids) + 0.5) / (len(each.ids) + 0.5)))
            scores[there] += idf * times * (K1 + 1) / (times + damping[there])
        ids, scores = ids[scores > 0], scores[scores > 0]
        order = np.lexsort((ids, -scores))[:limit]
        return list(map(Hit, ids[order].tolist(), scores[order].tolist()))

    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        _check(cancelled)
        columns = self.columns()
        found = self.postings(dict.fromkeys(words, 0), never)
        tokens = int(columns.tokens.sum(dtype=np.int64))
        return Statistics(self.memory.chunks, tokens, [len(found[word].ids) for word in words])

    def absent(self, words: Sequence[str]) -> list[str]:
        counts = dict(self.word_counts(words, 1, never).matching)
        # Of a phrase it is counted how many chunks have all its words at most.
        phrases = {word: 0 for word in words if counts[word] and len(self._stems(word)) > 1}
        counts |= {phrase: len(found.ids) for phrase, found in self.postings(phrases, never).items()}
        in_paths = "SELECT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH ?)"
        return [
            word
            for word in words
            if not counts[word] and not self.select(in_paths, (quoted_word(word),))[0][0]
        ]

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        counts = self._words.counts(self._ask, map(_storable, stems))
        return {term: count for term in stems if (count := counts[_storable(term)])}

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        return self._words.starting(self._ask, _storable(prefix), deadline)

    def is_named(self, word: str) -> bool:
        (found,) = self.postings({word: 0}, lambda: False).values()
        return bool(found.names.any())

    # --- texts ----------------------------------------------------------------------------------------

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        return find(self, literal, limit, lambda ids: self._passing(ids, only), deadline, first)

    def texts(self, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Id, first line and text of each of these chunks."""
        rows = self._rows(
            "SELECT id, start_line, text FROM cairn.chunks WHERE shard = %s AND pool = %s AND id = ANY(%s)",
            list(ids),
        )
        return [
            (number, line, zlib.decompress(packed).decode("utf-8", "surrogatepass"))
            for number, line, packed in rows
        ]

    # --- chunks ---------------------------------------------------------------------------------------

    def admitted(self, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
        mask = self._mask(only)
        return None if mask is None else np.flatnonzero(mask)

    def _mask(self, only: ChunkFilter) -> NDArray[np.bool_] | None:
        """bool[ids]: which chunks pass, hidden ones included; None where all do."""
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

    def _present(self, ids: Iterable[int]) -> list[int]:
        """Those of these chunks that are in the snapshot."""
        every = np.array(list(ids), np.int64)
        return cast("list[int]", every[present_chunks(self.memory, every)].tolist())

    def _passing(self, ids: Ids, only: ChunkFilter) -> NDArray[np.bool_]:
        """bool[n]: which of these chunks are in the snapshot and may be found."""
        passing = present_chunks(self.memory, ids)
        mask = self._mask(only)
        if mask is not None:
            passing[passing] = mask[ids[passing]]
        if only.hidden:
            hidden = list(self._file_ids(only.hidden).values())
            passing[passing] = ~np.isin(self.columns().file_of[ids[passing]], np.array(hidden, np.int32))
        return passing

    def _kept(self, hits: Sequence[Hit], only: ChunkFilter, limit: int) -> list[Hit]:
        passing = self._passing(np.array([hit.chunk_id for hit in hits], np.int64), only)
        return [hit for hit, passes in zip(hits, passing.tolist(), strict=True) if passes][:limit]

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        files = list(self._file_ids(paths).values())
        if not files:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.columns().file_of, np.array(files, np.int32)))

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        wanted = list(ids)
        return {each.id: each for each in self._stored("c.id = ANY(%s)", wanted)} if wanted else {}

    def _stored(self, condition: str, *values: object) -> list[StoredChunk]:
        rows = self._rows(
            f"""SELECT c.file, c.id, encode(c.content_hash, 'hex'), {_COLUMNS} FROM cairn.chunks c
                WHERE c.shard = %s AND c.pool = %s AND {condition} ORDER BY c.file, c.position""",
            *values,
        )
        return [
            StoredChunk(number, at.path, at.kind, at.collection, chunk_from_row(columns), content_hash)
            for file, number, content_hash, *columns in rows
            if (at := self._file(file)) is not None
        ]

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        return self.memory.outlines.get(self.identity(), ids, self._read_outlines)

    def _read_outlines(self, ids: Sequence[int]) -> dict[int, Outline]:
        rows = self._rows(
            """SELECT id, file, position, type, symbol, symbol_kind, defines FROM cairn.chunks
               WHERE shard = %s AND pool = %s AND id = ANY(%s)""",
            list(ids),
        )
        return {
            number: Outline(number, at.path, at.kind, *rest)
            for number, file, *rest in rows
            if (at := self._file(file)) is not None
        }

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        return self._first_of_files(list(paths), "defines = '[]', position", "place <= %s", per_file, only)

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        return self._first_of_files(paths, "position", "start_line < %s", lines, only)

    def _first_of_files(
        self, paths: Sequence[str], order: str, condition: str, value: int, only: ChunkFilter
    ) -> list[int]:
        files = self._file_ids(paths)
        if not files:
            return []
        rows = self._rows(
            "SELECT id, file, position, start_line, defines FROM cairn.chunks WHERE shard = %s AND pool = %s AND file = ANY(%s)",
            list(files.values()),
        )
        passing = self._passing(np.array([row[0] for row in rows], np.int64), only)
        by_file: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row, passes in zip(rows, passing.tolist(), strict=True):
            if passes:
                by_file[row[1]].append(row)
        found: list[int] = []
        for file in files.values():
            if order == "position":
                here = sorted(by_file[file], key=lambda row: row[2])
                found += [row[0] for row in here if row[3] < value]
            else:
                here = sorted(by_file[file], key=lambda row: (row[4] == "[]", row[2]))
                found += [row[0] for row in here[:value]]
        return found

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        files = self._file_ids(paths)
        if not files:
            return {}
        rows = self._rows(
            """SELECT file, array_agg(id ORDER BY position) FROM cairn.chunks
               WHERE shard = %s AND pool = %s AND file = ANY(%s) GROUP BY file""",
            list(files.values()),
        )
        of_file = {file: list(ids) for file, ids in rows}
        return {path: of_file[file] for path, file in files.items() if file in of_file}

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        every = list(places)
        files = self._file_ids(path for path, _ in every)
        wanted = [(files[path], position) for path, position in every if path in files]
        if not wanted:
            return {}
        stored = self._stored(
            """EXISTS (SELECT FROM unnest(%s::int[], %s::bigint[]) AS w(file, position)
               WHERE w.file = c.file AND c.position BETWEEN w.position - %s AND w.position + %s)
               AND c.file = ANY(%s)""",
            [file for file, _ in wanted], [position for _, position in wanted], window, window, [file for file, _ in wanted],
        )  # fmt: skip
        by_path: defaultdict[str, list[StoredChunk]] = defaultdict(list)
        for each in stored:
            by_path[each.path].append(each)
        found = {
            (path, position): [
                each for each in by_path[path] if 0 < abs(each.chunk.position - position) <= window
            ]
            for path, position in every
        }
        return {place: chunks for place, chunks in found.items() if chunks}

    def page(self, path: str) -> list[StoredChunk]:
        files = self._file_ids([path])
        return self._stored("c.file = ANY(%s)", list(files.values())) if files else []

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        files = self._file_ids([path])
        if not files:
            return []
        return self._stored(
            "c.file = ANY(%s) AND c.end_line > %s AND c.start_line < %s", list(files.values()), first, last
        )

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        files = list(self._file_ids([path]).values()) if path else None
        of_files = "" if files is None else "AND file = ANY(%s)"
        rows = self._rows(
            f"SELECT DISTINCT file FROM cairn.chunks WHERE shard = %s AND pool = %s AND content_hash = %s {of_files}",
            bytes.fromhex(content_hash),
            *(() if files is None else (files,)),
        )
        return sorted(at.path for (file,) in rows if (at := self._file(file)) is not None)

    def has_language(self, language: str) -> bool:
        return language in self.memory.languages

    # --- definitions and symbols ----------------------------------------------------------------------

    def _named(self, names: Sequence[str], most: int | None = None) -> list[tuple[int, str, int, int]]:
        """For each definition of these names in any case: the name's place among them, the name as it is defined, its chunk and file."""
        limited = "" if most is None else f"LIMIT {int(most)}"
        key = self.memory.key
        sql = f"""SELECT n.place, d.name, d.chunk, d.file FROM unnest(%s::text[]) WITH ORDINALITY AS n(name, place)
            CROSS JOIN LATERAL (SELECT name, chunk, file FROM cairn.definitions
                WHERE shard = %s AND pool = %s AND folded = n.name AND file <@ %s::int4multirange
                ORDER BY chunk {limited}) AS d ORDER BY n.place, d.chunk"""
        folded = [_storable(name).lower() for name in names]
        values = (folded, key.shard, key.pool, self.memory.file_ranges)
        rows = self._ask(lambda db: db.execute(sql, values).fetchall())
        return [(place - 1, name, chunk, file) for place, name, chunk, file in rows]

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        scores: dict[int, float] = {}
        for place, name, chunk, _ in self._named(names) if names else ():
            scores[chunk] = max(scores.get(chunk, 0.0), 1.0 if name == names[place] else 0.9)
        return self._kept(_best_first(scores), only, limit)

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        owners = self._named([owner], _MOST_OWNERS)
        owner_files, owner_chunks = {file for *_, file in owners}, {chunk for _, _, chunk, _ in owners}
        # In files that define the owner every chunk is looked at; elsewhere the first thousand of the name are.
        every = self._named(names) if names else []
        named = [each for each in every if each[3] in owner_files]
        named += [each for each in every if each[3] not in owner_files][:_MOST_OF_NAME]
        places = self.places({chunk for _, _, chunk, _ in named})
        folded = owner.lower()
        scores: dict[int, float] = {}
        for place, name, chunk, _ in named:
            at = places.get(chunk)
            if at is None:
                continue
            in_file = f"/{folded}." in at.path.lower()
            if at.parent.lower() == folded or in_file or chunk in owner_chunks:
                scores[chunk] = max(scores.get(chunk, 0.0), 1.0 if name == names[place] else 0.9)
        return self._kept(_best_first(scores), only, limit)

    def definitions(
        self, names: Sequence[str], most: int, of_each: int, cancelled: Cancelled
    ) -> list[FoundName]:
        found = [
            FoundName(chunk, self.memory.files[file].path, name)
            for _, name, chunk, file in self._named(names, of_each)
        ]
        return found[:most]

    def definitions_of(self, names: Iterable[str], most: int) -> list[FoundName]:
        every = list(names)
        by_place: defaultdict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for place, name, chunk, file in self._named(every, most + 1) if every else ():
            by_place[place].append((name, chunk, file))
        return [
            FoundName(chunk, self.memory.files[file].path, every[place])
            for place, here in by_place.items()
            if len(here) <= most
            for name, chunk, file in here
            if name == every[place]
        ]

    def names_matching(self, first: str, pattern: str, cancelled: Cancelled) -> list[str]:
        _check(cancelled)
        low, like = _storable(first).lower(), _storable(pattern).lower() or "%"
        # Of names that differ in their case alone, that of the first chunk stands for all.
        rows = self._rows(
            f"""SELECT name FROM (SELECT DISTINCT ON (folded) folded, name FROM cairn.definitions
                    WHERE shard = %s AND pool = %s AND folded >= %s AND folded < %s AND folded LIKE %s
                    AND file <@ %s::int4multirange ORDER BY folded, chunk LIMIT {_MOST_SORTED}) AS n
                ORDER BY length(name), folded LIMIT {_MOST_NAMES}""",
            low,
            low + "\U0010ffff",
            like.replace("\\", "\\\\"),
            self.memory.file_ranges,
        )
        return [name for (name,) in rows]

    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        rows = self._rows(
            """SELECT id, file, symbol, symbol_kind, parent, signature <> '', position FROM cairn.chunks
               WHERE shard = %s AND pool = %s AND id = ANY(%s)""",
            list(ids),
        )
        paths = {at.path for _, file, *_ in rows if (at := self._file(file)) is not None}
        named = "SELECT path, in_degree FROM file_imports WHERE path IN (SELECT value FROM json_each(?))"
        degrees: dict[str, int] = dict(self.select(named, (json.dumps(sorted(paths)),)))
        return {
            number: DefinitionPlace(
                number,
                at.path,
                at.kind,
                symbol,
                symbol_kind,
                parent,
                signed,
                position,
                degrees.get(at.path, 0),
            )
            for number, file, symbol, symbol_kind, parent, signed, position in rows
            if (at := self._file(file)) is not None
        }

    def symbols_naming(self, words: Sequence[str], limit: int, cancelled: Cancelled) -> list[tuple[int, str]]:
        # As the `ascii` tokenizer of an index file folds them.
        folded = [_ascii_lower(_storable(word)) for word in words]
        found = self._words.postings(self._ask, folded, NAMES) if folded else {}
        if not found:
            return []
        files = together_at([found[word] for word in dict.fromkeys(folded)]).ids.tolist()
        return [(file, self.memory.files[file].path) for file in files[:limit]]

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return self.memory.tables.get(self.identity(), ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return {number: PackedTable(packed) for number, packed in self.packed_tables(ids).items()}

    def packed_tables(self, ids: Sequence[int]) -> dict[int, bytes]:
        """The symbol tables with these ids, packed."""
        rows = self._rows(
            "SELECT id, symbols FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s) AND symbols IS NOT NULL",
            [number for number in ids if number in self.memory.files],
        )
        return {number: bytes(packed) for number, packed in rows}

    # --- vectors --------------------------------------------------------------------------------------
    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        limit = min(limit, MAX_NEIGHBOURS)
        _check(cancelled)
        if (kept := _VECTORS.of(self.memory, self.reads, cancelled)) is not None:
            allowed = self._passing(kept.store.ids[: kept.count], only) if only or only.hidden else None
            ids, scores = kept.nearest(vector, limit, allowed)
            return list(map(Hit, ids.tolist(), scores.tolist()))
        if only:
            return self._nearest_among(vector, limit, only)
        asked = limit
        while True:
            rows = self._nearest(vector, asked)
            hits = self._kept([Hit(chunk, _cosine(distance)) for chunk, distance in rows], only, limit)
            if len(hits) >= limit or len(rows) < asked:
                return hits
            asked *= 4  # other revisions had some of them

    def _nearest(self, vector: NDArray[np.int8], limit: int) -> list[tuple[int, float]]:
        key = self.memory.key
        # Without a bare distance in the order the graph is not asked, and all are compared.
        distance = (
            "vector <-> %s::halfvec" if self.memory.chunks > _COMPARED else "(vector <-> %s::halfvec) + 0"
        )
        sql = f"""SELECT chunk, vector <-> %s::halfvec FROM cairn.vectors WHERE shard = %s AND pool = %s
            ORDER BY {distance} LIMIT %s"""
        text = _halfvec(vector)

        def ask(db: Connection[TupleRow]) -> list[tuple[int, float]]:
            if self.memory.chunks > _COMPARED:
                db.execute(f"SET LOCAL hnsw.ef_search = {min(1_000, 2 * limit)}")
            rows = db.execute(sql, (text, key.shard, key.pool, text, limit)).fetchall()
            return cast("list[tuple[int, float]]", rows)

        return sorted(self._ask(ask), key=lambda row: (row[1], row[0]))

    def _nearest_among(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        mask = self._mask(only)
        assert mask is not None
        allowed = np.flatnonzero(mask)
        hits = [Hit(chunk, cosine) for chunk, cosine in self._compared(allowed.tolist(), vector)]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return self._kept(hits, only, limit)

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        kept = _VECTORS.of(self.memory, self.reads)
        if kept is not None:
            return kept.similarities(ids, vector)
        return dict(self._compared(self._present(ids), vector))

    def _compared(self, ids: Sequence[int], vector: NDArray[np.int8]) -> list[tuple[int, float]]:
        key, text = self.memory.key, _halfvec(vector)
        sql = "SELECT chunk, vector <-> %s::halfvec FROM cairn.vectors WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"
        rows = (
            self._ask(lambda db: db.execute(sql, (text, key.shard, key.pool, list(ids))).fetchall())
            if ids
            else []
        )
        return [(chunk, _cosine(distance)) for chunk, distance in rows]

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        key, wanted = self.memory.key, list(ids)
        if (kept := _VECTORS.of(self.memory, self.reads)) is not None:
            there, vectors = kept.vectors(wanted)
            return there, vectors if len(there) else np.empty((0, 0), np.int8)
        sql = "SELECT chunk, vector::real[] FROM cairn.vectors WHERE shard = %s AND pool = %s AND chunk = ANY(%s)"

        def ask(db: Connection[TupleRow]) -> list[tuple[int, list[float]]]:
            cursor = db.cursor(binary=True)
            cursor.execute(sql, (key.shard, key.pool, wanted))
            return cast("list[tuple[int, list[float]]]", cursor.fetchall())

        wanted = self._present(wanted)
        rows = self._ask(ask) if wanted else []
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found, numbers = zip(*rows, strict=True)
        return np.array(found, np.int64), np.array(numbers).astype(np.int8)


def _check(cancelled: Cancelled) -> None:
    """Raise what an index file does where a query is broken off; PostgreSQL's are short, and looked after beforehand."""
    if cancelled():
        raise interruption(cancelled)


def _times(db: apsw.Connection, wanted: str, text: str) -> int:
    """How often the stems of a text have those of `wanted` in a row, which spaces part and surround."""
    stemmed, found, place = f" {' '.join(stems(db, text))} ", 0, -1
    while (place := stemmed.find(wanted, place + 1)) >= 0:
        found += 1
    return found


def _once(postings: Postings) -> Postings:
    """The postings of a phrase, which counts once in each chunk, as in an index file."""
    return Postings(postings.ids, np.ones(len(postings.ids), np.uint8), np.minimum(postings.names, 1))


def _storable(text: str) -> str:
    """The text without what PostgreSQL has in none, so that nothing is found by it."""
    return well_formed(text).replace("\0", "\ufffd")


def _without_kinds(only: ChunkFilter) -> ChunkFilter:
    return ChunkFilter(paths=only.paths, folders=only.folders, collections=only.collections)


def _best_first(scores: Mapping[int, float]) -> list[Hit]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return list(starmap(Hit, ordered))


def _ascii_lower(word: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in word)


def _halfvec(vector: NDArray[np.int8]) -> str:
    return json.dumps(vector.tolist())


def _cosine(distance: float) -> float:
    """Of two static vectors, from their distance."""
    return 1.0 - distance * distance / (2.0 * STATIC_LENGTH**2)
