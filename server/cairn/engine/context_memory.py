"""What contexts are made of that the next one may need again: related passages, core concepts, counts, questions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from attrs import field, frozen

from cairn.chunking.model import content_key
from cairn.operations.answer_cache import AnswerCache

if TYPE_CHECKING:
    from cairn.context.model import Item
    from cairn.context.passages import Grouped
    from cairn.index.reader.records import StoredChunk

_MOST_PAGES = 32
_MOST_PAGE_CHARACTERS = 4_000_000
_MOST_COUNTS = 5_000
"""Each takes some 150 bytes."""
_SHORT = 64
"""Characters up to which a text is its own key."""
_MOST_RECENT = 5
"""S2's last three to five messages."""


class QueryHistory:
    """The last few different questions, in memory alone: what a person looks for says what they are doing.

    Methods may be called from several threads at once.
    """

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
            now, before = query.lower(), self._queries[-1].lower() if self._queries else None
            if before is not None and (now.startswith(before) or before.startswith(now)):
                self._queries.pop()
            others = [known for known in self._queries if known.lower() != now]
            self._queries = [*others, query][-_MOST_RECENT:]

    def latest(self) -> tuple[str, ...]:
        """The questions, the latest first."""
        with self._lock:
            return tuple(reversed(self._queries))


@frozen
class ContextMemory:
    """What one engine keeps in memory for contexts. Whoever keeps something here makes the key of all that it depends on."""

    recent: QueryHistory = field(factory=QueryHistory)
    counts: AnswerCache[int] = field(factory=lambda: AnswerCache(_MOST_COUNTS))
    """Tokens by text: the same passages are shown again and again while a cursor moves."""
    passages: AnswerCache[tuple[Grouped, ...]] = field(factory=AnswerCache)
    concepts: AnswerCache[tuple[Item, ...]] = field(factory=AnswerCache)
    readmes: AnswerCache[list[str]] = field(factory=AnswerCache)
    """Paths of a folder's READMEs."""
    pages: AnswerCache[tuple[int, str, list[StoredChunk]]] = field(
        factory=lambda: AnswerCache(_MOST_PAGES, _MOST_PAGE_CHARACTERS)
    )
    """A document's folder, its path there and its chunks."""

    def counting(self, tokenizer: Hashable, count: Callable[[str], int]) -> Callable[[str], int]:
        """`count`, asked once for each text; `tokenizer` tells one way to count from another."""

        def counted(text: str) -> int:
            key = (tokenizer, text if len(text) <= _SHORT else content_key(text))
            return self.counts.kept(key, lambda: count(text), lambda _: 0)

        return counted

    def clear(self) -> None:
        """Forget what indexes were read for; a folder has left."""
        for kept in (self.passages, self.concepts, self.readmes, self.pages):
            kept.clear()
