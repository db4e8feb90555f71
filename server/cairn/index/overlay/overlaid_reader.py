"""Reads a folder's index as if all unsaved text were saved.

Chunks of open documents that differ from the index have negative ids, so that they never meet those of the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import astuple, define, evolve, field

from cairn.index.overlay.overlay import Overlay
from cairn.index.reader.connection import Row
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import (
    ColumnWeights,
    Hit,
    IndexStats,
    Outline,
    StoredChunk,
    outline,
)
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.store.meta import Facts
from cairn.index.text.bm25 import read_statistics, score
from cairn.index.text.exact import ExactMatches, Literal, TextHit, best_first

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


H = TypeVar("H", Hit, TextHit)


@define(eq=False, slots=False)
class OverlaidReader(IndexReader):
    """An IndexReader for which the documents of `overlay` hide their files. Without any it costs nothing more."""

    overlay: Overlay = field(kw_only=True)

    def show_unsaved(self) -> None:
        """Take in what was typed until now. Before each question, so that its answer shows what the person sees."""
        self.overlay.flush(self)

    @property
    def sources(self) -> Sequence[IndexReader]:
        return (self, self.overlay.reader) if self.overlay.hidden else (self,)

    @property
    def hidden(self) -> Sequence[str]:
        return self.overlay.hidden

    # --- what is found ------------------------------------------------------------------------------

    def keywords(
        self, match: str, weights: ColumnWeights, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            found = unsaved.occurrences(match, only, cancelled) if unsaved else []
        hits = super().keywords(match, weights, limit, _without(only, hidden), cancelled)
        if not found:
            return hits
        # Where a word is frequent, counting takes long: after the unsaved text is free for other threads again.
        with self.reading(cancelled) as db:
            statistics = read_statistics(db, match)
        scores = score(found, statistics, astuple(weights))
        return _merged(hits, list(starmap(Hit, ((-chunk, value) for chunk, value in scores.items()))), limit)

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        near, far = _apart(first)
        here = ExactMatches()
        with self.overlay.shown() as (unsaved, hidden):
            if unsaved:
                here = unsaved.containing(literal, limit, only, deadline, near)
        there = super().containing(literal, limit, _without(only, hidden), deadline, far)
        return best_first([*there.hits, *_renumbered(here.hits)], cut=here.cut or there.cut)

    def defining(self, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.defining(names, limit, only) if unsaved else []
        hits = super().defining(names, limit, _without(only, hidden))
        return _merged(hits, _renumbered(here), limit)

    def members(self, owner: str, names: Sequence[str], limit: int, only: ChunkFilter) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.members(owner, names, limit, only) if unsaved else []
        hits = super().members(owner, names, limit, _without(only, hidden))
        return _merged(hits, _renumbered(here), limit)

    # --- vectors ------------------------------------------------------------------------------------

    def nearest(
        self, vector: NDArray[np.float32], model: str, limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        """The index's answer, with those unsaved chunks whose text has a vector already."""
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.passing(only) if unsaved else []
        hits = super().nearest(vector, model, limit, _without(only, hidden), cancelled)
        compared = self.similarities([-chunk for chunk in here], vector, model) if here else {}
        return _merged(hits, list(starmap(Hit, compared.items())), limit)

    def vectors(
        self, ids: Sequence[int], dimension: int, model: str
    ) -> tuple[list[int], NDArray[np.float32]]:
        here, there = _apart(ids)
        found, rows = super().vectors(there, dimension, model)
        if not here:
            return found, rows
        with self.overlay.shown() as (unsaved, _):
            keys = unsaved.select(_SELECT_KEYS, (json.dumps(here),)) if unsaved else []
        known = self.key_vectors({key for _, key in keys}, dimension, model)
        shown = {-chunk: known[key] for chunk, key in keys if key in known}
        import numpy as np  # which opening a workspace does not need

        return [*found, *shown], np.vstack((rows, *shown.values()))

    def nearest_static(
        self, vector: NDArray[np.int8], limit: int, only: ChunkFilter, cancelled: Cancelled
    ) -> list[Hit]:
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.nearest_static(vector, limit, only, cancelled) if unsaved else []
        hits = super().nearest_static(vector, limit, _without(only, hidden), cancelled)
        return _merged(hits, _renumbered(here), limit)

    # --- chunks -------------------------------------------------------------------------------------

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        here, there = _apart(ids)
        found = super().chunks(there)
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
        found = super().outlines(there)
        if here:
            found.update((key, outline(chunk)) for key, chunk in self.chunks([-key for key in here]).items())
        return found

    def leading_chunks(self, paths: Iterable[str], per_file: int, only: ChunkFilter) -> list[int]:
        every = list(paths)
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.leading_chunks(every, per_file, only) if unsaved else []
        return [*super().leading_chunks(every, per_file, _without(only, hidden)), *(-each for each in here)]

    def chunk_rows(
        self, sql: str, values: Sequence[Any] = (), cancelled: Cancelled | None = None
    ) -> list[Row]:
        with self.overlay.shown() as (unsaved, hidden):
            here = unsaved.select(sql, values, cancelled) if unsaved else []
        there = self.select(sql, values, cancelled)
        return [*(row for row in there if row[1] not in hidden), *((-row[0], *row[1:]) for row in here)]

    # --- files and facts ----------------------------------------------------------------------------

    def facts(self) -> Facts:
        """The index's, but that the generation rises with what is shown, too."""
        facts = super().facts()
        shown = self.overlay.generation
        return evolve(facts, generation=facts.generation + shown) if shown else facts

    def facts_with_unsaved(self) -> Facts:
        """The facts by which to choose how to compare: unsaved chunks that have no vector wait for one."""
        facts = self.facts()
        with self.overlay.shown() as (unsaved, _):
            rows = unsaved.select("SELECT hex(embedding_key) FROM chunks") if unsaved else []
        keys = [key for (key,) in rows]
        if not keys:
            return facts
        ((missing,),) = self.select(_COUNT_MISSING, (json.dumps(keys), facts.model_id))
        return evolve(facts, chunks=facts.chunks + len(keys), queued=facts.queued + missing)

    def stats(self) -> IndexStats:
        """The index's, with the collections that only unsaved text belongs to."""
        stats = super().stats()
        with self.overlay.shown() as (unsaved, _):
            collections = unsaved.stats().collections if unsaved else ()
        known = {collection.name for collection in stats.collections}
        new = [collection for collection in collections if collection.name not in known]
        return evolve(stats, collections=(*stats.collections, *new)) if new else stats


_SELECT_KEYS = "SELECT id, hex(embedding_key) FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
_COUNT_MISSING = """SELECT count(*) FROM json_each(?) k WHERE NOT EXISTS
    (SELECT 1 FROM embeddings e WHERE e.model_id = ? AND e.key = unhex(k.value))"""


def _without(only: ChunkFilter, hidden: tuple[str, ...]) -> ChunkFilter:
    return evolve(only, hidden=hidden) if hidden else only


def _apart(ids: Iterable[int]) -> tuple[list[int], list[int]]:
    """The ids as the index of unsaved text has them, and those of the folder's index."""
    every = list(ids)
    return [-each for each in every if each < 0], [each for each in every if each > 0]


def _renumbered(hits: Iterable[H]) -> list[H]:
    return [evolve(hit, chunk_id=-hit.chunk_id) for hit in hits]


def _merged(hits: list[Hit], unsaved: list[Hit], limit: int) -> list[Hit]:
    """Both together, best first; of equal ones those with the lower id come first."""
    return sorted([*hits, *unsaved], key=lambda hit: (-hit.score, hit.chunk_id))[:limit] if unsaved else hits
