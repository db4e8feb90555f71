"""Name places for further reading within a token budget, each with its signature or the first words of its
comment, at its lines in the current text of its file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from cairn.discovery.excerpts import LinesNow, nearest
from cairn.discovery.layout import place_text
from cairn.embedding.shared import TokenCounter
from cairn.index.queries.file_queries import shortest_ends
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.protocol.discovery_messages import NamedPlace
from cairn.protocol.search_messages import whole_lines
from cairn.retrieval.elsewhere import NamedLines
from cairn.text.uris import file_uri
from cairn.text.verbatim import lines_of

_OPENS = re.compile(r"(?:\s+do|[\s{:;,(=])+\Z")
"""Matches what begins a body, a list of parameters or a value on the next lines."""
_SAYS = re.compile(r"[\w(]")
"""Matches what follows a name and tells something: not the bracket that closes the head of a table."""
_MOST_CHARACTERS = 40
"""The length of the signature or comment of a place."""


@frozen
class PlaceNamer:
    folders: Sequence[str]
    """The URIs of the folders of `readers`, in the same order."""
    readers: Sequence[IndexReader]
    lines_now: LinesNow
    count_tokens: TokenCounter

    def name(self, places: Sequence[NamedLines], budget: int) -> list[NamedPlace]:
        """Return the first places that fit into `budget` tokens, grouped by file. Places that are no longer
        in their files are left out."""
        found: dict[str, list[NamedPlace]] = {}
        used = 0
        short_paths = shortest_ends(self.readers, {each.lines.path for each in places})
        for each in places:
            place = self._described(each, short_paths[each.lines.path])
            if place is None:
                continue
            of_file = found.get(place.uri, [])
            used += self.count_tokens(f"  {place_text(place, *of_file[-1:])}\n")
            used += self.count_tokens(f"{place.short_path}:") * (not of_file)
            if used > budget:
                break
            found.setdefault(place.uri, []).append(place)
        return [
            place
            for of_file in found.values()
            for place in sorted(of_file, key=lambda each: each.range.start.line)
        ]

    def _described(self, named: NamedLines, short_path: str) -> NamedPlace | None:
        where = named.lines
        uri = file_uri(self.folders[where.folder], where.path)
        current = self.lines_now(uri)
        chunk = next(iter(self.readers[where.folder].between(where.path, named.line, named.line + 1)), None)
        if current is None or chunk is None:
            return None
        head = lines_of(chunk.chunk.text)[max(0, named.line - chunk.chunk.start_line)].strip()
        at = nearest([head], named.line, current)
        if at is None:
            return None
        first, last = (line + at - named.line for line in (where.first, where.last))
        return NamedPlace(
            path=where.path,
            uri=uri,
            folder=self.folders[where.folder],
            range=whole_lines(max(0, first), min(last, len(current))),
            title=named.title,
            about=_about(named, head, chunk),
            relation=named.relation,
            short_path=short_path,
        )


def _about(named: NamedLines, head: str, stored: StoredChunk) -> str:
    """Return the first words of the comment, or else what follows the name in its line."""
    chunk = stored.chunk
    if named.line < named.lines.first:
        return ", the rest"
    if chunk.symbol == named.name and chunk.comment:
        comment = " ".join(chunk.comment.split())
        # In Go, the name is the first word of the comment.
        repeated = comment.startswith(f"{named.name} ")
        return _cut(comment.removeprefix(named.name) if repeated else f": {comment}")
    rest = _OPENS.sub("", head.partition(named.name)[2])
    return _cut(rest) if _SAYS.search(rest) else ""


def _cut(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS].rpartition(' ')[0] or text[:_MOST_CHARACTERS]}…"
