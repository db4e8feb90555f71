"""Queries for the definitions and symbol tables of a snapshot."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from cairn.chunking.references.packed_table import PackedTable
from cairn.index.postgres.segment import NAMES
from cairn.index.postgres.snapshot_reader import SnapshotReader, best_first, check, storable
from cairn.index.postgres.words import intersection
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import DefinitionPlace, FoundName, Hit
from cairn.index.store.deadline import Cancelled

_MOST_SORTED, _MOST_NAMES = 3_000, 400
"""These limits are the same as those of an index file (`cairn.index.sqlite.reader`)."""
_MOST_OWNERS, _MOST_OF_NAME = 50, 1_000


class DefinitionQueries(SnapshotReader):
    def _named(self, names: Sequence[str], most: int | None = None) -> list[tuple[int, str, int, int]]:
        """Return the definitions of these names, ignoring case, at most the first `most` of each name.

        A row is the index in `names`, the name as it is defined, its chunk and its file.
        """
        # The database does not know which chunks have the lowest numbers, so all definitions are read.
        # OFFSET 0 makes PostgreSQL look up name by name.
        key = self.memory.key
        sql = """SELECT n.place, d.name, d.chunk, d.file
            FROM unnest(%s::text[]) WITH ORDINALITY AS n(name, place)
            CROSS JOIN LATERAL (SELECT name, chunk, file FROM cairn.definitions
                WHERE shard = %s AND pool = %s AND folded = n.name AND file <@ %s::int4multirange
                OFFSET 0) AS d"""
        folded = [storable(name).lower() for name in names]
        values = (folded, key.shard, key.pool, self.memory.file_ranges)
        rows = self._ask(lambda db: db.execute(sql, values).fetchall())
        chunk_of, file_of = self.memory.chunk_numbers.number, self.memory.file_numbers.number
        found = sorted((place - 1, chunk_of(chunk), name, file_of(file)) for place, name, chunk, file in rows)
        by_name = groupby(found, itemgetter(0))
        return [
            (place, name, chunk, file)
            for place, every in by_name
            for _, chunk, name, file in islice(every, most)
        ]

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        scores: dict[int, float] = {}
        for place, name, chunk, _ in self._named(names) if names else ():
            scores[chunk] = max(scores.get(chunk, 0.0), 1.0 if name == names[place] else 0.9)
        return self._filtered(best_first(scores), only, limit)

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        owners = self._named([owner], _MOST_OWNERS)
        owner_files, owner_chunks = {file for *_, file in owners}, {chunk for _, _, chunk, _ in owners}
        # All definitions in files that define the owner are kept, but only a thousand in other files.
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
        return self._filtered(best_first(scores), only, limit)

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
        check(cancelled)
        low, like = storable(first).lower(), storable(pattern).lower() or "%"
        # Names that differ only in case count once, in the first of their spellings.
        rows = self._rows(
            f"""SELECT name FROM (SELECT DISTINCT ON (folded) folded, name FROM cairn.definitions
                    WHERE shard = %s AND pool = %s AND folded >= %s AND folded < %s AND folded LIKE %s
                    AND file <@ %s::int4multirange
                    ORDER BY folded, name COLLATE "C" LIMIT {_MOST_SORTED}) AS n
                ORDER BY length(name), folded LIMIT {_MOST_NAMES}""",
            low,
            low + "\U0010ffff",
            like.replace("\\", "\\\\"),
            self.memory.file_ranges,
        )
        return [name for (name,) in rows]

    def places(self, ids: Iterable[int]) -> dict[int, DefinitionPlace]:
        rows = self._rows_of(ids, "symbol, symbol_kind, parent, signature <> '', position")
        paths = {self.memory.files[file].path for _, file, *_ in rows}
        named = "SELECT path, in_degree FROM file_imports WHERE path IN (SELECT value FROM json_each(?))"
        degrees: dict[str, int] = dict(self.select(named, (json.dumps(sorted(paths)),)))
        found: dict[int, DefinitionPlace] = {}
        for number, file, *rest in rows:
            at = self.memory.files[file]
            values: tuple[Any, ...] = (number, at.path, at.kind, *rest, degrees.get(at.path, 0))
            found[number] = DefinitionPlace(*values)
        return found

    def symbols_with_words(
        self, words: Sequence[str], limit: int, cancelled: Cancelled
    ) -> list[tuple[int, str]]:
        # An index file folds names with the tokenizer `ascii`. `bytes.lower` also changes only ASCII letters.
        folded = [storable(word).encode().lower().decode() for word in words]
        found = self.term_postings(folded, NAMES) if folded else {}
        if not found:
            return []
        files = intersection([found[word] for word in dict.fromkeys(folded)]).ids.tolist()
        return [(file, self.memory.files[file].path) for file in files[:limit]]

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return self.memory.tables.get(self.identity(), ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return {number: PackedTable(packed) for number, packed in self.packed_tables(ids).items()}

    def packed_tables(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the packed symbol tables by the numbers of their files."""
        files = self.memory.file_numbers
        rows = self._rows(
            """SELECT id, symbols FROM cairn.files
               WHERE shard = %s AND pool = %s AND id = ANY(%s) AND symbols IS NOT NULL""",
            files.ids_of(ids),
        )
        return dict(sorted((files.number(number), bytes(packed)) for number, packed in rows))
