"""A search as the engine makes it, over given readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.scores import Ranked
from cairn.settings.tree import SearchSettings


def search(
    readers: Sequence[IndexReader],
    asked: str | Query,
    *,
    meaning: Meaning | None = None,
    settings: SearchSettings | None = None,
    limit: int = 5,
    **how: Any,
) -> list[Ranked]:
    """The best results; `how` is given to `rank`."""
    settings = settings or SearchSettings()
    query = understand(asked) if isinstance(asked, str) else asked
    return rank(readers, [query], meaning, settings, **how).results(limit, settings.diversity)
