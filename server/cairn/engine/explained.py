"""Finds the documents that explain the name at a position, and the files that change with a file."""

from __future__ import annotations

from pathlib import PurePosixPath

from attrs import frozen

from cairn.engine.folders import places_of_uri
from cairn.engine.request import Request
from cairn.index.queries.relations import changed_together
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.explanations import Explanation, explaining

_MOST_MEANINGS = 3
"""The maximum number of definitions of the name. With more, each document would explain only one of many."""
_MOST = 2
_SURE = 0.5
"""The minimum strength of a passage that explains a definition: its text marks the name as code once, or its
code blocks use it twice."""
_MOST_TOGETHER = 2
_OFTEN = 0.3
"""The minimum cosine of the commits of files that change together."""


@frozen
class Explained:
    """What a document says about a definition."""

    path: str
    uri: str
    line: int
    """The 0-based line of the sentence."""
    sentence: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


def surely_explaining(reader: IndexReader, place: Place, graph: ReferenceGraph) -> list[Explanation]:
    """Return up to two passages that surely explain a definition, the best first."""
    return [each for each in explaining(reader, place, _MOST, graph) if each.strength >= _SURE]


def often_together(reader: IndexReader, path: str) -> list[str]:
    """Return up to two files that often change in the same commits as a file, the most often first."""
    often = {each: value for each, value in changed_together(reader, path).items() if value >= _OFTEN}
    return sorted(reader.contents(often), key=lambda each: (-often[each], each))[:_MOST_TOGETHER]


def changing_with(request: Request, uri: str) -> list[Explained]:
    """Return the files that often change with a file, as places without sentences."""
    for folder, path in places_of_uri(request.folders, uri):
        reader = request.readers[request.folders.index(folder)]
        if found := often_together(reader, path):
            return [Explained(each, folder.uri_of(each), 0, "") for each in found]
    return []


def explained(request: Request, uri: str, line: int, character: int) -> list[Explained]:
    """Return the best explanations of the name at a position (0-based, in UTF-16); none if it has too many
    meanings."""
    for folder, path in places_of_uri(request.folders, uri):
        reader = request.readers[request.folders.index(folder)]
        graph = ReferenceGraph(reader)
        meanings = graph.at(path, line, character)
        if meanings:
            few = meanings if len(meanings) <= _MOST_MEANINGS else []
            found = [each for place in few for each in surely_explaining(reader, place, graph)]
            explanations = [
                Explained(each.stored.path, folder.uri_of(each.stored.path), each.line, each.sentence)
                for each in found
            ]
            return list(dict.fromkeys(explanations))[:_MOST]
    return []
