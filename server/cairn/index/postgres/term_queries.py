"""Queries for the words, texts, definitions and symbol tables of a snapshot."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import apsw
import numpy as np
from attrs import frozen

from cairn.chunking.references.packed_table import PackedTable
from cairn.errors import OutOfTimeError
from cairn.index.postgres.segment import NAMES, OPERATORS
from cairn.index.postgres.snapshot_reader import best_first, storable
from cairn.index.postgres.snapshot_words import TermQueries, intersection, once
from cairn.index.reader.bm25 import Statistics, damping, fts5_idf, quoted_word, worth
from cairn.index.reader.exact import ExactMatches, Literal, Proposer, Wanted, find, propose
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import NOWHERE, Ids, Postings, together
from cairn.index.reader.records import ColumnWeights, FoundName, Hit, KeywordCounts
from cairn.index.reader.word_list import WordList
from cairn.index.store.deadline import Deadline, check_end, ended_by
from cairn.index.store.keyword_columns import compound_parts, stems
from cairn.index.store.rows import symbol_words

_MOST_SORTED, _MOST_NAMES = 3_000, 400
"""These limits are the same as those of an index file (`cairn.index.sqlite.sqlite_reader`)."""
_MOST_OWNERS, _MOST_OF_NAME = 50, 1_000


class DefinitionQueries(TermQueries):
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
        places = self.outlines({chunk for _, _, chunk, _ in named})
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

    def definitions(self, names: Sequence[str], most: int, of_each: int) -> list[FoundName]:
        found = [
            FoundName(chunk, self.memory.files[file].path, name)
            for _, name, chunk, file in self._named(names, of_each)
        ]
        return found[:most]

    def names_matching(self, first: str, pattern: str) -> list[str]:
        check_end()
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

    def symbols_with_words(self, words: Sequence[str], limit: int) -> list[tuple[int, str]]:
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


_MOST_CHECKED = 300
"""The maximum number of chunks whose texts are searched for a phrase. If more have its words, all count."""


class WordQueries(TermQueries):
    def stems(self, text: str) -> list[str]:
        with self.reading() as db:
            return stems(db, text)

    def word_counts(self, texts: Iterable[str], bound: int) -> KeywordCounts:
        terms = {text: self.stems(text) for text in texts}
        counts = self.term_counts(term for every in terms.values() for term in every)
        matching = {text: min((counts[term] for term in found), default=0) for text, found in terms.items()}
        phrases = {text: found for text, found in terms.items() if len(found) > 1 and matching[text]}
        matching |= {text: len(found.ids) for text, found in self._postings_of(phrases).items()}
        return KeywordCounts(
            self.memory.chunks, {text: min(bound, count) for text, count in matching.items()}
        )

    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        terms = {text: self.stems(text) for text in texts}
        try:
            check_end()
        except OutOfTimeError:
            return {}
        found = self._postings_of(terms).items()
        # An index file counts a phrase once in each chunk.
        return {text: once(each) if len(terms[text]) > 1 else each for text, each in found}

    def _postings_of(self, terms: Mapping[str, Sequence[str]]) -> dict[str, Postings]:
        """Return the postings of each word or phrase; `terms` has their stems."""
        found = self.term_postings(term for every in terms.values() for term in every)

        def postings(every: Sequence[str]) -> Postings:
            if len(every) < 2:
                return found[every[0]] if every else NOWHERE
            return self.phrase(every, lambda: self._adjacent(every, [found[term] for term in every]))

        return {text: postings(every) for text, every in terms.items()}

    def _adjacent(self, terms: Sequence[str], every: Sequence[Postings]) -> Postings:
        near = intersection(every)
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

    def texts(self, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the number, the file's number, the first line and the compressed text of these chunks."""
        return self._rows_of(ids, "start_line, text")

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
    ) -> list[Hit]:
        check_end()
        terms = {word: self.stems(word) for word in words}
        found = [each for each in self._postings_of(terms).values() if len(each.ids)]
        if not found:
            return []
        ids = np.unique(np.concatenate([each.ids for each in found])).astype(np.int64)
        ids = ids[self.passing(ids, only)]
        columns, every = self.columns(), self.memory.chunks
        scores = np.zeros(len(ids))
        lengths = damping(columns.tokens_of(ids), columns.mean_tokens, "float64")
        for each in found:
            places, there = each.at(ids)
            here = places[there]
            times = weights.text * each.counts[here] + weights.symbol * each.names[here]
            scores[there] += worth(fts5_idf(len(each.ids), every), times, lengths[there])
        ids, scores = ids[scores > 0], scores[scores > 0]
        order = np.lexsort((ids, -scores))[:limit]
        return list(map(Hit, ids[order].tolist(), scores[order].tolist()))

    def statistics(self, words: Sequence[str]) -> Statistics:
        check_end()
        columns = self.columns()
        found = self.postings(dict.fromkeys(words, 0))
        tokens = int(columns.tokens.sum(dtype=np.int64))
        return Statistics(self.memory.chunks, tokens, [len(found[word].ids) for word in words])

    def absent(self, words: Sequence[str]) -> list[str]:
        counts = self.word_counts(words, 1).matching
        in_paths = "SELECT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH ?)"
        return [
            word
            for word in words
            if not counts[word] and not self.select(in_paths, (quoted_word(word),))[0][0]
        ]

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        counts = self.term_counts(map(storable, stems))
        return {term: count for term in stems if (count := counts[storable(term)])}

    def is_named(self, word: str) -> bool:
        (found,) = self.postings({word: 0}).values()
        return bool(found.names.any())

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        with self.reading() as db, ended_by(deadline):
            return find(db, _TermProposer(self, only), literal, limit, deadline, first)

    def proposed(self, literals: Iterable[Literal], only: ChunkFilter) -> Ids:
        with self.reading() as db:
            return np.array(propose(db, _TermProposer(self, only), literals), np.int64)


@frozen(eq=False)
class _TermProposer(Proposer):
    """Proposes chunks by inverted lists, which have no places: a phrase is looked up as its words."""

    reader: WordQueries
    only: ChunkFilter

    batches = (64, 256, 512)

    def with_all(self, wanted: Wanted) -> Iterable[int]:
        reader = self.reader
        terms = list(itertools.chain.from_iterable(reader.stems(word.text) for word in wanted.words))
        every = [*reader.term_postings(terms).values()]
        every += reader.term_postings(wanted.operators, OPERATORS).values()
        every += [together(list(reader.term_postings(part).values())) for part in wanted.parts]
        every.sort(key=lambda postings: len(postings.ids))
        return self._passing(intersection(every).ids.astype(np.int64)) if every else ()

    def every(self) -> Iterable[int]:
        return self._passing(np.flatnonzero(self.reader.columns().file_of > 0))

    def word_list(self) -> WordList:
        return self.reader.word_list()

    def packed_texts(self, ids: Sequence[int]) -> Iterable[tuple[int, int, bytes]]:
        return ((number, line, packed) for number, _, line, packed in self.reader.texts(ids))

    def _passing(self, ids: Ids) -> list[int]:
        found: list[int] = ids[self.reader.passing(ids, self.only)].tolist()
        return found


def _times(db: apsw.Connection, wanted: str, text: str) -> int:
    """Return how often a text contains `wanted`: stems, with a space before and after each."""
    stemmed, found, place = f" {' '.join(stems(db, text))} ", 0, -1
    while (place := stemmed.find(wanted, place + 1)) >= 0:
        found += 1
    return found
