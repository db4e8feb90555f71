"""What belongs to a passage: finds it by several relations, each with a name and a weight, and ranks it.

No model is run: the passage's own vectors are in the index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

from attrs import define, field, frozen

from cairn.errors import QueryCancelledError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries import relations
from cairn.index.queries.symbols import FoundName, definitions_of
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, Hit, StoredChunk
from cairn.index.store.deadline import Cancelled
from cairn.retrieval.diversity import first_of_files, near_duplicates
from cairn.retrieval.meaning import ModelVector, QueryVector, StaticVector
from cairn.retrieval.scores import Contribution, Ranked
from cairn.settings.tree import DiversitySettings
from cairn.text.words import STOPWORDS

SIMILAR = "similar in meaning"
DEFINES = "defines what it uses"
USES = "uses what it defines"
SAME_NAME = "file of the same name"
IMPORTED = "file that it imports"
IMPORTING = "file that imports it"
TOGETHER = "file that changes with it"
SAME_FILE = "same file"

WEIGHTS: Mapping[str, float] = {
    SIMILAR: 2.0,
    DEFINES: 1.5,
    USES: 1.5,
    SAME_NAME: 1.0,
    IMPORTED: 0.5,
    IMPORTING: 0.5,
    TOGETHER: 1.0,
    SAME_FILE: -1.0,
}
"""Each times a value of 0 to 1. Chosen, not fitted: there are no judgements of what is related. Who reads a passage has
the rest of its file before them."""


_NEAREST = 60
"""Chunks that are looked at for being similar."""
_NEAREST_BESIDES = 20
"""The same among those of a filter: a panel shows a few documents beside code."""
_SAMPLE = 100
"""Chunks whose mean similarity is what any two have by chance: 0.15 to 0.34 by the vectors of all-MiniLM-L6-v2, 0.13 to
0.35 by those of the code model. It counts as not similar at all."""
_MOST_USING = 40
"""Chunks that hold a name: their texts are read to see whether it is the very name."""
_MOST_FILES = 40
"""Files that are looked into for a relation of the file alone."""
_MOST_NAMES = 200
"""Names of a passage that are looked up: what has more is a table."""
_FEWEST_LETTERS = 3
"""Shorter names (`i`, `db`) are used everywhere for something else."""
_RARE = 3
"""Names that more files define do not say which one is meant."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_TEXT_ONLY = ColumnWeights(text=1.0, identifiers=0.0, symbol=0.0)
_ALL = ChunkFilter()
_SIMILARITY = DiversitySettings().similarity
"""From which two passages count as one, whatever the settings say of searches."""


@frozen
class ChunkRange:
    """Some adjacent chunks of one file."""

    folder: int
    """Which of the searched folders it is in."""
    path: str
    chunks: tuple[StoredChunk, ...]

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(stored.id for stored in self.chunks)

    @property
    def defined(self) -> list[str]:
        """The names that it defines, in order."""
        names = (name for stored in self.chunks for name in stored.chunk.defines)
        return [name for name in dict.fromkeys(names) if _is_distinctive(name)][:_MOST_NAMES]

    @property
    def used(self) -> list[str]:
        """The other identifiers in its text, in order."""
        own = {name for stored in self.chunks for name in stored.chunk.defines}
        names = (name for stored in self.chunks for name in _IDENTIFIER.findall(stored.chunk.text))
        return [name for name in dict.fromkeys(names) if name not in own and _is_distinctive(name)][
            :_MOST_NAMES
        ]


@frozen
class Related:
    """A chunk with how it is related: 0 to 1 by relation."""

    folder: int
    stored: StoredChunk
    values: Mapping[str, float]


def relate(
    readers: Sequence[OverlaidReader],
    passage: ChunkRange,
    cancelled: Cancelled,
    *,
    besides: ChunkFilter | None = None,
    vector: relations.PassageVector | None = None,
) -> list[Related]:
    """All that is found to be related to the passage, in no order.

    Of the chunks that pass `besides` the nearest in meaning are looked at as well, where others are nearer. `vector` is
    the passage's, where it is not in an index. Raises QueryCancelledError soon after `cancelled()` turns true.
    """
    search = _Search(readers, passage, cancelled, besides, vector)
    for leg in (search.by_names, search.by_files, search.by_meaning):
        leg()
        if cancelled():
            raise QueryCancelledError("The request was cancelled.")
    return search.found()


def rank_related(found: Iterable[Related], limit: int) -> list[Ranked]:
    """Ranked by the weighted sum of their relations; a file's second chunk and copies stand behind all others."""
    best_possible = sum(weight for weight in WEIGHTS.values() if weight > 0)
    ranked = []
    for related in found:
        parts = [Contribution(name, value, WEIGHTS[name]) for name, value in related.values.items() if value]
        parts.sort(key=lambda part: -abs(part.value * part.weight))
        score = max(0.0, sum(part.value * part.weight for part in parts)) / best_possible
        if score:
            ranked.append(
                Ranked(related.folder, related.stored, score, _source(related.values), tuple(parts))
            )
    ranked.sort(key=lambda r: (-r.score, r.folder, r.stored.path, r.stored.chunk.position))
    first = first_of_files(ranked)
    chosen = set(map(id, first))
    ordered = [*first, *(result for result in ranked if id(result) not in chosen)][: 2 * limit]
    copies = near_duplicates(ordered, _SIMILARITY)
    distinct = [result for place, result in enumerate(ordered) if place not in copies]
    return [*distinct, *(ordered[place] for place in sorted(copies))][:limit]


def _source(values: Mapping[str, float]) -> str:
    if values.get(DEFINES):
        return "exact"
    if values.get(USES):
        return "hybrid" if values.get(SIMILAR) else "keyword"
    return "embedding" if values.get(SIMILAR) else "relation"


@define
class _Search:
    """Pools what each relation finds."""

    readers: Sequence[OverlaidReader]
    passage: ChunkRange
    cancelled: Cancelled
    besides: ChunkFilter | None = None
    vector: relations.PassageVector | None = None
    _pools: list[defaultdict[int, dict[str, float]]] = field(init=False)
    """The relations of chunks, by folder and chunk."""
    _files: defaultdict[str, dict[str, float]] = field(factory=lambda: defaultdict(dict), init=False)
    """By path in the passage's folder: the relations of whole files."""

    def __attrs_post_init__(self) -> None:
        self._pools = [defaultdict(dict) for _ in self.readers]

    def by_names(self) -> None:
        used, defined = self.passage.used, self.passage.defined
        # Names that few files define: whoever writes them means these.
        files = _files_defining(definitions_of(self.readers[self.passage.folder], defined))
        rare = [name for name in defined if 1 <= len(files[name]) <= _RARE]
        for reader, pool in zip(self.readers, self._pools, strict=True):
            definitions = definitions_of(reader, used)
            files = _files_defining(definitions)
            told: dict[int, float] = defaultdict(float)
            for each in definitions:
                if len(files[each.name]) <= _RARE:
                    told[each.chunk_id] += 1 / len(files[each.name])
            for chunk, names in told.items():
                pool[chunk][DEFINES] = names / (names + 1)
            hits = self._using(reader, rare)
            top = max((hit.score for hit in hits), default=1.0)
            for hit in hits:
                pool[hit.chunk_id][USES] = max(0.0, hit.score / top)

    def _using(self, reader: OverlaidReader, names: Sequence[str]) -> list[Hit]:
        """The chunks that hold one of these very names; keywords alone would find `unloaded` for `unload`."""
        match = " OR ".join(f'"{name}"' for name in names)
        hits = reader.keywords(match, _TEXT_ONLY, _MOST_USING, _ALL, self.cancelled) if match else []
        stored = reader.chunks(hit.chunk_id for hit in hits)
        wanted = set(names)
        return [
            hit
            for hit in hits
            if hit.chunk_id in stored
            and not wanted.isdisjoint(_IDENTIFIER.findall(stored[hit.chunk_id].chunk.text))
        ]

    def by_files(self) -> None:
        reader, path = self.readers[self.passage.folder], self.passage.path
        imported, importing = relations.imports_around(reader, path)
        together = relations.changed_together(reader, path)
        groups: tuple[tuple[str, Iterable[tuple[str, float]]], ...] = (
            (SAME_NAME, ((other, 1.0) for other in relations.same_stem(reader, path))),
            (IMPORTED, ((other, 1.0) for other in imported)),
            (IMPORTING, ((other, 1.0) for other in importing)),
            (TOGETHER, together.items()),
        )
        for name, others in groups:
            for other, value in others:
                self._files[other][name] = value
        self._files[path][SAME_FILE] = 1.0

    def by_meaning(self) -> None:
        """Similar chunks, and how similar those are that were found already; a chunk for each related file."""
        here = self.passage.folder
        own = self.vector or relations.passage_vector(self.readers[here], sorted(self.passage.ids))
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            vector = _query_vector(own, relations.static_table(reader))
            looked_into = self._chunks_of_files(reader) if folder == here else []
            hits: list[Hit] = []
            similar: dict[int, float] = {}
            if vector is not None:
                hits = vector.nearest(reader, _NEAREST, _ALL, self.cancelled)
                if self.besides is not None:
                    hits += vector.nearest(reader, _NEAREST_BESIDES, self.besides, self.cancelled)
                similar = {hit.chunk_id: hit.score for hit in hits}
                unknown = pool.keys() | set(chain.from_iterable(looked_into))
                similar |= vector.similarities(reader, sorted(unknown - similar.keys()))
            for chunks in looked_into:
                best = max(chunks, key=lambda chunk: similar.get(chunk, -1.0))
                pool[best].setdefault(SIMILAR, 0.0)
            if vector is not None:
                by_chance = vector.similarities(reader, relations.spread_ids(reader, _SAMPLE)).values()
                background = fmean(by_chance) if by_chance else 0.0
                for chunk in {hit.chunk_id for hit in hits} | pool.keys():
                    value = (similar.get(chunk, background) - background) / max(1e-6, 1 - background)
                    pool[chunk][SIMILAR] = min(1.0, max(0.0, value))

    def _chunks_of_files(self, reader: OverlaidReader) -> Collection[Sequence[int]]:
        """The chunks of each of the files that are related the most as files."""

        def weight(path: str) -> float:
            return sum(WEIGHTS[name] * value for name, value in self._files[path].items())

        best = sorted(
            (path for path in self._files if weight(path) > 0), key=lambda path: (-weight(path), path)
        )
        return relations.chunk_ids(reader, best[:_MOST_FILES]).values()

    def found(self) -> list[Related]:
        """All that was found, but for the passage itself."""
        found = []
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            here = folder == self.passage.folder
            for chunk, stored in reader.chunks(pool).items():
                if not (here and chunk in self.passage.ids):
                    of_file = self._files.get(stored.path, {}) if here else {}
                    found.append(Related(folder, stored, {**pool[chunk], **of_file}))
        return found


def _files_defining(definitions: Iterable[FoundName]) -> defaultdict[str, set[str]]:
    """The paths of the files that define each name."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    for each in definitions:
        files[each.name].add(each.path)
    return files


def _query_vector(own: relations.PassageVector, static_table: str) -> QueryVector | None:
    """How to compare with an index that has vectors of `static_table`; None if it can not be."""
    static = StaticVector(own.static) if own.static is not None and own.static_table == static_table else None
    if own.vector is not None:
        return ModelVector(own.vector, own.model, static)
    return static


def _is_distinctive(name: str) -> bool:
    return len(name) >= _FEWEST_LETTERS and name.lower() not in STOPWORDS
