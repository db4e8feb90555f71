"""Small workspaces of which all callers of a function are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.index.references.edges import Edges
from cairn.index.references.graph import ReferenceGraph

SURE = 0.5
Open = Callable[[Mapping[str, str]], IndexedFolder]


def graph(folder: IndexedFolder) -> ReferenceGraph:
    return ReferenceGraph(folder.reader)


def callers(folder: IndexedFolder, symbol: str, path: str = "") -> Edges:
    references = graph(folder)
    places = [place for place in references.named(symbol) if not path or place.path == path]
    assert places, f"nothing is called {symbol}"
    return references.callers(places[:1], 100)


def functions_of(edges: Edges, least: float = SURE) -> set[str]:
    """Return the calling functions as `path function`."""
    return {
        f"{each.path} {each.enclosing.qualified if each.enclosing else '-'}"
        for each in edges.found
        if each.confidence >= least
    }


@frozen
class Workspace:
    """Files in which only the given functions call a symbol."""

    symbol: str
    files: Mapping[str, str]
    callers: set[str]
