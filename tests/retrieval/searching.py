"""Searches over given readers, as the engine makes them."""

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
    query: str | Query,
    *,
    meaning: Meaning | None = None,
    settings: SearchSettings | None = None,
    limit: int = 5,
    **how: Any,
) -> list[Ranked]:
    """Return the best results; `how` goes to `rank`."""
    settings = settings or SearchSettings()
    query = understand(query) if isinstance(query, str) else query
    return rank(readers, [query], meaning, settings, **how).results(limit, settings.diversity)
