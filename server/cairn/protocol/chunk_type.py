"""The kinds of content of chunks."""

from __future__ import annotations

import enum


class ChunkType(enum.StrEnum):
    """The kind of content of a chunk; requests can filter by it."""

    PROSE = "prose"
    CODE = "code"
    API = "api"
    CMD = "cmd"
    CONFIG = "config"
