"""The kinds of chunks, apart from the messages, because indexing does not need those: making their classes
takes 20 to 50 ms."""

from __future__ import annotations

import enum


class ChunkType(enum.StrEnum):
    """The kind of content of a chunk; requests can filter by it."""

    PROSE = "prose"
    CODE = "code"
    API = "api"
    CMD = "cmd"
    CONFIG = "config"
