"""Caches for `cairn/context`: related passages, core concepts and recent queries."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from attrs import field, frozen

from cairn.operations.answer_cache import AnswerCache

if TYPE_CHECKING:
    from cairn.context.builder import Item
    from cairn.context.grouped_passages import Grouped
    from cairn.index.reader.records import StoredChunk

_MOST_PAGES = 32
_MOST_PAGE_CHARACTERS = 4_000_000
_MOST_RECENT = 5


class QueryHistory:
    """The last few different queries, in memory only, which hint at a person's current work. Thread-safe."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        """The queries, latest last."""
        self._lock = threading.Lock()

    def note(self, query: str) -> None:
        """Add an answered query. It replaces the one before if one of them is a prefix of the other."""
        query = " ".join(query.split())
        if not query:
            return
        with self._lock:
            now, before = query.lower(), self._queries[-1].lower() if self._queries else None
            if before is not None and (now.startswith(before) or before.startswith(now)):
                self._queries.pop()
            others = [known for known in self._queries if known.lower() != now]
            self._queries = [*others, query][-_MOST_RECENT:]

    def latest(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(reversed(self._queries))


@frozen
class ContextMemory:
    """The caches of one engine for context requests.

    A key must include everything that its value depends on.
    """

    recent: QueryHistory = field(factory=QueryHistory)
    passages: AnswerCache[tuple[Grouped, ...]] = field(factory=AnswerCache)
    concepts: AnswerCache[tuple[Item, ...]] = field(factory=AnswerCache)
    readmes: AnswerCache[list[str]] = field(factory=AnswerCache)
    pages: AnswerCache[tuple[int, str, list[StoredChunk]]] = field(
        factory=lambda: AnswerCache(_MOST_PAGES, _MOST_PAGE_CHARACTERS)
    )
    """A document's folder number, path in that folder, and chunks."""

    def clear(self) -> None:
        """Drop everything that was read from indexes. Call this when a folder was removed."""
        for cache in (self.passages, self.concepts, self.readmes, self.pages):
            cache.clear()
