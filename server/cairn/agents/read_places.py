"""Finds what the places mean that `read` is asked for: paths, ends of paths, names, or a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH
from cairn.agents.place_text import Place, lines_text, numbers_text, place_named
from cairn.agents.tool_call import ToolCall
from cairn.engine.file_outline import OutlineEntry, with_lead, with_short_lead
from cairn.engine.file_page import outline_of_page
from cairn.engine.scope import NAME_IN_FILE, files_ending, files_named
from cairn.errors import InvalidRequestError
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import is_beside

INDEXED, NOW = "indexed", "now"
"""The versions of a file that can be read."""
MOST_PLACES = 50
_THERE = ("left out of the index", "is a directory", "is empty, or was not read yet")
"""Texts in the engine's errors about paths that exist but are not in the index."""
_MOST_NAMESAKES = 8
_INTERFACES = frozenset({"interface", "trait", "protocol"})
_EXTENDING = frozenset({"impl", "extension"})
"""The kinds of blocks that have the name of the type that they extend."""
_MOST_ALIKE, _MOST_LINES_ALIKE = 3, 120
"""The maximum number of equally likely definitions of a name that are shown, and of their lines in all."""
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")
_MORE_LINES = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?")


@frozen
class Found:
    page: protocol.PageAnswer
    place: Place
    name: str = ""
    """The name and kind of the definition that was asked for, with the places of others of that name."""
    note: str = ""
    """A note that says how what was asked for was understood."""

    @property
    def has_range(self) -> bool:
        """Whether certain lines were asked for, rather than a file or a definition."""
        return bool(self.place.first) and not self.name


def places_of(call: ToolCall, every: Sequence[str]) -> list[str]:
    """Return the places, of which one text may name several: `a.py:1-4, b.py`, or `a.py:1-4,9-12`."""
    found: list[str] = []
    for given in every:
        pieces = _SEPARATOR.split(given.strip())
        words = given.split()
        if len(words) > 1 and all(place_named(word).first for word in words):
            pieces = [piece for word in words for piece in _SEPARATOR.split(word.rstrip(",;"))]
        if (
            len(pieces) == 1
            or any(len(piece.split()) != 1 or "(" in piece for piece in pieces)
            or files_named(given, call.asked.folders)
        ):
            pieces = [given]
        for piece in pieces:
            above = place_named(found[-1]).path if found else ""
            found.append(f"{above}:{piece}" if above and _MORE_LINES.fullmatch(piece) else piece)
    return list(dict.fromkeys(found))[:MOST_PLACES]


@frozen
class PlaceFinder:
    """Finds the places of one call."""

    call: ToolCall
    version: str | None
    folder: str
    """The URI of the folder to read in; "" for any."""

    def find(self, given: str) -> list[Found]:
        """Find a path, else the likeliest definitions of a name, else a passage by a question. Raise
        InvalidRequestError if all fail."""
        place = place_named(given)
        refused = None
        # The name of a file may end like line numbers.
        for each in dict.fromkeys((place, Place(given.strip()))):
            try:
                return [Found(self._page(each.path), each)]
            except InvalidRequestError as problem:
                refused = refused or problem
        if any(said in str(refused) for said in _THERE):
            raise refused or InvalidRequestError("path", "names nothing")
        is_path = bool(place.first) or "/" in given or "." in given
        if is_path and (found := self._of_that_name(place.path)):
            return [evolve(found, place=place)]
        if place.first:
            raise refused or InvalidRequestError("path", "names nothing")
        if len(given.split()) > 1:
            return [self._by_meaning(given)]
        name = given.strip().removesuffix("()")
        within = NAME_IN_FILE.fullmatch(name)
        if within and (found := self._in_file(within["path"], within["name"].replace("::", "."))):
            return [found]
        every, message = self._by_name(name)
        if every:
            return every
        if not message or "/" in given or ("." in given and not message.endswith("?")):
            raise refused or InvalidRequestError("path", message)
        raise InvalidRequestError("path", f"there is no such file. {message}")

    def _page(self, path: str, folder: str = "") -> protocol.PageAnswer:
        folder = folder or self.folder
        page: protocol.PageAnswer = self.call.request(
            "fetchPage", protocol.FetchPageParams(path, folder, now=True)
        )
        if self.version != INDEXED:
            return page
        indexed: protocol.PageAnswer = self.call.request(
            "fetchPage", protocol.FetchPageParams(page.path, page.folder)
        )
        return evolve(indexed, changed=page.changed)

    # --- by the end of a path ------------------------------------------------------------------------

    def _of_that_name(self, path: str) -> Found | None:
        """Return the likeliest of several files whose paths end so or, if there is none, the only file of
        that name in another folder; None if none is likelier than the others."""
        folders = self.call.asked.folders
        ending = files_ending(path, folders)
        files = ending or files_named(path.rpartition("/")[2], folders)
        ranked = self._ranked([(folder.uri, file) for folder, file in files])
        if not ranked or (len(ranked) > 1 and self._rank(*ranked[0]) == self._rank(*ranked[1])):
            return None
        likeliest, *others = ranked
        also = f"; {counted(len(others), 'more path ends so', 'more paths end so')}" if others else ""
        taken = f"Taken {path} as {self.call.paths.shown(*likeliest)}{also}:"
        return Found(self._page(likeliest[1], likeliest[0]), Place(path), note=taken)

    def _rank(self, folder: str, path: str) -> tuple[bool, ...]:
        """Return a key by which likelier files are smaller. A file that is beside the source, or of which the
        session has shown or named nothing, is seldom meant."""
        session = self.call.shown_before(again=False)
        return is_beside(path), not session.has(folder, path), not session.has_named(folder, path)

    def _ranked(self, files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return sorted(files, key=lambda each: self._rank(*each))

    # --- by a name -----------------------------------------------------------------------------------

    def _in_file(self, path: str, name: str) -> Found | None:
        """Return the longest definition of a name in the likeliest file that defines it, of those whose paths
        end so; None if there is no such file. Raise InvalidRequestError if none defines the name."""
        folders = self.call.asked.folders
        files = files_named(path, folders) or files_ending(path, folders)
        pages = [
            self._page(file, folder) for folder, file in self._ranked([(each.uri, at) for each, at in files])
        ]
        for page in pages:
            if defined := _defined_in(self.call, page, name):
                return _whole(page, defined)
        if pages:
            raise InvalidRequestError("path", f"{path} defines no {name!r}")
        return None

    def _by_name(self, name: str) -> tuple[list[Found], str]:
        """Return the likeliest definitions of a name, or else why there is none."""
        every, message = self._definitions(name)
        if every:
            return self._likeliest(every), ""
        last = name.replace("::", ".").rpartition(".")[2]
        # References are not read in all languages, but names are.
        wanted = protocol.SearchParams(query=name[:1_000], limit=_MOST_NAMESAKES, context=0)
        answer: protocol.SearchAnswer = self.call.request("search", wanted)
        named = [each for each in answer.results if each.symbol and each.symbol in (name, last)]
        for number, result in enumerate(named):
            page = self._page(result.path, result.folder)
            if defined := _defined_in(self.call, page, name):
                return [_whole(page, defined, others=self._places(named[number + 1 :]))], ""
        return [], message

    def _places(self, every: Sequence[protocol.SymbolPlace | protocol.SearchResult]) -> list[str]:
        """Return the places outside of tests and the like, and how many are in these."""
        shown = self.call.paths.shown
        own = [each for each in every if not is_beside(each.path)]
        left = f"{len(every) - len(own)} in tests or documents" if len(own) < len(every) else ""
        places = [f"{shown(each.folder, each.path)}:{lines_text(each.range)}" for each in own]
        more = f"{len(own) - _MOST_NAMESAKES} more" if len(own) > _MOST_NAMESAKES else ""
        return [*places[:_MOST_NAMESAKES], *filter(None, (more, left))]

    def _definitions(self, name: str) -> tuple[Sequence[protocol.SymbolPlace], str]:
        params = protocol.ReferencesParams(symbol=name[:1_000], limit=0)
        answer: protocol.ReferencesAnswer = self.call.request("references", params)
        return answer.definitions, answer.message

    def _likeliest(self, definitions: Sequence[protocol.SymbolPlace]) -> list[Found]:
        """Return the likeliest definition of a name with its decorators and comment, and name the others. Of
        several equally likely ones, return as many as are short."""
        # Those of few lines often only call another.
        ranked = sorted(
            definitions,
            key=lambda each: (
                self._rank(each.folder, each.path),
                each.range.start.line - each.range.end.line,
            ),
        )
        best = self._rank(ranked[0].folder, ranked[0].path)
        alike = [each for each in ranked[:_MOST_ALIKE] if self._rank(each.folder, each.path) == best]
        while len(alike) > 1 and sum(map(_length, alike)) > _MOST_LINES_ALIKE:
            alike.pop()
        more = self._places(ranked[len(alike) :])
        found = []
        for number, each in enumerate(alike):
            page = self._page(each.path, each.folder)
            place, comment = _with_lead(page, each.range.start.line, each.range.end.line)
            name = _titled(each.symbol, each.kind, () if number else more) + comment
            name += self._implementations(each)
            found.append(Found(page, place, name))
        return found

    def _implementations(self, defined: protocol.SymbolPlace) -> str:
        """Return where an interface is implemented, outside of tests; "" for anything else."""
        if defined.kind not in _INTERFACES:
            return ""
        place = f"{self.call.paths.shown(defined.folder, defined.path)}:{defined.range.start.line + 1}"
        params = protocol.ReferencesParams(
            symbol=place, direction=protocol.ReferenceDirection.IMPLEMENTATIONS, limit=_MOST_NAMESAKES
        )
        answer: protocol.ReferencesAnswer = self.call.request("references", params)
        types = [
            f"{self.call.paths.shown(each.folder, each.path)}:{each.enclosing.symbol}"
            for each in answer.references
            if each.enclosing and not is_beside(each.path)
        ]
        return f"; implemented by {', '.join(types)}" if types else ""

    def _by_meaning(self, given: str) -> Found:
        """Return the best passage for a question. Raise InvalidRequestError if there is none."""
        params = protocol.SearchParams(query=given, limit=1, context=0, passages=1)
        answer: protocol.SearchAnswer = self.call.request("search", params)
        if not answer.results or answer.verdict.action == NO_MATCH:
            problem = (
                f"{given[:100]!r} is not a path, a name or a question about something indexed; "
                "give a path as search prints it"
            )
            raise InvalidRequestError("path", problem)
        best = answer.results[0]
        name = f", {best.symbol}" if best.symbol else ""
        place = Place(best.path, best.range.start.line + 1, best.range.end.line)
        page = self._page(best.path, best.folder)
        return Found(page, place, note=f"Taken as a question; the best passage{name}:")


def _defined_in(call: ToolCall, page: protocol.PageAnswer, name: str) -> list[OutlineEntry]:
    """Return the definitions of a name in a page, the longest first."""
    every = outline_of_page(call.asked, page)
    found = [each for each in every if name in (each.name, each.qualified.replace("::", "."))]
    found = [each for each in found if each.kind not in _EXTENDING] or found
    return sorted(found, key=lambda each: each.start_line - each.end_line)


def _whole(page: protocol.PageAnswer, defined: Sequence[OutlineEntry], others: Sequence[str] = ()) -> Found:
    """Return the first of a name's definitions with its decorators and comment, and name the others of the
    page and `others`."""
    first, *further = defined
    more = [numbers_text(each.start_line + 1, each.end_line) for each in further]
    place, comment = _with_lead(page, first.start_line, first.end_line)
    return Found(page, place, _titled(first.qualified, first.kind, [*more, *others]) + comment)


def _with_lead(page: protocol.PageAnswer, start: int, end: int) -> tuple[Place, str]:
    """Return the place of a definition on the lines `[start, end)`, with its decorators and comment, and a
    note on a comment that is too long for that."""
    lines = lines_of(page.text)
    begin, first = with_short_lead(lines, start), with_lead(lines, start)
    note = f"; its comment: {numbers_text(first + 1, begin)}" if first < begin else ""
    return Place(page.path, begin + 1, end), note


def _length(definition: protocol.SymbolPlace) -> int:
    return definition.range.end.line - definition.range.start.line


def _titled(name: str, kind: str, others: Sequence[str]) -> str:
    """Return the name and kind of a definition, with the places of others of that name."""
    also = f"; others: {', '.join(others)}" if others else ""
    return f"{name} ({kind}){also}" if kind else f"{name}{also}"
