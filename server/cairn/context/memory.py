"""What contexts are made of that the next one may need again: related passages, core concepts, counts, questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from cairn.context.counting import TokenCounts
from cairn.context.recent import RecentQueries
from cairn.operations.answer_cache import AnswerCache

if TYPE_CHECKING:
    from cairn.context.model import Item
    from cairn.context.passages import Grouped
    from cairn.index.store.reader import StoredChunk

_MOST_PAGES = 32
_MOST_PAGE_CHARACTERS = 4_000_000


@frozen
class ContextMemory:
    """Of one engine; lives in memory alone. Whoever keeps something here makes the key of all that it depends on."""

    recent: RecentQueries = field(factory=RecentQueries)
    counts: TokenCounts = field(factory=TokenCounts)
    passages: AnswerCache[tuple[Grouped, ...]] = field(factory=AnswerCache)
    concepts: AnswerCache[tuple[Item, ...]] = field(factory=AnswerCache)
    readmes: AnswerCache[list[str]] = field(factory=AnswerCache)
    """Paths of a folder's READMEs."""
    pages: AnswerCache[tuple[int, str, list[StoredChunk]]] = field(
        factory=lambda: AnswerCache(_MOST_PAGES, _MOST_PAGE_CHARACTERS)
    )
    """A document's folder, its path there and its chunks."""

    def clear(self) -> None:
        """Forget what indexes were read for; a folder has left."""
        for kept in (self.passages, self.concepts, self.readmes, self.pages):
            kept.clear()
