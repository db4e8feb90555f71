"""`cairn/fetchPage`."""

from __future__ import annotations

from attrs import frozen

from cairn.protocol.chunk_type import ChunkType
from cairn.protocol.places import Range


@frozen
class FetchPageParams:
    path: str
    folder: str = ""
    """The URI of the workspace folder. It is needed only if two folders have the path."""
    now: bool = False
    """Whether to return the current text, from an open editor or from disk, instead of the indexed text. The
    path may then also be absolute, begin with the folder's name, or be the end of a path."""


@frozen
class PageChunk:
    range: Range
    title: str
    type: ChunkType
    symbol: str


@frozen
class PageAnswer:
    text: str
    language: str
    chunks: tuple[PageChunk, ...]
    path: str = ""
    """The path relative to the workspace folder, with `/`."""
    folder: str = ""
    """The URI of the workspace folder."""
    version: str = "indexed"
    """`disk` if the request had `now` and the file could be read, otherwise `indexed`. `chunks` always
    describes the indexed text."""
    changed: bool = False
    """Whether the current text differs from the indexed text. Without `now` it is always false."""
