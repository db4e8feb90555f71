"""Finds the documents that explain the name at a position."""

from __future__ import annotations

from pathlib import PurePosixPath

from attrs import frozen

from cairn.engine.folders import places_of_uri
from cairn.engine.request import Request
from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.explanations import explaining

_MOST_MEANINGS = 3
"""The maximum number of definitions of the name. With more, each document would explain only one of many."""
_MOST = 2


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


def explained(request: Request, uri: str, line: int, character: int) -> list[Explained]:
    """Return the best explanations of the name at a position (0-based, in UTF-16); none if it has too many
    meanings."""
    for folder, path in places_of_uri(request.folders, uri):
        reader = request.readers[request.folders.index(folder)]
        meanings = ReferenceGraph(reader).at(path, line, character)
        if meanings:
            few = meanings if len(meanings) <= _MOST_MEANINGS else []
            found = [each for place in few for each in explaining(reader, place, _MOST)]
            explanations = [
                Explained(each.stored.path, folder.uri_of(each.stored.path), each.line, each.sentence)
                for each in found
            ]
            return list(dict.fromkeys(explanations))[:_MOST]
    return []
