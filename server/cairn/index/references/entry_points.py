"""Finds how a function is entered from outside of the code: by a mark above it, a table, or a convention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import Edge, Place
from cairn.index.references.frameworks import (
    Entry,
    EntryKind,
    conventional,
    handed_to,
    marked,
    path_in,
    routed,
)
from cairn.workspace.collections import is_beside

_MOST_ABOVE = 40
"""The maximum number of lines above a name in which marks are looked for."""
_MOST_OF_A_CALL = 12
"""The maximum number of lines from the beginning of a call to a function that it hands over."""
_MOST_EDGES = 20
_MOST_CHUNKS = 400
_LONGEST = 160


@frozen
class EntryPoint:
    entry: Entry
    path: str
    line: int
    """The 0-based line of the mark or of the table's entry, or the definition's line."""
    text: str
    """The mark or the line as written; "" for a convention."""


@define(eq=False)
class FileLines:
    """The lines of indexed files, unsaved text included. Lines are 0-based."""

    _reader: IndexReader
    _texts: dict[str, dict[int, str]] = field(factory=dict, init=False)

    def line(self, path: str, number: int) -> str:
        known = self._texts.setdefault(path, {})
        if number not in known and number >= 0:
            for stored in self._reader.between(path, max(0, number - _MOST_ABOVE), number + 1):
                rows = re.split(r"\r\n|\r|\n", stored.chunk.text)
                known.update(
                    enumerate(
                        rows[: stored.chunk.end_line - stored.chunk.start_line], stored.chunk.start_line
                    )
                )
            known.setdefault(number, "")
        return known.get(number, "")

    def above(self, path: str, number: int, most: int) -> Iterator[tuple[int, str]]:
        """Yield the lines before a line, the nearest first."""
        for each in range(number - 1, max(-1, number - 1 - most), -1):
            yield each, self.line(path, each)


@define(eq=False)
class EntryPoints:
    """The entry points of one folder during one request."""

    _reader: IndexReader
    _lines: FileLines = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._lines = FileLines(self._reader)

    def of(self, place: Place, edges: Iterable[Edge]) -> list[EntryPoint]:
        """Return the entry points of a definition. `edges` are the references that lead to it."""
        found = [self._of_mark(place, *mark) for mark in self._marks(place.path, place.line)]
        every = [each for each in found if each is not None]
        if place.kind in CALLABLE:
            every += self._of_edges(place, edges)
        if not any(each.entry.kind is EntryKind.ROUTE for each in every):
            every += self._of_routes_by_text(place)
        if not every and (entry := conventional(place.path, place.name)) is not None:
            every.append(EntryPoint(entry, place.path, place.line, ""))
        known = [each for each in every if each.entry.kind is not EntryKind.REGISTERED]
        return list({(each.entry, each.path): each for each in reversed(known or every)}.values())[::-1]

    # --- marks ------------------------------------------------------------------------------------------

    def _marks(self, path: str, line: int) -> list[tuple[int, str]]:
        """Return the decorators, annotations and attributes above a definition, each with its line."""
        found: list[tuple[int, str]] = []
        rest: list[str] = []
        for number, text in self._lines.above(path, line, _MOST_ABOVE):
            code = text.strip()
            rest.insert(0, code)
            joined = " ".join(rest)
            if _BEGINS_MARK.match(code):
                found += [(number, each) for each in _split_marks(joined)]
                rest = []
            elif _balance(joined) >= 0 and (not code or not _BETWEEN.match(code)):
                break
            elif _BETWEEN.match(code) and _balance(joined) >= 0:
                rest = []  # a comment, or a line of modifiers
        own = self._lines.line(path, line).strip()
        return [(line, each) for each in _split_marks(own)] + found if _BEGINS_MARK.match(own) else found

    def _of_mark(self, place: Place, line: int, mark: str) -> EntryPoint | None:
        entry = marked(mark)
        if entry is None:
            return None
        if entry.kind is EntryKind.ROUTE:
            entry = evolve(entry, path=_joined(self._prefix_of_mark(place, mark), entry.path))
            entry = evolve(entry, path=entry.path.replace("[action]", place.name.lower()))
        return EntryPoint(entry, place.path, line, mark[:_LONGEST])

    def _prefix_of_mark(self, place: Place, mark: str) -> str:
        """Return the prefix of the router that a mark names (`@router.get`), or of the class around it."""
        router = re.match(r"@(\w+)\.", mark)
        if router is not None:
            return self._prefix_of_router(place.path, place.line, router[1])
        owner = place.qualified.split(".")[-2:-1]
        if not owner:
            return ""
        head = next(
            (
                number
                for number, text in self._lines.above(place.path, place.line, 2_000)
                if re.search(rf"\b(?:class|interface|object|record)\s+{re.escape(owner[0])}\b", text)
            ),
            None,
        )
        if head is None:
            return ""
        for _, each in self._marks(place.path, head):
            words = re.match(r"(?:@|#?\[)\s*([\w.]+)", each)
            if words and words[1].rpartition(".")[2] in _PREFIXES:
                name = re.sub(r"Controller\Z", "", owner[0])
                return path_in(each).replace("[controller]", name.lower())
        return ""

    # --- tables -----------------------------------------------------------------------------------------

    def _of_edges(self, place: Place, edges: Iterable[Edge]) -> Iterator[EntryPoint]:
        """Yield what calls the definition because code hands it over as a value."""
        handed = (each for each in edges if each.kind is ReferenceKind.READ and not is_beside(each.path))
        for edge in islice(handed, _MOST_EDGES):
            for number, statement in self._statements(edge.path, edge.line, edge.character):
                entry = routed(statement, place.name)
                if entry is not None:
                    prefix = self._prefix_of_statement(edge.path, number, statement)
                    entry = evolve(entry, path=_joined(prefix, entry.path))
                elif (kind := handed_to(statement)) is not None:
                    entry = Entry(kind)
                if entry is not None:
                    line = self._lines.line(edge.path, number)
                    yield EntryPoint(entry, edge.path, number, line.strip()[:_LONGEST])
                    break

    def _statements(self, path: str, line: int, character: int) -> Iterator[tuple[int, str]]:
        """Yield the code from the beginning of a line to the name at `character`, then from each line above
        that opens a bracket around it. A function without a name around the place ends the search."""
        code = self._lines.line(path, line)
        rest = _NAME.match(code, character)
        text = code[: rest.end() if rest is not None else len(code)]
        if _IN_CLOSURE.search(text):
            return
        yield line, text
        indent = _indent(code)
        for number, above in self._lines.above(path, line, _MOST_OF_A_CALL):
            text = f"{above.strip()} {text}"
            if above.strip() and _indent(above) < indent:
                indent = _indent(above)
                if _IN_CLOSURE.search(text) or _balance(text) <= 0:
                    return
                yield number, text

    def _of_routes_by_text(self, place: Place) -> Iterator[EntryPoint]:
        """Yield the routes of tables that name a method of a controller in a text: `"ferries#show"` of Rails,
        `FerryController, :show` of Phoenix, `[FerryController::class, 'show']` of Laravel."""
        owner = next(iter(reversed(place.qualified.split(".")[:-1])), "")
        stem = owner.removesuffix("Controller")
        if not owner.endswith("Controller") or not stem or place.kind not in CALLABLE:
            return
        table = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
        named = re.compile(
            rf"[\"'](?:[\w/]+/)?{table}#{place.name}[\"']|\b{owner}(?:::class)?[\"']?\s*,\s*[:\"']{place.name}\b"
            rf"|\b{owner}@{place.name}\b"
        )
        resources = re.compile(
            rf"\bresources?\b.*(?::{table}s?\b|[\"']{table}s?[\"']|\b{owner}\b)|\bapiResource\(.*\b{owner}\b"
        )
        nested = re.compile(rf"\s*(?:get|post|put|patch|delete)\s*\(?\s*[:\"']/?{place.name}\b")
        ids: set[int] = set()
        for text in (f"{table}#{place.name}", owner, f":{table}", place.name):
            proposed = self._reader.proposed([Literal(text, word=True)], ChunkFilter()).tolist()
            ids.update(proposed if len(proposed) <= _MOST_CHUNKS else ())  # Others are common words.
        found = [
            (chunk, start + row, line)
            for chunk, start, text in self._reader.chunk_texts(ids)
            if place.name in text or "resource" in text
            for row, line in enumerate(text.split("\n"))
            if named.search(line) or resources.search(line) or nested.match(line)
        ]
        paths = {
            each: stored.path for each, stored in self._reader.chunks({each[0] for each in found}).items()
        }
        for chunk, number, line in found:
            path, entry = paths[chunk], None
            prefix = self._prefix_of_statement(path, number, line)
            if named.search(line):
                entry = routed(line)
            elif resources.search(line):
                entry = _of_resources(line, place.name, table)
            elif f"/{table}/" in f"{prefix}/":
                entry = routed(re.sub(r":(\w+)", r'"\1"', line, count=1))
            if entry is not None:
                entry = evolve(entry, path=_joined(prefix, entry.path))
                yield EntryPoint(entry, path, number, line.strip()[:_LONGEST])

    # --- prefixes ---------------------------------------------------------------------------------------

    def _prefix_of_statement(self, path: str, line: int, statement: str) -> str:
        """Return the prefix of the routes around a line, and of the router that the statement calls."""
        prefixes: list[str] = []
        is_collection = "on: :collection" in statement
        indent = _indent(self._lines.line(path, line))
        for _, above in self._lines.above(path, line, 400):
            if above.strip() and _indent(above) < indent:
                indent = _indent(above)
                if match := _SCOPE.match(above):
                    of_one = "/:id" if re.match(r"\s*resources\b", above) and not is_collection else ""
                    prefixes.insert(0, next(filter(None, match.groups()), "") + of_one)
                is_collection = above.strip().startswith("collection")
                if not indent:
                    break
        prefix = ""
        for each in prefixes:
            prefix = _joined(prefix, each) if prefix else _joined(each, "")
        router = re.search(r"(\w+)\s*(?:\.|->)\s*\w+\s*\(", statement)
        return (
            _joined(prefix, self._prefix_of_router(path, line, router[1])) if router is not None else prefix
        )

    def _prefix_of_router(self, path: str, line: int, name: str, depth: int = 0) -> str:
        """Return the prefix with which a variable of the file is made a router: `r.Group("/api")`."""
        made = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(?::\s*\w+\s*)?(?::=|=)\s*(.*)")
        for number, above in self._lines.above(path, line + 1, 2_000):
            match = made.search(above)
            if match is None:
                continue
            statement = match[1] + " ".join(
                self._lines.line(path, number + more) for more in range(1, 6) if _balance(match[1]) > 0
            )
            prefix = _OF_ROUTER.search(statement)
            outer = re.match(r"(\w+)\.(?:Group|MapGroup|group|Party|Route)\b", match[1])
            around = ""
            if outer is not None and outer[1] != name and depth < 4:
                around = self._prefix_of_router(path, number, outer[1], depth + 1)
            found = next(filter(None, prefix.groups()), "") if prefix is not None else ""
            return _joined(around, found)
        return ""


_PREFIXES = frozenset(
    "RequestMapping Route Controller Path RoutePrefix RestController JsonController".split()
)
_NAME = re.compile(r"[\w$]+[!?]?")
_IN_CLOSURE = re.compile(r"=>|->\s*\{|\bfunction\b|\bfunc\s*\(|\blambda\b|\bdo\b|\bdef\b|\bfn\b|\|\w*\|")
_BEGINS_MARK = re.compile(r"@(?!(?:interface|end)\b)\w|#!?\[|\[(?:\w+:(?!:)\s*)?[A-Z]\w*")
_BETWEEN = re.compile(
    r"(?://|#(?!\[)|/?\*|--|\"\"\"|(?:export|public|private|protected|static|async|default)\b)"
)
_SCOPE = re.compile(
    r"\s*(?:(?:scope|route|prefix|path|group|nest|resources?)\b\s*\(?\s*(?:path:\s*)?[\"']([^\"']*)[\"']"
    r"|(?:namespace|scope|resources)\s*\(?\s*:(\w+)"
    r"|.*?\b(?:prefix|Route|Group|group|MapGroup|namespace)\(\s*[\"']([^\"']*)[\"'])"
)
_OF_ROUTER = re.compile(
    r"\b(?:url_prefix|prefix|root_path)\s*=\s*[\"']([^\"']*)[\"']"
    r"|\b(?:Group|MapGroup|group|Party|PathPrefix|Route)\(\s*[\"`]([^\"`]*)[\"`]"
)
_RESTFUL = {
    "index": ("GET", ""), "create": ("POST", ""), "new": ("GET", "/new"), "show": ("GET", "/:id"),
    "edit": ("GET", "/:id/edit"), "update": ("PATCH", "/:id"), "destroy": ("DELETE", "/:id"),
    "delete": ("DELETE", "/:id"), "store": ("POST", ""),
}  # fmt: skip


def _of_resources(line: str, name: str, table: str) -> Entry | None:
    """Return the route of a RESTful action in a line such as `resources :ferries, only: [:show]`."""
    if name not in _RESTFUL:
        return None
    only, without = (re.search(rf"\b{word}:?\s*(?:=>)?\s*(.*)", line) for word in ("only", "except"))
    if only and not re.search(rf"\b{name}\b", only[1]):
        return None
    if without and re.search(rf"\b{name}\b", without[1]):
        return None
    method, end = _RESTFUL[name]
    written = re.search(r"[\"'](/?[\w/:-]+)[\"']", line)
    path = written[1] if written else table
    return Entry(EntryKind.ROUTE, method, _joined(path, end))


def _split_marks(text: str) -> list[str]:
    """Return the marks in a line that begins with one: `@A @B(1) void f()` has `@A` and `@B(1)`."""
    marks, start = [], 0
    while match := _BEGINS_MARK.match(text, start):
        end, depth = match.end(), text[start : match.end()].count("[")
        while end < len(text) and (depth or text[end] in "([" or re.match(r"[\w.:]", text[end])):
            depth += (text[end] in "([{") - (text[end] in ")]}")
            end += 1
        marks.append(text[start:end])
        start = end + len(text[end:]) - len(text[end:].lstrip(" ,"))
    return marks


def _joined(prefix: str, path: str) -> str:
    if not prefix.strip("/"):
        return path
    return f"/{prefix.strip('/')}" + (f"/{path.lstrip('/')}" if path.strip("/") else "")


def _balance(code: str) -> int:
    """Return the number of brackets that are opened and not closed."""
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
