"""`cairn/reindex`, `cairn/pause` and `cairn/resume`."""

from __future__ import annotations

from attrs import frozen


@frozen
class ReindexParams:
    path: str | None = None
    """A file or folder, relative to its workspace folder; if absent, everything is indexed again."""
    folder: str = ""
    """The URI of the workspace folder; if absent, all folders."""


@frozen
class ReindexAnswer:
    scheduled: bool


@frozen
class PausedAnswer:
    """The result of `cairn/pause` and `cairn/resume`."""

    paused: bool
