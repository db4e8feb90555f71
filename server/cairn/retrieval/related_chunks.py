"""Find and rank the chunks that are related to a passage, by several named relations. References find its
callers and callees; names, files and vectors find the rest. No model runs, because the index has the
passage's vectors. Callers, callees, implementations and tests rank first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from statistics import fmean

from attrs import define, field, frozen

from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries import relations as indexed
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, FoundName, Hit, StoredChunk
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.retrieval.referrals import (
    CALLEE,
    CALLER,
    IMPLEMENTATION,
    SURE,
    TEST,
    Referrals,
    definitions_around,
    referrals,
)
from cairn.retrieval.scores import Contribution, Ranked, near_duplicates
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

FILE_WEIGHTS: Mapping[str, float] = {
    SAME_NAME: 1.0,
    IMPORTED: 0.5,
    IMPORTING: 0.5,
    TOGETHER: 1.0,
    SAME_FILE: -1.0,
}
_NEAREST = 60
_NEAREST_BESIDES = 20
"""The number of nearest chunks among those that pass a filter. A panel shows a few documents beside code."""
_SAMPLE = 100
"""The number of sample chunks. The passage's mean similarity to them counts as zero, since any two chunks are
that similar by chance: 0.15 to 0.34 by vectors of all-MiniLM-L6-v2, 0.13 to 0.35 by those of the code model.
"""
_MOST_USING = 40
"""The maximum number of chunks whose text is searched for an exact name."""
_MOST_FILES = 40
"""The maximum number of files related as wholes whose chunks are considered."""
_MOST_NAMES = 200
"""The maximum number of names of a passage to look up. A passage with more is a table."""
_FEWEST_LETTERS = 3
"""The minimum length of a name to look up. A shorter one (`i`, `db`) means something else in each place."""
_RARE = 3
"""The maximum number of files that define a rare name. The meaning of other names is unclear."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_TEXT_ONLY = ColumnWeights(text=1.0, identifiers=0.0, symbol=0.0)
_ALL = ChunkFilter()


@frozen
class ChunkRange:
    """Adjacent chunks of one file."""

    folder: int
    path: str
    chunks: tuple[StoredChunk, ...]
    focus: range = field(factory=lambda: range(0), kw_only=True)
    """The lines of the file that choose among the passage's functions."""

    cursor: tuple[int, int] | None = field(default=None, kw_only=True)
    """A line and a character. The name there has priority over the function around it."""

    @property
    def lines(self) -> tuple[int, int]:
        """The lines `[first, last)` of the file."""
        return (self.chunks[0].chunk.start_line, self.chunks[-1].chunk.end_line) if self.chunks else (0, 0)

    @cached_property
    def ids(self) -> frozenset[int]:
        return frozenset(stored.id for stored in self.chunks)

    @property
    def symbols(self) -> Mapping[str, str]:
        return {each.chunk.symbol: each.chunk.symbol_kind for each in self.chunks if each.chunk.symbol}

    @cached_property
    def defined(self) -> list[str]:
        names = (name for stored in self.chunks for name in stored.chunk.defines)
        return [name for name in dict.fromkeys(names) if _is_distinctive(name)][:_MOST_NAMES]

    @cached_property
    def used(self) -> list[str]:
        own = {name for stored in self.chunks for name in stored.chunk.defines}
        names = (name for stored in self.chunks for name in _IDENTIFIER.findall(stored.chunk.text))
        others = [name for name in dict.fromkeys(names) if name not in own and _is_distinctive(name)]
        return others[:_MOST_NAMES]


@frozen
class Related:
    """A chunk and the strength of each of its relations, 0 to 1."""

    folder: int
    stored: StoredChunk
    values: Mapping[str, float]


def relate(
    readers: Sequence[OverlaidReader],
    passage: ChunkRange,
    *,
    besides: ChunkFilter | None = None,
    vector: indexed.PassageVector | None = None,
) -> Relations:
    """Find all chunks related to the passage. With `besides`, the chunks nearest in meaning that pass this
    filter are added. `vector` replaces the passage's vectors in the index. Raises QueryCancelledError soon
    after the request is cancelled."""
    own = vector or indexed.passage_vector(readers[passage.folder], sorted(passage.ids))
    relations = Relations(readers, passage, besides, own)
    for leg in (relations.by_references, relations.by_names, relations.by_files, relations.by_meaning):
        leg()
        check_end()
    return relations


@define
class Relations:
    """Finds the chunks related to a passage, and the rare names by which they are related."""

    readers: Sequence[OverlaidReader]
    passage: ChunkRange
    besides: ChunkFilter | None
    vector: indexed.PassageVector
    defined: Sequence[str] = field(default=(), init=False)
    used: dict[tuple[int, int], list[str]] = field(factory=dict, init=False)
    """The rare names that the passage uses, by folder and defining chunk; the rarest first."""
    referrals: Referrals = field(factory=dict, init=False)
    focused_names: Sequence[str] | None = field(default=None, init=False)
    _pools: list[defaultdict[int, dict[str, float]]] = field(init=False)
    """The strength of each relation by chunk, one mapping for each folder."""
    _read: defaultdict[int, dict[int, StoredChunk]] = field(factory=lambda: defaultdict(dict), init=False)
    _files: defaultdict[str, dict[str, float]] = field(factory=lambda: defaultdict(dict), init=False)
    """The strength of the relations of whole files in the passage's folder, by path."""

    def __attrs_post_init__(self) -> None:
        self._pools = [defaultdict(dict) for _ in self.readers]

    def by_names(self) -> None:
        passage = self.passage
        files = _files_defining(self.readers[passage.folder].definitions_of(passage.defined))
        focused_names = passage.defined if self.focused_names is None else self.focused_names
        self.defined = [name for name in focused_names if 1 <= len(files.get(name, ())) <= _RARE]
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            definitions = reader.definitions_of(passage.used)
            files = _files_defining(definitions)
            rare_names: defaultdict[int, list[str]] = defaultdict(list)
            for each in definitions:
                if len(files[each.name]) <= _RARE:
                    rare_names[each.chunk_id].append(each.name)
            for chunk, names in rare_names.items():
                worth = sum(1 / len(files[name]) for name in names)
                if CALLEE not in pool.get(chunk, ()):  # The relation CALLEE is more precise.
                    pool[chunk][DEFINES] = worth / (worth + 1)
                self.used[folder, chunk] = sorted(names, key=lambda name: len(files[name]))
            hits = self._using(folder, self.defined)
            top = max((hit.score for hit in hits), default=1.0)
            for hit in hits:
                if not ({CALLER, TEST} & pool.get(hit.chunk_id, {}).keys()):
                    pool[hit.chunk_id][USES] = max(0.0, hit.score / top)

    def _using(self, folder: int, names: Sequence[str]) -> list[Hit]:
        """Return the chunks with exactly one of these names. Keywords would find `unloaded` for `unload`."""
        reader = self.readers[folder]
        hits = reader.keywords(names, _TEXT_ONLY, _MOST_USING, _ALL)
        stored = reader.chunks(hit.chunk_id for hit in hits)
        self._read[folder].update(stored)
        wanted = set(names)
        texts = {chunk_id: each.chunk.text for chunk_id, each in stored.items()}
        identifiers = (_IDENTIFIER.findall(texts.get(hit.chunk_id, "")) for hit in hits)
        return [hit for hit, names in zip(hits, identifiers, strict=True) if not wanted.isdisjoint(names)]

    def by_references(self) -> None:
        passage = self.passage
        reader = self.readers[passage.folder]
        graph = ReferenceGraph(reader)
        definitions = definitions_around(graph, passage.path, passage.lines, passage.focus, passage.cursor)
        if definitions and passage.focus:
            names = {each.name for each in definitions}
            self.focused_names = [name for name in passage.defined if name in names]
        self.referrals, stored = referrals(reader, graph, definitions)
        self._read[passage.folder].update(stored)
        pool = self._pools[passage.folder]
        for chunk, by_relation in self.referrals.items():
            pool[chunk].update({relation: each.value for relation, each in by_relation.items()})

    def by_files(self) -> None:
        reader, path = self.readers[self.passage.folder], self.passage.path
        imported, importing = indexed.imports_around(reader, path)
        together = indexed.changed_together(reader, path)
        groups: tuple[tuple[str, Iterable[tuple[str, float]]], ...] = (
            (SAME_NAME, ((other, 1.0) for other in indexed.same_stem(reader, path))),
            (IMPORTED, ((other, 1.0) for other in imported)),
            (IMPORTING, ((other, 1.0) for other in importing)),
            (TOGETHER, together.items()),
        )
        for name, others in groups:
            for other, value in others:
                self._files[other][name] = value
        self._files[path][SAME_FILE] = 1.0

    def by_meaning(self) -> None:
        """Find similar chunks, rate the chunks found before, and add a chunk of each related file."""
        here = self.passage.folder
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            is_comparable = self.vector.static_table == reader.static_table()
            vector = self.vector.static if is_comparable else None
            looked_into = self._chunks_of_files(reader) if folder == here else []
            hits: list[Hit] = []
            similar: dict[int, float] = {}
            background = 0.0
            if vector is not None:
                hits = reader.nearest_static(vector, _NEAREST, _ALL)
                if self.besides is not None:
                    hits += reader.nearest_static(vector, _NEAREST_BESIDES, self.besides)
                similar = {hit.chunk_id: hit.score for hit in hits}
                unknown = pool.keys() | set(chain.from_iterable(looked_into))
                sample = indexed.spread_ids(reader, _SAMPLE)
                wanted = sorted((unknown - similar.keys()).union(sample))
                compared = reader.static_similarities(wanted, vector)
                by_chance = [compared[chunk] for chunk in sample if chunk in compared]
                background = fmean(by_chance) if by_chance else 0.0
                similar = compared | similar
            for chunks in looked_into:
                best = max(chunks, key=lambda chunk: similar.get(chunk, -1.0))
                pool[best].setdefault(SIMILAR, 0.0)
            if vector is not None:
                for chunk in {hit.chunk_id for hit in hits} | pool.keys():
                    value = (similar.get(chunk, background) - background) / max(1e-6, 1 - background)
                    pool[chunk][SIMILAR] = min(1.0, max(0.0, value))

    def _chunks_of_files(self, reader: OverlaidReader) -> Collection[Sequence[int]]:
        """Return the chunk ids of each of the most related files."""

        def weight(path: str) -> float:
            return sum(FILE_WEIGHTS[name] * value for name, value in self._files[path].items())

        best = sorted(
            filter(lambda path: weight(path) > 0, self._files), key=lambda path: (-weight(path), path)
        )
        return reader.chunk_ids(best[:_MOST_FILES]).values()

    @property
    def found(self) -> list[Related]:
        """Return all found chunks, and the passage itself only if it refers to its own functions."""
        found = []
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            here = folder == self.passage.folder
            known = {chunk: stored for chunk, stored in self._read[folder].items() if chunk in pool}
            for chunk, stored in (known | reader.chunks(pool.keys() - known.keys())).items():
                if not (here and chunk in self.passage.ids) or chunk in self.referrals:
                    of_file = dict(self._files.get(stored.path, {})) if here else {}
                    if chunk in self.referrals:
                        of_file.pop(SAME_FILE, None)  # A reference counts in any file.
                    found.append(Related(folder, stored, {**pool[chunk], **of_file}))
        return found


def _files_defining(definitions: Iterable[FoundName]) -> defaultdict[str, set[str]]:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for each in definitions:
        files[each.name].add(each.path)
    return files


def _is_distinctive(name: str) -> bool:
    return len(name) >= _FEWEST_LETTERS and name.lower() not in STOPWORDS


WEIGHTS: Mapping[str, float] = {
    CALLER: 10.0,
    CALLEE: 8.0,
    IMPLEMENTATION: 7.0,
    TEST: 6.0,
    SIMILAR: 2.0,
    DEFINES: 1.5,
    USES: 1.5,
    **FILE_WEIGHTS,
}
"""The weight of each relation, whose values are 0 to 1. The weights were chosen by hand, without relevance
judgements. The passage's own file has a negative weight, because it is in view. Sure references come first.
"""
SHARES: Mapping[str, float] = {CALLER: 0.4, CALLEE: 0.3, IMPLEMENTATION: 0.2, TEST: 0.2}
"""The maximum share of the results for each relation by reference, so that callers do not take all."""

_BEST_POSSIBLE = WEIGHTS[CALLER] + sum(
    weight for name, weight in WEIGHTS.items() if weight > 0 and name not in SHARES
)

_SIMILARITY = DiversitySettings().similarity
"""The minimum similarity of near-duplicates. The settings of searches do not change it."""


def rank_related(found: Iterable[Related], limit: int) -> list[Ranked]:
    """Rank by the weighted sum of relations. Further chunks of a file and near-duplicates come last. Chunks
    with a sure reference precede all, and each kind of reference has its share of the results."""
    scored = sorted(((score, related) for related in found if (score := _score(related))), key=_best_first)
    referred = _within_shares([each for each in scored if _is_sure(each[1])], limit)
    first: dict[tuple[int, str], tuple[float, Related]] = {}
    for each in scored:
        if not _is_sure(each[1]):
            first.setdefault((each[1].folder, each[1].stored.path), each)
    chosen = {*map(id, referred), *map(id, first.values())}
    ordered = [*referred, *first.values(), *(each for each in scored if id(each) not in chosen)]
    ranked = [_ranked(*each) for each in ordered[: 2 * limit]]
    copies = near_duplicates(ranked, _SIMILARITY, limit) - set(range(len(referred)))
    distinct = [result for place, result in enumerate(ranked) if place not in copies]
    return [*distinct, *(ranked[place] for place in sorted(copies))][:limit]


def _within_shares(referred: Sequence[tuple[float, Related]], limit: int) -> list[tuple[float, Related]]:
    room = {relation: max(1, round(share * limit)) for relation, share in SHARES.items()}
    chosen = []
    for each in referred:
        relation = reference_of(each[1])
        room[relation] -= 1
        if room[relation] >= 0:
            chosen.append(each)
    return chosen


def _best_first(scored: tuple[float, Related]) -> tuple[float, int, str, int]:
    score, related = scored
    return -score, related.folder, related.stored.path, related.stored.chunk.position


def _score(related: Related) -> float:
    parts = (value * WEIGHTS[name] for name, value in related.values.items())
    return min(1.0, max(0.0, sum(sorted(parts, key=lambda part: -abs(part)))) / _BEST_POSSIBLE)


def _ranked(score: float, related: Related) -> Ranked:
    parts = [Contribution(name, value, WEIGHTS[name]) for name, value in related.values.items() if value]
    parts.sort(key=lambda part: -abs(part.value * part.weight))
    return Ranked(related.folder, related.stored, score, _source(related.values), tuple(parts))


def _source(values: Mapping[str, float]) -> str:
    if values.get(DEFINES) or not SHARES.keys().isdisjoint(values):
        return "exact"
    if values.get(USES):
        return "hybrid" if values.get(SIMILAR) else "keyword"
    return "embedding" if values.get(SIMILAR) else "relation"


def _is_sure(related: Related) -> bool:
    return related.values.get(reference_of(related), 0.0) >= SURE


def reference_of(related: Related) -> str:
    """Return the relation by reference that has the highest weighted value; "" if there is none."""
    values = related.values
    return max(SHARES.keys() & values.keys(), key=lambda name: WEIGHTS[name] * values[name], default="")
