"""`cairn/fetchPage`."""

from __future__ import annotations

from attrs import frozen

from cairn.protocol.chunk_type import ChunkType
from cairn.protocol.places import Range


@frozen
class FetchPageParams:
    path: str
    folder: str = ""
    """URI of the workspace folder; needed only where two folders hold the path."""
    now: bool = False
    """Whether the text is wanted as it is on disk now, or in an editor, instead of as it was indexed. A path may then be written
    in any way: absolute, behind the folder's name, or as the end of one."""


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
    """Relative to the workspace folder, with `/`."""
    folder: str = ""
    """URI of the workspace folder."""
    version: str = "indexed"
    """`disk` where `now` was asked for and the file could be read; else `indexed`, which `chunks` is about in any case."""
    changed: bool = False
    """Whether the file on disk has another text than the index; known only where `now` was asked for."""
