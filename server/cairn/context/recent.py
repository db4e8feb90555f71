"""The latest questions, in memory alone: what a person looks for says what they are doing."""

from __future__ import annotations

import threading

MOST_RECENT = 5
"""S2's last three to five messages."""


class RecentQueries:
    """The last few different questions. Methods may be called from several threads at once."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        """The latest at the end."""
        self._lock = threading.Lock()

    def note(self, query: str) -> None:
        """A question was answered. One that goes on typing the one before it, or takes back of it, replaces it."""
        query = " ".join(query.split())
        if not query:
            return
        with self._lock:
            if self._queries and _is_typing(self._queries[-1].lower(), query.lower()):
                self._queries.pop()
            others = [known for known in self._queries if known.lower() != query.lower()]
            self._queries = [*others, query][-MOST_RECENT:]

    def latest(self) -> tuple[str, ...]:
        """The questions, the latest first."""
        with self._lock:
            return tuple(reversed(self._queries))


def _is_typing(before: str, now: str) -> bool:
    return now.startswith(before) or before.startswith(now)
