"""Where indexing is, for whoever wants to show it."""

from __future__ import annotations

import enum

from attrs import define, field

_SMOOTHING = 0.2
"""Share of the latest step in the rate that the time left is reckoned from."""


class Activity(enum.StrEnum):
    """What the indexing thread does."""

    CHECKING = "checking"
    """Looks whether an index whose writer died is sound."""
    SCANNING = "scanning"
    READING = "reading"
    STATIC = "static"
    """Makes static vectors."""
    HISTORY = "history"
    EMBEDDING = "embedding"
    TIDYING = "tidying"
    IDLE = "idle"
    PAUSED = "paused"


@define
class Progress:
    """Written by the indexing thread only, read by anyone."""

    activity: Activity = Activity.CHECKING
    scanning: bool = True
    """Not every present file is known to be in the index."""
    files_total: int = 0
    files_done: int = 0
    queued: int = 0
    """Chunks without a vector of the model."""
    texts_per_second: float = 0.0
    """Texts embedded, smoothed; 0 before the first."""
    skipped: dict[str, int] = field(factory=dict)
    """Files and directories left out, by rule."""
    unreadable: list[str] = field(factory=list)
    """Paths that could not be read, each with the system's reason."""

    def embedded_texts(self, count: int, seconds: float, queued: int) -> None:
        """Note that a step embedded `count` texts, none where nothing waits any more, and that `queued` chunks still wait."""
        if count:
            rate = count / max(seconds, 1e-6)
            known = self.texts_per_second
            self.texts_per_second = rate if not known else known + _SMOOTHING * (rate - known)
        self.queued = queued

    @property
    def seconds_left(self) -> float | None:
        """Deadline all vectors are made, by the latest rate; None while nobody can tell."""
        return self.queued / self.texts_per_second if self.queued and self.texts_per_second else None
