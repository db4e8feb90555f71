"""Reads a folder's index as if everything on the screen were saved.

Chunks of open documents that differ from the index have negative ids, so that they never meet those of the index.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import apsw
from attrs import define, evolve, field

from cairn.index.overlay.overlay import Overlay
from cairn.index.store.meta import Facts
from cairn.index.store.reader import (
    NAMES_ONLY,
    ChunkFilter,
    ColumnWeights,
    Hit,
    IndexReader,
    IndexStats,
    Outline,
    StoredChunk,
    outline,
)
from cairn.index.store.until import Until
from cairn.index.text.borrowed_bm25 import Statistics, read_statistics, register, score
from cairn.index.text.exact import Found, best_first

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALL = ChunkFilter()


@define(eq=False)
class OverlaidReader(IndexReader):
    """An IndexReader for which the documents of `overlay` hide their files. Without any it costs nothing more."""

    overlay: Overlay = field(kw_only=True)

    def look_at_screen(self) -> None:
        """Take in what was typed until now. Before each question, so that its answer shows what the person sees."""
        self.overlay.flush(self)

    def keywords(
        self, match: str, weights: ColumnWeights, limit: int, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Hit]:
        with self.overlay.shown() as (screen, hidden):
            found = screen.occurrences(match, weights, only, cancelled) if screen else []
            named = screen.occurrences(match, NAMES_ONLY, only, cancelled) if found and screen else []
        hits = super().keywords(match, weights, limit, _without(only, hidden), cancelled)
        if not found:
            return hits
        # Where a word is frequent, counting takes long: after the screen is free for others again.
        with self._query(cancelled) as db:
            statistics = read_statistics(db, match) if db else Statistics(0, 0, ())
        names = score(named, statistics)
        shown = [
            Hit(-chunk, value, names.get(chunk, 0.0)) for chunk, value in score(found, statistics).items()
        ]
        return _best([*hits, *shown], limit)

    def containing(
        self,
        literal: str,
        *,
        case: bool,
        word: bool,
        limit: int,
        only: ChunkFilter,
        cancelled: Callable[[], bool],
        deadline_ms: float = float("inf"),
        first: Iterable[int] = (),
    ) -> Found:
        until = Until(cancelled, deadline_ms)
        near, far = _apart(first)
        here = Found()
        with self.overlay.shown() as (screen, hidden):
            if screen:
                here = screen.containing(
                    literal,
                    case=case,
                    word=word,
                    limit=limit,
                    only=only,
                    cancelled=cancelled,
                    deadline_ms=until.ms_left,
                    first=near,
                )
        there = super().containing(
            literal,
            case=case,
            word=word,
            limit=limit,
            only=_without(only, hidden),
            cancelled=cancelled,
            deadline_ms=until.ms_left,
            first=far,
        )
        on_screen = [evolve(hit, chunk_id=-hit.chunk_id) for hit in here.hits]
        return best_first([*there.hits, *on_screen], cut=here.cut or there.cut)

    def nearest(
        self,
        vector: NDArray[np.float32],
        model: str,
        limit: int,
        only: ChunkFilter,
        cancelled: Callable[[], bool],
    ) -> list[Hit]:
        """As the index has it; of what is on the screen, chunks whose text has a vector already."""
        with self.overlay.shown() as (screen, hidden):
            keys = screen.embedding_keys(only) if screen else {}
        hits = super().nearest(vector, model, limit, _without(only, hidden), cancelled)
        return _merged(hits, self._compared(keys, vector, model), limit)

    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        here, there = _apart(ids)
        found, rows = super().vectors(there, dimension, model)
        if not here:
            return found, rows
        with self.overlay.shown() as (screen, _):
            keys = screen.embedding_keys_of(here) if screen else {}
        known = self.key_vectors(set(keys.values()), dimension, model)
        shown = {-chunk: known[key] for chunk, key in keys.items() if key in known}
        import numpy as np  # which opening a workspace does not need

        return [*found, *shown], np.vstack((rows, *shown.values()))

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Hit]:
        with self.overlay.shown() as (screen, hidden):
            here = screen.nearest_static(vector, limit, only, cancelled) if screen else []
        hits = super().nearest_static(vector, limit, _without(only, hidden), cancelled)
        return _merged(hits, {hit.chunk_id: hit.score for hit in here}, limit)

    def static_similarities(self, ids: Sequence[int], vector: NDArray[np.int8]) -> dict[int, float]:
        here, there = _apart(ids)
        found = super().static_similarities(there, vector)
        if here:
            with self.overlay.shown() as (screen, _):
                near = screen.static_similarities(here, vector) if screen else {}
            found.update((-key, value) for key, value in near.items())
        return found

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        with self.overlay.shown() as (screen, hidden):
            here = screen.defining(names, limit, only) if screen else []
        hits = super().defining(names, limit, _without(only, hidden))
        return _merged(hits, {hit.chunk_id: hit.score for hit in here}, limit)

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        here, there = _apart(ids)
        found = super().chunks(there)
        if here:
            with self.overlay.shown() as (screen, _):
                stored = screen.chunks(here) if screen else {}
                before = self.overlay.replaced
            found.update(
                (-key, evolve(chunk, id=-key))
                for key in here
                if (chunk := stored.get(key) or before.get(key))
            )
        return found

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        here, there = _apart(ids)
        found = super().outlines(there)
        if here:
            found.update((key, outline(chunk)) for key, chunk in self.chunks([-key for key in here]).items())
        return found

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        every = list(paths)
        with self.overlay.shown() as (screen, hidden):
            here = screen.leading_chunks(every, per_file, only) if screen else []
        return [*super().leading_chunks(every, per_file, _without(only, hidden)), *(-each for each in here)]

    def around(self, path: str, position: int, window: int) -> list[StoredChunk]:
        with self.overlay.shown() as (screen, hidden):
            if screen and path in hidden:
                return _renumbered(screen.around(path, position, window))
        return super().around(path, position, window)

    def neighbours(
        self, places: Iterable[tuple[str, int]], window: int
    ) -> dict[tuple[str, int], list[StoredChunk]]:
        every = list(places)
        with self.overlay.shown() as (screen, hidden):
            here = [place for place in every if place[0] in hidden]
            found = screen.neighbours(here, window) if screen and here else {}
            found = {place: _renumbered(chunks) for place, chunks in found.items()}
        there = [place for place in every if place not in set(here)]
        return super().neighbours(there, window) | found if there else found

    def page(self, path: str) -> list[StoredChunk]:
        with self.overlay.shown() as (screen, hidden):
            if screen and path in hidden:
                return _renumbered(screen.page(path))
        return super().page(path)

    def has_language(self, language: str) -> bool:
        with self.overlay.shown() as (screen, _):
            here = screen is not None and screen.has_language(language)
        return here or super().has_language(language)

    def facts(self) -> Facts:
        """The index's, but that the generation rises with what is shown, too."""
        facts = super().facts()
        shown = self.overlay.generation
        return evolve(facts, generation=facts.generation + shown) if shown else facts

    def facts_with_screen(self) -> Facts:
        """The facts by which to choose how to compare: chunks on the screen that have no vector wait for one."""
        facts = self.facts()
        with self.overlay.shown() as (screen, _):
            keys = screen.embedding_keys(_ALL) if screen else {}
        if not keys:
            return facts
        with self._query() as db:
            missing = (
                db.execute(_COUNT_MISSING, (json.dumps(list(keys.values())), facts.model_id)).get if db else 0
            )
        return evolve(facts, chunks=facts.chunks + len(keys), queued=facts.queued + int(missing))

    def stats(self) -> IndexStats:
        """The index's, with the collections that only documents on the screen belong to."""
        stats = super().stats()
        with self.overlay.shown() as (screen, _):
            collections = screen.stats().collections if screen else ()
        known = {collection.name for collection in stats.collections}
        new = [collection for collection in collections if collection.name not in known]
        return evolve(stats, collections=(*stats.collections, *new)) if new else stats

    def _compared(self, keys: Mapping[int, str], vector: NDArray[np.float32], model: str) -> dict[int, float]:
        """The similarity of chunks on the screen, given their embedding keys, by the vectors of the index."""
        known = self.key_vectors(set(keys.values()), vector.size, model) if keys else {}
        if not known:
            return {}
        from cairn.index.vectors.model_vectors import of_unit_length  # with numpy

        asked = of_unit_length(vector)
        return {chunk: float(known[key] @ asked) for chunk, key in keys.items() if key in known}

    def _connection(self) -> apsw.Connection | None:
        db = super()._connection()
        if db is not None and getattr(self.memory.local, "counting", None) is not db:
            register(db)
            self.memory.local.counting = db
        return db


_COUNT_MISSING = """SELECT count(*) FROM json_each(?) k WHERE NOT EXISTS
    (SELECT 1 FROM embeddings e WHERE e.model_id = ? AND e.key = unhex(k.value))"""


def _without(only: ChunkFilter, hidden: tuple[str, ...]) -> ChunkFilter:
    return evolve(only, hidden=hidden) if hidden else only


def _apart(ids: Iterable[int]) -> tuple[list[int], list[int]]:
    """The ids as the screen's own index has them, and those of the folder's index."""
    every = list(ids)
    return [-each for each in every if each < 0], [each for each in every if each > 0]


def _renumbered(chunks: Iterable[StoredChunk]) -> list[StoredChunk]:
    return [evolve(chunk, id=-chunk.id) for chunk in chunks]


def _merged(hits: list[Hit], screen: Mapping[int, float], limit: int) -> list[Hit]:
    """Both together, best first; `screen` by the ids of its own index."""
    if not screen:
        return hits
    return _best([*hits, *(Hit(-chunk, value) for chunk, value in screen.items())], limit)


def _best(hits: Iterable[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]
