"""`cairn/reindex`, `cairn/pause` and `cairn/resume`."""

from __future__ import annotations

from attrs import frozen


@frozen
class ReindexParams:
    path: str | None = None
    """A file or folder relative to its workspace folder; everything when absent."""
    folder: str = ""
    """URI of the workspace folder; all when absent."""


@frozen
class ReindexAnswer:
    scheduled: bool


@frozen
class PausedAnswer:
    """To `cairn/pause` and `cairn/resume`."""

    paused: bool
