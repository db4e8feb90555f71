"""Caches how many rows of a keyword table match a word.

FTS5 counts by walking all matches, which takes 2 ms for a word in 20,000 chunks. So each word is counted
once, up to a bound, and the count is reused until the table has grown or shrunk by a tenth: a query plan
needs no exact number. Counts of zero expire with each change of the index, because a plan may drop absent
words.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from attrs import define, field

from cairn.index.reader.connection import ConnectedReader, IndexMemory
from cairn.index.reader.records import KeywordCounts
from cairn.index.store.deadline import Cancelled

_MAX_WORDS = 20_000
"""The maximum number of words whose counts are cached. They take 2 MB."""
_DRIFT = 0.1


@define
class _Counts:
    generation: int = -1
    rows: int = 0
    rows_then: int = 0
    """The number of rows when the first of `counts` was counted."""
    bound: int = 0
    counts: dict[str, int] = field(factory=dict)


_CACHES: WeakKeyDictionary[IndexMemory, dict[str, _Counts]] = WeakKeyDictionary()


def count_rows(
    reader: ConnectedReader, table: str, expressions: Iterable[str], bound: int, cancelled: Cancelled
) -> KeywordCounts:
    """Return the number of rows of `table` that match each FTS5 expression. Counting stops at `bound`."""
    found: dict[str, int] = {}
    with reader.reading(cancelled) as db:
        generation = int(db.execute("SELECT value FROM meta WHERE key = 'generation'").get or 0)
        cache = _CACHES.setdefault(reader.memory, {}).setdefault(table, _Counts())
        if generation != cache.generation:
            cache.rows = int(db.execute(f"SELECT count(*) FROM {table}_docsize").get)
            counted = cache.counts.copy()  # Other threads may add counts meanwhile.
            cache.counts = {expression: rows for expression, rows in counted.items() if rows}
            cache.generation = generation
        stale = abs(cache.rows - cache.rows_then) > _DRIFT * cache.rows_then or cache.bound != bound
        if stale or len(cache.counts) > _MAX_WORDS:
            cache.rows_then, cache.bound, cache.counts = cache.rows, bound, {}
        counts = cache.counts
        bounded = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        for expression in expressions:
            if expression not in counts:
                counts[expression] = int(db.execute(bounded, (expression, bound)).get)
            found[expression] = counts[expression]
    return KeywordCounts(cache.rows, found)
