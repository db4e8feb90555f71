"""Says how definitions are used apart from their references, so that "none" is never said of what was not
understood: as entry points, in lines that could not be resolved, or by code outside of the folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter

from attrs import define, field, frozen

from cairn import protocol
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.engine.named_definitions import Searched
from cairn.engine.occurrences import is_of_program
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.references.edges import Edge, Place
from cairn.index.references.entry_points import EntryPoint, EntryPoints
from cairn.index.references.frameworks import EntryKind
from cairn.index.references.requests import requests
from cairn.languages.registry import detect_language, facts_of
from cairn.protocol.relation_messages import UsageKind
from cairn.text.counts import counted

LIKELY = 0.5
"""The confidence from which a reference says enough, so that nothing else is looked for."""
_MOST_PLACES = 3
"""The maximum number of definitions of one name whose entry points are looked for."""
_MOST_CHUNKS = 100
_MOST_USES = 1_000
_MOST_LINES = 5
"""The number of entry points, and of unresolved lines, of which each has a note."""
_MOST_REQUESTS = 20
_LONGEST_LINE = 400


@define(eq=False)
class UsageNotes:
    """Collects the notes of one answer."""

    notes: list[protocol.UsageNote] = field(factory=list)

    def entered(self, searched: Searched, places: Sequence[Place], edges: Sequence[Edge]) -> list[Edge]:
        """Note the entry points that definitions of a folder are. Return the requests to their routes."""
        points = EntryPoints(searched.reader)
        found: list[Edge] = []
        for place in places[:_MOST_PLACES]:
            every = points.of(place, (each for each in edges if each.target == place))
            for point in every[:_MOST_LINES]:
                kind = UsageKind(point.entry.kind.value)
                self._add(searched, kind, _said(point), point.path, point.line, point.text)
                if point.entry.kind is EntryKind.ROUTE:
                    found += islice(_requests(searched, place, point), _MOST_REQUESTS)
        return found

    def missed(self, searched: Searched, places: Sequence[Place], edges: Sequence[Edge]) -> None:
        """Note what is known of definitions of a folder that no reference likely means, unless they are entry
        points."""
        if any(each.kind is not UsageKind.REGISTERED for each in self.notes):
            return
        first = places[0]
        uses = searched.graph.other_uses(places, _MOST_USES).found
        known = {(each.path, each.line) for each in (*edges, *uses)}
        known.update((each.path, each.line) for each in searched.graph.named(first.name))
        if imports := [each for each in uses if each.kind is ReferenceKind.IMPORT]:
            files = counted(len({each.path for each in imports}), "file")
            text = f"imported, or exported again, in {files}"
            self._add(searched, UsageKind.IMPORTED, text, imports[0].path, imports[0].line)
        mentions, is_all = _mentions(searched, first.name, known, _family(first.path))
        is_used = any(each.is_code for each in mentions)
        base = "" if is_used or self.notes else searched.graph.base_elsewhere(first)
        if mentions:
            most = 1 if edges else _MOST_LINES
            self._add_mentions(searched, mentions, "further line", most, is_all=is_all)
        if base:
            owner = first.qualified.rpartition(".")[0]
            text = f"`{owner}` extends `{base}`, which is not defined here and may call it"
            self._add(searched, UsageKind.INHERITED, text, first.path, first.line)
        if not mentions and not edges and not self.notes:
            is_public = _is_public(first, searched)
            text = "no other line of this folder contains the name" + (
                "; it is public, so code outside may use it" if is_public else ""
            )
            self._add(searched, UsageKind.PUBLIC if is_public else UsageKind.UNUSED, text)

    def undefined(self, searched: Searched, name: str) -> None:
        """Note the lines that contain a name which nothing defines, such as that of a field."""
        mentions, is_all = _mentions(searched, name, set())
        if mentions:
            self._add_mentions(searched, mentions, "line", _MOST_LINES, is_all=is_all)

    def _add_mentions(
        self, searched: Searched, mentions: Sequence[_Mention], noun: str, most: int, *, is_all: bool
    ) -> None:
        count = counted(len(mentions), noun) if is_all else f"more than {len(mentions):,} {noun}s"
        verb = "contains" if len(mentions) == 1 else "contain"
        what = "unresolved" if mentions[0].is_code else "in comments, texts or documents"
        text = f"{count} {verb} the name, {what}; the first"
        of_code = [each for each in mentions if each.is_code]
        for each in of_code[:most] or mentions[:1]:
            self._add(searched, UsageKind.UNRESOLVED, text, each.path, each.line, each.text)
            text = ""

    def _add(
        self, searched: Searched, kind: UsageKind, text: str, path: str = "", line: int = 0, code: str = ""
    ) -> None:
        if not path:
            self.notes.append(protocol.UsageNote(kind, text))
            return
        uri, folder = searched.folder.uri_of(path), searched.folder.uri
        place = protocol.whole_lines(line, line + 1)
        note = protocol.UsageNote(kind, text, path, uri, folder, place, code.strip()[:_LONGEST_LINE])
        if note not in self.notes:  # A table may mean each of several definitions.
            self.notes.append(note)


def _said(point: EntryPoint) -> str:
    entry = point.entry
    if entry.kind is EntryKind.ROUTE:
        return " ".join(filter(None, ("route", entry.method, entry.path or "/")))
    if entry.kind is EntryKind.REGISTERED:
        return f"registered by `{point.text}`, and may be called from there"
    return f"{entry.kind.value}, by `{point.text}`" if point.text else entry.kind.value


def _requests(searched: Searched, place: Place, point: EntryPoint) -> Iterator[Edge]:
    route = " ".join(filter(None, (point.entry.method, point.entry.path)))
    found = requests(searched.reader, point.entry)
    stored = searched.reader.chunks({each.chunk for each in found})
    for each in found:
        path = stored[each.chunk].path
        if path == point.path and point.line <= each.line <= max(point.line, place.line):
            continue  # This is the route itself.
        yield Edge(
            path, each.line, each.character, each.text, ReferenceKind.REQUEST,
            searched.graph.around(path, each.line), place, each.confidence, f"requests {route}",
        )  # fmt: skip


@frozen
class _Mention:
    path: str
    line: int
    text: str
    is_code: bool
    is_call: bool
    is_own_language: bool

    @property
    def order(self) -> tuple[bool, bool, bool, str, int]:
        return not self.is_code, not self.is_own_language, not self.is_call, self.path, self.line


def _family(path: str) -> str:
    return facts_of(detect_language(path)).family


def _mentions(
    searched: Searched, name: str, known: set[tuple[str, int]], family: str = ""
) -> tuple[list[_Mention], bool]:
    """Return the lines that contain the name as a word, without `known` ones, calls in code of the family
    first; and whether these are all."""
    reader = searched.reader
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])(\s*\(|[\"']\s*(?:=>|:))?")
    ids = reader.proposed([Literal(name, case=True, word=True)], ChunkFilter()).tolist()
    found = []
    for stored in reader.chunks(ids[:_MOST_CHUNKS]).values():
        symbol = ".".join(filter(None, (stored.chunk.parent, stored.chunk.symbol)))
        for row, line in enumerate(stored.chunk.text.split("\n")):
            match = word.search(line) if name in line else None
            place = stored.path, stored.chunk.start_line + row
            if match is not None and place not in known:
                after = match[1] or ""
                is_code = is_of_program(stored.path, symbol, line) and after[:1] not in ("'", '"')
                is_own = _family(stored.path) == family
                found.append(_Mention(*place, line, is_code, bool(after), is_own))
    return sorted(set(found), key=attrgetter("order")), len(ids) <= _MOST_CHUNKS


_EXPORTS = {
    "script": r"\bexports?\b", "rust": r"\bpub\b", "csharp": r"\b(?:public|protected)\b",
    "java": r"\b(?:public|protected)\b", "swift": r"\b(?:public|open)\b",
    "solidity": r"\b(?:public|external)\b",
}  # fmt: skip
"""By family, the words with which a definition is for code outside; in others, all but hidden ones are."""
_HIDDEN = re.compile(r"\b(?:private|fileprivate|internal|static|defp|local)\b")


def _is_public(place: Place, searched: Searched) -> bool:
    """Return whether code outside of the folder can use the definition, as far as its head says."""
    language = facts_of(detect_language(place.path))
    head = searched.reader.between(place.path, place.line, place.line + 1)
    line = next((each.chunk.text.split("\n")[place.line - each.chunk.start_line] for each in head), "")
    if language.name == "go":
        return place.name[:1].isupper()
    if exports := _EXPORTS.get(language.family):
        return bool(re.search(exports, line))
    return not place.name.startswith("_") and not _HIDDEN.search(line)
