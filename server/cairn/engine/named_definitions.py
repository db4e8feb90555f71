"""Finds the definitions that a request for references names: by name, owner, file or place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import frozen

from cairn import protocol
from cairn.chunking.definition_place import definition_lines
from cairn.engine.folders import Folder, path_inside
from cairn.engine.related import indexed_page
from cairn.engine.scope import NAME_IN_FILE, files_named, nothing_there
from cairn.errors import InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.name_queries import defining, names_like
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.name_fit import Typed
from cairn.text.nearest import near

_PLACE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?::(?P<column>[0-9]{1,9}))?", re.DOTALL)
_NEAR_NAMES = 3
_NEAR_LETTERS = 3
"""The number of initial letters in which a suggestion must agree with a mistyped name."""


@frozen(eq=False)
class Searched:
    """A folder, the reader of its index, and the graph of its references."""

    folder: Folder
    reader: OverlaidReader
    graph: ReferenceGraph


Definition = tuple[Searched, Place]


def definitions_of(every: Sequence[Searched], params: protocol.ReferencesParams) -> list[Definition]:
    if params.text_document is not None and params.position is not None:
        folders, readers = [each.folder for each in every], [each.reader for each in every]
        number, path, _ = indexed_page(folders, readers, params.text_document.uri)
        searched, position = every[number], params.position
        return [(searched, place) for place in searched.graph.at(path, position.line, position.character)]
    return named(every, params.symbol or "", "symbol")


def named(every: Sequence[Searched], given: str, param: str) -> list[Definition]:
    """Return the definitions of a name or at a place. `param` names the parameter in errors."""
    symbol = given.strip()
    if place := _PLACE.fullmatch(symbol):
        return _definitions_at(every, place["path"], int(place["line"]), int(place["column"] or 0), param)
    in_file = NAME_IN_FILE.fullmatch(symbol)
    if in_file and (files := files_named(in_file["path"], [each.folder for each in every])):
        here = [(each, path) for folder, path in files for each in every if each.folder is folder]
        return [(each, place) for each, path in here for place in each.graph.named_in(path, in_file["name"])]
    return [(searched, place) for searched in every for place in searched.graph.named(symbol)]


def _definitions_at(
    every: Sequence[Searched], given: str, line: int, column: int, param: str
) -> list[Definition]:
    """Return the definitions at or around a place. Line and column are 1-based; column 0 means no column."""
    if line < 1:
        raise InvalidRequestError(param, "lines count from 1")
    pages = _with_line([(searched, _path_in(searched.folder, given)) for searched in every], line)
    if not pages:  # The path may start with the folder's name, or lack its first parts.
        folders = [searched.folder for searched in every]
        named = files_named(given, folders)
        if not named and not any((folder.root / given).exists() for folder in folders):
            raise InvalidRequestError(param, nothing_there(given, folders))
        places = [(each, path) for folder, path in named for each in every if each.folder is folder]
        pages = _with_line(places, line)
    if not pages:
        problem = f"{given!r} has no line {line} that is indexed; give a path as search results have it"
        raise InvalidRequestError(param, problem)
    found = []
    for searched, path in pages:
        at = searched.graph.at(path, line - 1, column - 1) if column else []
        around = searched.graph.around(path, line - 1)
        found += [(searched, place) for place in at or ([around] if around else [])]
    return found


def _path_in(folder: Folder, given: str) -> str | None:
    """Return the relative path in the folder; None if it leads out of it. The index need not have the file,
    since unsaved text may be that of a new file."""
    inside = path_inside(given)
    return inside.as_posix() if inside else folder.place_of(folder.root / given)


def _with_line(places: Iterable[tuple[Searched, str | None]], line: int) -> list[tuple[Searched, str]]:
    """Return the places whose indexed or unsaved text has the 1-based line."""
    return [(each, path) for each, path in places if path and each.reader.between(path, line - 1, line)]


def no_definition(every: Sequence[Searched], given: str | None) -> str:
    if given is None:
        return "No name that the workspace defines stands there."
    symbol = given.strip()
    if _PLACE.fullmatch(symbol):
        return f"No function or type stands at {symbol} or around it."
    typed = Typed.of(symbol)
    if place := _unread_definition(every, typed.text):
        return (
            f"{typed.text} is defined at {place}, but uses of names are not read in files of this kind."
            " Search for it."
        )
    beginnings = (typed.letters, typed.letters[:_NEAR_LETTERS])
    like = (
        name
        for letters in beginnings
        for searched in every
        for name in names_like(searched.reader, letters)
        if name != symbol
    )
    best = near(typed.text, like, _NEAR_NAMES)
    *others, last = best or [""]
    meant = f"{', '.join(others)} or {last}" if others else last
    return f"Nothing is called {symbol}." + (f" Did you mean {meant}?" if best else "")


def _unread_definition(every: Sequence[Searched], name: str) -> str:
    """Return the place of a definition in a file of which no references are read, for example because of its
    language; "" if there is none."""
    for searched in every:
        for found in defining(searched.reader, [name]):
            if found.name == name and not searched.graph.reads(found.path):
                stored = searched.reader.chunks({found.chunk_id}).get(found.chunk_id)
                line = definition_lines(stored.chunk, name)[0] + 1 if stored else 1
                return f"{found.path}:{line}"
    return ""
