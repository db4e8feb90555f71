"""Describes indexing progress in words, the same for editors and terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cairn.index.indexing.folder_state import Activity
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.engine.status import IndexingProgress

_IN_SECONDS_BELOW, _IN_MINUTES_BELOW = 55, 90 * 60
_LONG_ACTIVITIES = {
    Activity.CHECKING: "checking the index",
    Activity.SCANNING: "looking for files",
    Activity.STATIC: "first vectors",
    Activity.HISTORY: "reading the history",
    Activity.COUNTING: "counting imports",
    Activity.TIDYING: "tidying",
}
"""Texts for activities without a count of files or chunks."""


def describe(progress: IndexingProgress) -> str:
    """Return a text such as "1,200 of 4,969 files, 5,310 chunks"."""
    if progress.activity is Activity.READING:
        total = progress.files_total  # The total is 0 while it is unknown.
        files = f"{progress.files_done:,} of {counted(total, 'file')}, " if total else ""
        return f"{files}{counted(progress.chunks, 'chunk')}"
    if progress.activity is Activity.EMBEDDING and progress.texts_queued:
        left = f"vectors: {counted(progress.texts_queued, 'chunk')} left"
        return ", ".join([left, *pace(progress.texts_per_second, progress.seconds_left)])
    if progress.activity is Activity.PAUSED:
        return f"paused, {counted(progress.texts_queued, 'chunk')} without a vector yet"
    doing = _LONG_ACTIVITIES.get(progress.activity)
    return ", ".join(filter(None, (doing, counted(progress.chunks, "chunk"))))


def pace(per_second: float, seconds_left: float | None) -> list[str]:
    rate = [f"{per_second:.0f}/s" if per_second >= 1 else f"{60 * per_second:.0f}/min"] if per_second else []
    return rate if seconds_left is None else [*rate, duration(seconds_left)]


def duration(seconds: float) -> str:
    """Return a text such as "about 40 s", "about 3 min" or "about 2 h"."""
    if seconds < _IN_SECONDS_BELOW:
        return f"about {max(5, round(seconds / 5) * 5)} s"
    if seconds < _IN_MINUTES_BELOW:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600)} h"
