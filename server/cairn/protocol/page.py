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
