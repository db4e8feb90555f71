"""Reads an index as if all unsaved text were saved.

Chunks of open documents that differ from the index have negative ids, which never collide with those of the
index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, TypeVar

import apsw
from attrs import astuple, evolve

from cairn.index.overlay.overlay import Overlay
from cairn.index.reader.bm25 import Statistics, score
from cairn.index.reader.exact import ExactMatches, Literal, TextHit, best_first
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import (
    ColumnWeights,
    FoundName,
    Hit,
    IndexStats,
    KeywordCounts,
    LanguageStats,
    Outline,
    StoredChunk,
    outline,
)
from cairn.index.store.deadline import Deadline
from cairn.index.store.meta import Facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.reader.postings import ChunkColumns, Ids, Postings

H = TypeVar("H", Hit, TextHit)
T = TypeVar("T")


class OverlaidReader(IndexReader):
    """Reads `saved` with the documents of `overlay` in place of their files."""

    def __init__(self, saved: IndexReader, overlay: Overlay) -> None:
        super().__init__(saved.folder, memory=saved.memory, root=saved.root)
        self._saved = saved
        self.overlay = overlay

    def show_unsaved(self) -> None:
        """Apply the unsaved text. Called before each query, so that results match what the user sees."""
        self.overlay.flush(self)

    @property
    def key(self) -> Hashable:
        return self.overlay, self._saved.key

    @property
    def saved(self) -> IndexReader:
        return self._saved

    @property
    def sources(self) -> Sequence[IndexReader]:
        return (self._saved, self.overlay.reader) if self.overlay.hidden else (self._saved,)

    @property
    def hidden(self) -> Sequence[str]:
        return self.overlay.hidden

    def connection(self) -> apsw.Connection:
        return self._saved.connection()

    def identity(self) -> object:
        return self._saved.identity()

    def word_counts(self, texts: Iterable[str], bound: int) -> KeywordCounts:
        return self._saved.word_counts(texts, bound)

    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        found = self._saved.postings(texts)
        for unsaved in self.sources[1:]:
            here = unsaved.postings(dict.fromkeys(found, 0))
            found = {
                text: each.with_unsaved(here[text]) if text in here else each for text, each in found.items()
            }
        return found

    def columns(self) -> ChunkColumns:
        columns = self._saved.columns()
        for unsaved in self.sources[1:]:
            columns = evolve(columns, unsaved=unsaved.columns())
        return columns

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
    ) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            found = unsaved.occurrences(words, only) if unsaved else []
        hits = self._saved.keywords(words, weights, limit, _without(only, hidden))
        if not found:
            return hits
        # Counting a frequent word takes long, so other threads may already read the unsaved text meanwhile.
        scores = score(found, self._saved.statistics(words), astuple(weights))
        return _merged(hits, list(starmap(Hit, ((-chunk, value) for chunk, value in scores.items()))), limit)

    def statistics(self, words: Sequence[str]) -> Statistics:
        return self._saved.statistics(words)

    def absent(self, words: Sequence[str]) -> list[str]:
        left = list(words)
        for source in self.sources:
            left = source.absent(left)
        return left

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        return dict(sum((Counter(source.documents(stems)) for source in self.sources), Counter[str]()))

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        every = [source.stems_starting(prefix, deadline) for source in self.sources]
        return dict(sum(map(Counter, every), Counter[str]()))

    def is_named(self, word: str) -> bool:
        return any(source.is_named(word) for source in self.sources)

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        near, far = _apart(first)
        here = ExactMatches()
        with self.overlay.shown() as (unsaved, hidden):
            if unsaved:
                here = unsaved.containing(literal, limit, only, deadline, near)
        there = self._saved.containing(literal, limit, _without(only, hidden), deadline, far)
        return best_first([*there.hits, *_renumbered(here.hits)], cut=here.cut or there.cut)

    def proposed(self, literals: Iterable[Literal], only: ChunkFilter) -> Ids:
        import numpy as np  # opening a workspace does not need it

        wanted = list(literals)
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.proposed(wanted, only) if unsaved else np.empty(0, np.int64)
        there = self._saved.proposed(wanted, evolve(only, hidden=(*only.hidden, *hidden)))
        return np.concatenate([-here, there])

    def chunk_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, int, str]]:
        here, there = _apart(ids)
        yield from self._saved.chunk_texts(there)
        for chunk_id, stored in self.chunks([-each for each in here]).items():
            yield chunk_id, stored.chunk.start_line, stored.chunk.text

    def admitted(self, only: ChunkFilter) -> Ids | None:
        import numpy as np  # opening a workspace does not need it

        found = self._saved.admitted(only)
        if found is None:
            return None
        here = [unsaved.admitted(only) for unsaved in self.sources[1:]]
        return np.concatenate([*(-ids[::-1] for ids in here if ids is not None), found])

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        return self._saved.chunks_in(paths)

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        here, there = _apart(ids)
        found = self._saved.chunks(there)
        if here:
            with self.overlay.shown() as (unsaved, _):
                stored = unsaved.chunks(here) if unsaved else {}
                before = self.overlay.replaced
            found.update(
                (-key, evolve(chunk, id=-key))
                for key in here
                if (chunk := stored.get(key) or before.get(key))
            )
        return found

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        here, there = _apart(ids)
        found = self._saved.outlines(there)
        if here:
            found.update((key, outline(chunk)) for key, chunk in self.chunks([-key for key in here]).items())
        return found

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        every = list(paths)
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.leading_chunks(every, per_file, only) if unsaved else []
        there = self._saved.leading_chunks(every, per_file, _without(only, hidden))
        return [*there, *(-each for each in here)]

    def opening_chunks(self, paths: Sequence[str], lines: int, only: ChunkFilter) -> list[int]:
        return self._saved.opening_chunks(paths, lines, only)

    def chunk_ids(self, paths: Iterable[str]) -> dict[str, list[int]]:
        every = list(paths)
        here, there, hidden = self._both(lambda source: source.chunk_ids(every))
        shown = {path: ids for path, ids in there.items() if path not in hidden}
        return shown | {path: [-each for each in ids] for path, ids in (here or {}).items()}

    def between(self, path: str, first: int, last: int) -> list[StoredChunk]:
        return self._of_file(path, lambda source: source.between(path, first, last))

    def files_with_chunk(self, content_hash: str, path: str = "") -> list[str]:
        found = (file for source in self.sources for file in source.files_with_chunk(content_hash, path))
        return list(dict.fromkeys(found))

    def has_language(self, language: str) -> bool:
        return any(source.has_language(language) for source in self.sources)

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._hits(only, limit, lambda source, passing: source.defining(names, limit, passing))

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._hits(only, limit, lambda source, passing: source.members(owner, names, limit, passing))

    def definitions(self, names: Sequence[str], most: int, of_each: int) -> list[FoundName]:
        found = self._names(lambda source, spare: source.definitions(names, most + spare, of_each + spare))
        if not self.has_unsaved:
            return found
        wanted = Counter(name.lower() for name in names)
        order = {name: place for place, name in enumerate(wanted)}
        room = Counter({name: times * of_each for name, times in wanted.items()})
        kept = []
        for each in found:
            room[each.name.lower()] -= 1
            if room[each.name.lower()] >= 0:
                kept.append(each)
        return sorted(kept, key=lambda each: order.get(each.name.lower(), len(order)))[:most]

    def names_matching(self, first: str, pattern: str) -> list[str]:
        found: dict[str, str] = {}
        for source in self.sources:
            for name in source.names_matching(first, pattern):
                found.setdefault(name.lower(), name)
        return list(found.values())

    def symbols_at(self, paths: Sequence[str]) -> list[tuple[int, str]]:
        return self._symbols(lambda source: source.symbols_at(paths))

    def symbols_with_words(self, words: Sequence[str], limit: int) -> list[tuple[int, str]]:
        spare = len(self.hidden)
        return self._symbols(lambda source: source.symbols_with_words(words, limit + spare))[:limit]

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        found: dict[int, PackedTable] = {}
        for source, sign, wanted in self.by_source(ids):
            found.update((sign * each, table) for each, table in source.symbol_tables(wanted).items())
        return found

    def nearest_static(self, vector: NDArray[np.int8], limit: int, only: ChunkFilter) -> list[Hit]:
        return self._hits(only, limit, lambda source, passing: source.nearest_static(vector, limit, passing))

    def static_similarities(self, ids: Iterable[int], vector: NDArray[np.int8]) -> dict[int, float]:
        if not self.has_unsaved:
            return self._saved.static_similarities(ids, vector)
        found: dict[int, float] = {}
        for source, sign, wanted in self.by_source(ids):
            cosines = source.static_similarities(wanted, vector)
            found.update((sign * chunk, cosine) for chunk, cosine in cosines.items())
        return found

    def static_vectors(self, ids: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        import numpy as np

        if not self.has_unsaved:
            return self._saved.static_vectors(ids)
        found, vectors = [np.empty(0, np.int64)], []
        for source, sign, wanted in self.by_source(ids):
            known, rows = source.static_vectors(wanted)
            if len(known):
                found.append(sign * known)
                vectors.append(rows)
        return np.concatenate(found), np.concatenate(vectors) if vectors else np.empty((0, 0), np.int8)

    def facts(self) -> Facts:
        """Return the facts of the saved index. The generation also rises with each change of the overlay."""
        facts = self._saved.facts()
        shown = self.overlay.generation
        return evolve(facts, generation=facts.generation + shown) if shown else facts

    def counted_languages(self) -> tuple[LanguageStats, ...]:
        return self._saved.counted_languages()

    def stats(self) -> IndexStats:
        stats = super().stats()
        with self.overlay.shown() as (unsaved, _):
            collections = unsaved.stats().collections if unsaved else ()
        known = {collection.name for collection in stats.collections}
        new = [collection for collection in collections if collection.name not in known]
        return evolve(stats, collections=(*stats.collections, *new)) if new else stats

    def _both(self, ask: Callable[[IndexReader], T]) -> tuple[T | None, T, tuple[str, ...]]:
        """Return the result for unsaved text (or None), that for the saved index, and the hidden paths."""
        with self.overlay.shown() as (unsaved, hidden):
            here = ask(unsaved) if unsaved else None
        return here, ask(self._saved), hidden

    def _hits(
        self, only: ChunkFilter, limit: int, ask: Callable[[IndexReader, ChunkFilter], list[Hit]]
    ) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            here = ask(unsaved, only) if unsaved else []
        return _merged(ask(self._saved, _without(only, hidden)), _renumbered(here), limit)

    def _of_file(self, path: str, ask: Callable[[IndexReader], list[StoredChunk]]) -> list[StoredChunk]:
        with self.overlay.shown() as (unsaved, hidden):
            if unsaved and path in hidden:
                return _unsaved(ask(unsaved))
        return ask(self._saved)

    def _names(self, ask: Callable[[IndexReader, int], list[FoundName]]) -> list[FoundName]:
        """Return the names in both. `ask` gets the number of hidden chunks, to find that many more names."""
        with self.overlay.shown() as (unsaved, hidden):
            here = ask(unsaved, 0) if unsaved else []
        there = ask(self._saved, len(self._saved.chunks_in(hidden)) if hidden else 0)
        shown = [name for name in there if name.path not in hidden]
        return [*shown, *(evolve(name, chunk_id=-name.chunk_id) for name in here)]

    def _symbols(self, ask: Callable[[IndexReader], list[tuple[int, str]]]) -> list[tuple[int, str]]:
        here, there, hidden = self._both(ask)
        shown = [(number, path) for number, path in there if path not in hidden]
        return [*shown, *((-number, path) for number, path in here or ())]


def _unsaved(chunks: Iterable[StoredChunk]) -> list[StoredChunk]:
    return [evolve(chunk, id=-chunk.id) for chunk in chunks]


def _without(only: ChunkFilter, hidden: tuple[str, ...]) -> ChunkFilter:
    return evolve(only, hidden=hidden) if hidden else only


def _apart(ids: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the ids of unsaved chunks, positive as in the index in memory, and the ids of saved chunks."""
    every = list(ids)
    return [-each for each in every if each < 0], [each for each in every if each > 0]


def _renumbered(hits: Iterable[H]) -> list[H]:
    return [evolve(hit, chunk_id=-hit.chunk_id) for hit in hits]


def _merged(hits: list[Hit], unsaved: list[Hit], limit: int) -> list[Hit]:
    """Merge the hits, best first. Of hits with equal scores, the lower id comes first."""
    return sorted([*hits, *unsaved], key=lambda hit: (-hit.score, hit.chunk_id))[:limit] if unsaved else hits
