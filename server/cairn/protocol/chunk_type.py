"""The kinds of content, by which requests filter and answers tell what they show."""

from __future__ import annotations

import enum


class ChunkType(enum.StrEnum):
    """The kind of content (S4 2.1), used as a strict filter."""

    PROSE = "prose"
    CODE = "code"
    API = "api"
    CMD = "cmd"
    CONFIG = "config"
