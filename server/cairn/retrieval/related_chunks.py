"""Find the chunks that are related to a passage, by several named relations. References find its callers and
callees; documents, files and vectors find the rest. No model runs, because the index has the passage's
vectors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from statistics import fmean

from attrs import define, evolve, field, frozen

from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries import relations as indexed
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights, Hit, StoredChunk
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.languages.registry import detect_language
from cairn.retrieval.document_names import is_contents, is_document, is_document_path, read_document
from cairn.retrieval.explanations import explaining
from cairn.retrieval.file_names import translations
from cairn.retrieval.referrals import CALLEE, Referral, definitions_around, referrals
from cairn.retrieval.shown_code import NamedPlace, files_defining, named_places
from cairn.text.identifiers import identifier_words
from cairn.workspace.collections import file_kind

SIMILAR = "similar in meaning"
DEFINES = "defines what it uses"
USES = "uses what it defines"
EXPLAINS = "explains it"
TWIN = "its counterpart"
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

_MOST_NAMED = 12
"""The maximum number of definitions and files that a document's passage names."""
_MOST_EXPLAINED, _MOST_EXPLAINING = 2, 4
"""The maximum number of definitions to explain, and of documents that explain each."""
_MOST_TWINS = 2
_SURELY_NAMED = 0.65
"""The minimum strength of a definition for which other documents are found beside a document."""

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

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles and names of the chunks."""
        return tuple(name for each in self.chunks for name in (each.chunk.title, each.chunk.symbol) if name)

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
    lines: Mapping[str, int] = field(factory=dict)
    """The line that shows each relation by a reference."""


def relate(
    readers: Sequence[OverlaidReader],
    passage: ChunkRange,
    *,
    besides: ChunkFilter | None = None,
    vector: indexed.PassageVector | None = None,
    thorough: bool = False,
) -> Relations:
    """Find all chunks related to the passage; if `thorough`, also those that say little about it. With
    `besides`, the chunks nearest in meaning that pass this filter are added. `vector` replaces the passage's
    vectors in the index. Raises QueryCancelledError soon after the request is cancelled."""
    own = vector or indexed.passage_vector(readers[passage.folder], sorted(passage.ids))
    relations = Relations(readers, passage, besides, own, thorough)
    legs = (
        relations.by_references,
        relations.by_documents,
        relations.by_names,
        relations.by_files,
        relations.by_meaning,
    )
    for leg in legs:
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
    thorough: bool
    defined: Sequence[str] = field(default=(), init=False)
    used: dict[tuple[int, int], list[str]] = field(factory=dict, init=False)
    """The rare names that the passage uses, by folder and defining chunk; the rarest first."""
    definitions: Sequence[Place] = field(default=(), init=False)
    """The functions and types that the passage is about."""
    referrals: dict[int, dict[str, Referral]] = field(factory=dict, init=False)
    _graph: ReferenceGraph = field(init=False)
    _pools: list[defaultdict[int, dict[str, float]]] = field(init=False)
    """The strength of each relation by chunk, one mapping for each folder."""
    _read: defaultdict[int, dict[int, StoredChunk]] = field(factory=lambda: defaultdict(dict), init=False)
    _named_files: dict[str, NamedPlace] = field(factory=dict, init=False)
    """The files that a document's passage names, by path."""
    _files: defaultdict[str, dict[str, float]] = field(factory=lambda: defaultdict(dict), init=False)
    """The strength of the relations of whole files in the passage's folder, by path."""

    def __attrs_post_init__(self) -> None:
        self._graph = ReferenceGraph(self.readers[self.passage.folder])
        self._pools = [defaultdict(dict) for _ in self.readers]

    def by_documents(self) -> None:
        """Find the code that a document's passage names, and the documents that explain the definitions."""
        passage = self.passage
        reader = self.readers[passage.folder]
        texts = [
            read_document(stored)
            for stored in passage.chunks
            if is_document(stored) and not is_contents(stored.chunk.text)
        ]
        explained = list(self.definitions[:_MOST_EXPLAINED])
        if texts:
            named = named_places(reader, self._graph, passage.path, texts, passage.focus)[:_MOST_NAMED]
            for each in named:
                if each.place is None and not each.line:
                    self._named_files[each.path] = each
                else:
                    self._add_named(each)
            surest = (each.place for each in named if each.strength >= _SURELY_NAMED)
            explained = [place for place in surest if place is not None][:1]
        for place in explained:
            for found in explaining(reader, place, _MOST_EXPLAINING, self._graph):
                if found.stored.path != passage.path:
                    reason = f"explains `{place.name}`"
                    referral = Referral(found.line, found.strength, reason)
                    self._add(found.stored, EXPLAINS, referral, found.strength)
        self._add_twins()

    def _add_twins(self) -> None:
        """Add what defines the same elsewhere, such as for another platform or version, or says it in another
        language."""
        passage = self.passage
        reader = self.readers[passage.folder]
        for place in self.definitions[:_MOST_EXPLAINED]:
            others = [each for each in self._graph.named(place.qualified) if _is_twin(each, place)]
            for other in others[:_MOST_TWINS]:
                for stored in reader.between(other.path, other.line, other.line + 1)[:1]:
                    referral = Referral(other.line, 1.0, f"also defines `{other.name}`")
                    self._add(stored, TWIN, referral, 1.0)
        if passage.chunks and is_document(passage.chunks[0]):
            paths = [each for each in indexed.same_stem(reader, passage.path) if is_document_path(each)]
            for path in translations(passage.path, paths)[:_MOST_TWINS]:
                if (twin := _counterpart(reader, passage, path)) is not None:
                    referral = Referral(twin.chunk.start_line, 1.0, "the same in another language")
                    self._add(twin, TWIN, referral, 1.0)

    def _add_named(self, each: NamedPlace) -> None:
        reader = self.readers[self.passage.folder]
        for stored in reader.between(each.path, each.line, each.line + 1)[:1]:
            shown = None
            if each.place is not None and len(stored.chunk.defines) > 1:
                first, last = stored.chunk.start_line, stored.chunk.end_line
                shown = max(first, each.place.start_line), min(last, each.place.end_line)
            line = max(each.line, stored.chunk.start_line)
            referral = Referral(line, each.strength, each.reason, shown, each.place if shown else None)
            self._add(stored, DEFINES, referral, each.strength)

    def _add(self, stored: StoredChunk, relation: str, referral: Referral, value: float) -> None:
        pool = self._pools[self.passage.folder][stored.id]
        if value > pool.get(relation, 0.0) and not (relation == DEFINES and CALLEE in pool):
            pool[relation] = value
            self.referrals.setdefault(stored.id, {})[relation] = referral
            self._read[self.passage.folder][stored.id] = stored

    def by_names(self) -> None:
        """Find what shares rare names with code of which no references are read."""
        passage = self.passage
        if any(map(is_document, passage.chunks)) or self._graph.reads(passage.path):
            return
        files = files_defining(self.readers[passage.folder].definitions_of(passage.defined))
        self.defined = [name for name in passage.defined if 1 <= len(files.get(name, ())) <= _RARE]
        for folder, (reader, pool) in enumerate(zip(self.readers, self._pools, strict=True)):
            definitions = reader.definitions_of(passage.used)
            files = files_defining(definitions)
            rare_names: defaultdict[int, list[str]] = defaultdict(list)
            for each in definitions:
                if len(files[each.name]) <= _RARE:
                    rare_names[each.chunk_id].append(each.name)
            for chunk, names in rare_names.items():
                worth = sum(1 / len(files[name]) for name in names)
                pool[chunk][DEFINES] = worth / (worth + 1)
                self.used[folder, chunk] = sorted(names, key=lambda name: len(files[name]))
            hits = self._using(folder, self.defined)
            top = max((hit.score for hit in hits), default=1.0)
            for hit in hits:
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
        self.definitions = definitions_around(
            self._graph, passage.path, passage.lines, passage.focus, passage.cursor
        )
        found, stored = referrals(
            reader, self._graph, self.definitions, passage.focus, thorough=self.thorough
        )
        self.referrals = {chunk: dict(by_relation) for chunk, by_relation in found.items()}
        self._read[passage.folder].update(stored)
        pool = self._pools[passage.folder]
        for chunk, by_relation in self.referrals.items():
            pool[chunk].update({relation: each.value for relation, each in by_relation.items()})
        for place in self.definitions:  # The name at the cursor may be defined in another file.
            if place.path != passage.path:
                self._add_named(NamedPlace(place.path, place, place.line, 1.0, f"defines `{place.name}`"))

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
                named = reader.chunk_ids(self._named_files).values() if folder == here else []
                unknown = pool.keys() | set(chain.from_iterable((*looked_into, *named)))
                sample = indexed.spread_ids(reader, _SAMPLE)
                wanted = sorted((unknown - similar.keys()).union(sample))
                compared = reader.static_similarities(wanted, vector)
                by_chance = [compared[chunk] for chunk in sample if chunk in compared]
                background = fmean(by_chance) if by_chance else 0.0
                similar = compared | similar
            for path, ids in reader.chunk_ids(self._named_files).items() if folder == here else ():
                best = max(ids, key=lambda chunk: similar.get(chunk, -1.0))
                for stored in reader.chunks([best]).values():
                    file = evolve(self._named_files[path], line=stored.chunk.start_line)
                    self._add_named(file)
            for chunks in looked_into:
                best = max(chunks, key=lambda chunk: similar.get(chunk, -1.0))
                pool.setdefault(best, {})  # Without vectors the similarity is unknown.
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
                    referred = self.referrals.get(chunk, {}) if here else {}
                    if referred:
                        of_file.pop(SAME_FILE, None)  # A reference counts in any file.
                    lines = {name: each.line for name, each in referred.items()}
                    found.append(Related(folder, stored, {**pool[chunk], **of_file}, lines))
        return found


def _is_twin(other: Place, place: Place) -> bool:
    """Whether another file of the same kind and language defines the same name."""
    one, two = detect_language(other.path), detect_language(place.path)
    same = one == two and file_kind(other.path) == file_kind(place.path)
    return same and other.path != place.path and other.qualified == place.qualified


def _counterpart(reader: OverlaidReader, passage: ChunkRange, path: str) -> StoredChunk | None:
    """Return the chunk of a translated document at the same place as the passage."""
    own, other = reader.page(passage.path), reader.page(path)
    if not own or not other:
        return None
    share = passage.lines[0] / max(1, own[-1].chunk.end_line)
    line = share * other[-1].chunk.end_line
    return min(other, key=lambda stored: abs(stored.chunk.start_line - line))


def _is_distinctive(name: str) -> bool:
    return len(name) >= _FEWEST_LETTERS and len(identifier_words(name)) > 1
