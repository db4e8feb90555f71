"""Find the code that a document's passage names or shows, and tell namesakes apart.

What precedes a name decides: `gin.Default()` does not mean another package's `Default`. It must agree with
the definition's owner, file, folder or project. A name that stands alone must be distinctive, or marked as
code and defined once."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.queries.file_queries import file_facts, file_stem, files_called
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights, FoundName
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.languages.registry import PROSE_LANGUAGES, detect_language, facts_of
from cairn.retrieval.document_names import DocumentName, DocumentText, Mark
from cairn.retrieval.file_names import former, without_language
from cairn.retrieval.wording import is_common
from cairn.text.verbatim import find_words, lines_of
from cairn.workspace.collections import FileKind, file_kind

_MOST_NAMES = 80
_MOST_PATHS = 12
_LEAST_LETTERS = 3
"""A name of a file of at most so many letters is not looked up."""
_MOST_PLACES = 12
_MOST_OWNED = 40
"""The maximum numbers of files that define a name, and one with an owner. What more of them mean is unclear,
and they take long to read."""
_MOST_MEANT = 2
"""The maximum number of files that define the same thing, such as for two platforms."""
_PLAIN_FOLDERS = frozenset({"src", "lib", "source", "include", "pkg", "app", "main", "internal"})
"""Folders that are no part of a name."""
_EVERYWHERE = frozenset({"main", "init", "setup", "test", "new"})
"""Names that mean something else in each file."""
_NO_WORD = re.compile(r"[\W_]+")
_PART = re.compile(r"[/.:\\@]+|->")


@frozen
class NamedPlace:
    """A definition, or a file (without one), that a passage names."""

    path: str
    place: Place | None
    line: int
    """The 0-based line of the definition's name."""
    strength: float
    """How likely the passage is about it, 0 to 1."""
    reason: str


@define(eq=False)
class Meanings:
    """Tells what the names in documents of one folder mean."""

    reader: IndexReader
    graph: ReferenceGraph
    files: Mapping[str, Collection[str]]
    """The files that define each name."""
    _defined: dict[tuple[str, int], list[Place]] = field(factory=dict, init=False)
    _projects: dict[str, str] = field(factory=dict, init=False)

    @classmethod
    def of_names(cls, reader: IndexReader, graph: ReferenceGraph, names: Iterable[str]) -> Meanings:
        """Return the meanings of these names."""
        return cls(reader, graph, files_defining(reader.definitions_of(names, _MOST_OWNED)))

    def of(self, each: DocumentName, document: str) -> list[Place]:
        """Return the definitions that a name in the document means; none if that is unclear."""
        found = self._definitions(each.name, _MOST_OWNED if each.owner or each.module else _MOST_PLACES)
        if each.language:
            family = facts_of(each.language).family
            found = [place for place in found if facts_of(detect_language(place.path)).family == family]
        gone = former((place.path for place in found), document)
        current = [place for place in found if place.path not in gone]
        found = self._agreeing(each, current or found)
        outermost = min((place.qualified.count(".") for place in found), default=0)
        if each.name[:1].isupper():  # A type, not a method that is called like it.
            found = [place for place in found if place.qualified.count(".") == outermost]
        return found if len({place.path for place in found}) <= _MOST_MEANT else []

    def _definitions(self, name: str, most: int) -> list[Place]:
        key = name, most
        if key not in self._defined:
            files = len(self.files.get(name, ()))
            places = self.graph.named(name) if 0 < files <= most else []
            one = {
                (place.path, place.qualified): place
                for place in sorted(places, key=lambda place: place.end_line - place.start_line)
                if file_kind(place.path) in (FileKind.SOURCE, FileKind.CONFIG) and _is_global(place)
            }
            shown = set(one.values())
            self._defined[key] = [place for place in places if place in shown]
        return self._defined[key]

    def _agreeing(self, each: DocumentName, found: Sequence[Place]) -> list[Place]:
        before = _parts(each.owner) if each.owner else []
        module = _parts(each.module)
        if module and not (set(module) & _ANY_MODULE):
            found = [place for place in found if self._agrees(module, place)]
            before = before if each.owner.rpartition(".")[2] != each.module else []
        if before:
            close = [place for place in found if self._agrees(before[-1:], place)]
            if close or module:
                return close or (list(found) if each.is_distinctive else [])
            # The owner is a variable, or it is defined elsewhere.
            is_type = each.owner.rpartition(".")[2][:1].isupper()
            return [] if is_type or not each.is_distinctive else list(found)
        if module or each.is_distinctive:
            return list(found)
        is_marked = each.mark >= Mark.CODE or (each.mark is Mark.WRITTEN and each.is_call)
        is_type = each.name[:1].isupper()
        if not (is_marked or (each.is_call and not is_type)):
            return []
        outer = [place for place in found if "." not in place.qualified]
        is_one = len({place.path for place in found}) == 1
        if each.name in _EVERYWHERE or (is_common(each.name.lower()) and each.mark < Mark.HEADING):
            return []
        return outer if is_one and (each.is_call or is_type or each.mark is Mark.HEADING) else []

    def _agrees(self, parts: Iterable[str], place: Place) -> bool:
        """Whether one of the parts names the definition's owner, file, folder or project."""
        *folders, name = place.path.split("/")
        own = {_key(each) for each in (*folders, name.partition(".")[0], *place.qualified.split(".")[:-1])}
        if all(folder.lower() in _PLAIN_FOLDERS for folder in folders):
            own.add(_key(self._project(place.path)))
        return any(_key(part) in own for part in parts)

    def _project(self, path: str) -> str:
        if path not in self._projects:
            facts = file_facts(self.reader, path)
            self._projects[path] = facts.collection.rpartition("-")[0].rpartition("/")[2] if facts else ""
        return self._projects[path]


_ANY_MODULE = frozenset({"", "."})


def named_places(
    reader: IndexReader, graph: ReferenceGraph, path: str, texts: Iterable[DocumentText], focus: range
) -> list[NamedPlace]:
    """Return the definitions and files that passages of the document at `path` name, the surest first. Names
    near the lines of `focus` count more."""
    found: dict[tuple[str, int], NamedPlace] = {}
    every = list(texts)
    by_name: defaultdict[str, list[DocumentName]] = defaultdict(list)
    for each in (each for text in every for each in text.names):
        if each.name in by_name or len(by_name) < _MOST_NAMES:
            by_name[each.name].append(each)
    meanings = Meanings.of_names(reader, graph, by_name)
    for name, mentions in by_name.items():
        strongest: dict[Place, float] = {}
        for each in mentions:
            for place in meanings.of(each, path):
                weight = _STRENGTHS[each.mark] * _nearness(each.line, focus)
                strongest[place] = strongest.get(place, 0.0) + weight
        for place, strength in strongest.items():
            share = strength / (strength + 1)
            found[place.path, place.line] = NamedPlace(
                place.path, place, place.line, share, f"defines `{name}`"
            )
    best = sorted(found.values(), key=lambda each: -each.strength)[:_MOST_RARE]
    found = {(each.path, each.line): _with_rarity(reader, each) for each in best}
    unknown = [name for name in by_name if name not in meanings.files]
    for using in _using(reader, by_name, unknown):
        found.setdefault((using.path, using.line), using)
    written = [each.lstrip("./") for text in every for each, _ in text.paths if "/" in each.lstrip("./")]
    stems = [name for name in unknown if _may_name_file(by_name[name])]
    for other in _named_files(reader, path, every, stems):
        reason = f"the file `{posixpath.basename(other)}`, which it names"
        strength = _PATH_STRENGTH if other.endswith(tuple(written)) else _NAME_STRENGTH
        found.setdefault((other, -1), NamedPlace(other, None, 0, strength, reason))
    return sorted(found.values(), key=lambda each: (-each.strength, each.path, each.line))


_TEXT_ONLY = ColumnWeights(text=1.0, identifiers=0.0, symbol=0.0)
_MOST_WORDS, _MOST_USING, _FEW_USING, _LONG_WORD = 12, 12, 2, 4
_MOST_RARE, _MOST_COUNTED, _FEW_PASSAGES = 12, 60, 5
_NEAR, _FAR = 8, 0.6
"""How many lines from the cursor names count fully, and how much those count that are far away."""
_WORD_STRENGTH = 0.45
_STRENGTHS = {Mark.IN_BLOCK: 1.0, Mark.WRITTEN: 1.5, Mark.CODE: 2.0, Mark.HEADING: 4.0}
_PATH_STRENGTH, _NAME_STRENGTH = 0.7, 0.45
"""The strengths of a file named with its folder, and without: other projects may have such a file."""


def _nearness(line: int, focus: range) -> float:
    away = max(focus.start - line, line - focus.stop + 1, 0) if focus else 0
    return 1.0 if away <= _NEAR else max(_FAR, _NEAR / away)


def files_defining(definitions: Iterable[FoundName]) -> Mapping[str, Collection[str]]:
    """Return the files that define each name."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    for each in definitions:
        files[each.name].add(each.path)
    return files


def _with_rarity(reader: IndexReader, named: NamedPlace) -> NamedPlace:
    """Weaken a place by how many passages of documents have its name. What all of them name says little of
    one."""
    documents = tuple(each.name for each in reader.stats().collections if each.kind == FileKind.DOCS)
    if not documents or named.place is None:
        return named
    name = named.place.name
    hits = reader.keywords([name], _TEXT_ONLY, _MOST_COUNTED, ChunkFilter(collections=documents))
    outlines = reader.outlines(hit.chunk_id for hit in hits).values()
    by_language = Counter(without_language(each.path)[1] for each in outlines)
    rarity = min(1.0, _FEW_PASSAGES / max(by_language.values(), default=1))
    return evolve(named, strength=named.strength * rarity)


def _using(
    reader: IndexReader, by_name: Mapping[str, Sequence[DocumentName]], unknown: Iterable[str]
) -> Iterator[NamedPlace]:
    """Yield the places in the source of rare names that nothing defines, such as keys and options."""
    source = tuple(each.name for each in reader.stats().collections if each.kind == FileKind.SOURCE)
    words = [name for name in unknown if any(map(_is_key, by_name[name]))]
    for word in words[:_MOST_WORDS] if source else ():
        hits = reader.keywords([word], _TEXT_ONLY, _MOST_USING, ChunkFilter(collections=source))
        places = []
        for stored in reader.chunks(hit.chunk_id for hit in hits).values():
            at = find_words(word, stored.chunk.text)
            if at >= 0:
                line = stored.chunk.start_line + len(lines_of(stored.chunk.text[:at])) - 1
                places.append((stored.path, line))
        if len({path for path, _ in places}) <= _FEW_USING:
            for path, line in places:
                yield NamedPlace(path, None, line, _WORD_STRENGTH, f"contains `{word}`")


def _is_key(each: DocumentName) -> bool:
    """Whether the name is written as code like a key or an option, not like the name of a product."""
    return each.is_distinctive and each.mark is not Mark.WRITTEN and not each.owner


def _may_name_file(mentions: Sequence[DocumentName]) -> bool:
    """Whether the name may be that of a file without its suffix: it is marked as code, not a common word."""
    name = mentions[0].name
    marked = any(each.mark >= Mark.CODE and not each.owner for each in mentions)
    return marked and len(name) >= _LONG_WORD and not is_common(name.lower())


def _named_files(
    reader: IndexReader, path: str, texts: Sequence[DocumentText], names: Sequence[str]
) -> Iterator[str]:
    """Yield the files that the passages name by their paths, by commands, or by `names`, their stems."""
    folder = posixpath.dirname(path)
    written = dict.fromkeys(each for text in texts for each, _ in text.paths)
    commands = dict.fromkeys(each for text in texts for each, _ in text.commands)
    tasks = [f"{each}.*" for each in commands if re.search(r"[.:-]", each)]
    tasks += [f"{name}.*" for name in names]
    wanted = [*list(written)[:_MOST_PATHS], *tasks[:_MOST_PATHS]]
    if not wanted:
        return
    exact = {posixpath.normpath(posixpath.join(folder, each)): each for each in written}
    ends = {each: each.removeprefix("./").lstrip("/") for each in wanted if not each.startswith("..")}
    ends = {each: end for each, end in ends.items() if len(end) > _LEAST_LETTERS}
    by_end: defaultdict[str, list[str]] = defaultdict(list)
    for other in files_called(reader, {file_stem(each) for each in (*ends.values(), *exact)}):
        if other == path or detect_language(other) in PROSE_LANGUAGES:
            continue
        if other in exact:
            ends.pop(exact[other], None)
            yield other
            continue
        for each, end in ends.items():
            if f"/{other}".endswith(f"/{end}") or _is_task(other, end):
                by_end[each].append(other)
    for each, others in by_end.items():
        if each in ends and len(others) == 1:
            yield others[0]


def _is_task(path: str, end: str) -> bool:
    return end.endswith(".*") and path.rpartition("/")[2].rpartition(".")[0] == end.removesuffix(".*")


def _is_global(place: Place) -> bool:
    """Whether other files can name the definition: it is not a variable of a function."""
    return place.kind in CALLABLE | CONTAINERS or place.qualified.count(".") < 2


def _parts(name: str) -> list[str]:
    return [each for each in _PART.split(name) if each]


def _key(name: str) -> str:
    return _NO_WORD.sub("", name).lower()
