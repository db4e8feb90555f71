"""How many rows of a keyword table match a word.

FTS5 has no counts but by counting: 2 ms for a word in 20,000 chunks. So each is counted up to a bound, once, and kept
until the table has grown or shrunk by a tenth; a plan needs no exact number. That a word occurs nowhere is known for the very index alone:
then a plan may leave it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from attrs import define, field

from cairn.index.reader.connection import ConnectedReader, IndexMemory
from cairn.index.reader.records import KeywordCounts
from cairn.index.store.deadline import Cancelled

_MAX_KEPT = 20_000
"""Words; 2 MB."""
_DRIFT = 0.1


@define
class _Kept:
    generation: int = -1
    """The index's, when `rows` were counted."""
    rows: int = 0
    rows_then: int = 0
    """When the first of `counts` was counted."""
    bound: int = 0
    counts: dict[str, int] = field(factory=dict)


_KEPT: WeakKeyDictionary[IndexMemory, dict[str, _Kept]] = WeakKeyDictionary()


def count_rows(
    reader: ConnectedReader, table: str, expressions: Iterable[str], bound: int, cancelled: Cancelled
) -> KeywordCounts:
    """How many rows of `table` match each FTS5 expression, counted up to `bound`."""
    found: dict[str, int] = {}
    with reader.reading(cancelled) as db:
        generation = int(db.execute("SELECT value FROM meta WHERE key = 'generation'").get or 0)
        kept = _KEPT.setdefault(reader.memory, {}).setdefault(table, _Kept())
        if generation != kept.generation:
            kept.rows = int(db.execute(f"SELECT count(*) FROM {table}_docsize").get)
            counted = kept.counts.copy()  # other threads go on counting
            kept.counts = {expression: rows for expression, rows in counted.items() if rows}
            kept.generation = generation
        stale = abs(kept.rows - kept.rows_then) > _DRIFT * kept.rows_then or kept.bound != bound
        if stale or len(kept.counts) > _MAX_KEPT:
            kept.rows_then, kept.bound, kept.counts = kept.rows, bound, {}
        counts = kept.counts
        bounded = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        for expression in expressions:
            if expression not in counts:
                counts[expression] = int(db.execute(bounded, (expression, bound)).get)
            found[expression] = counts[expression]
    return KeywordCounts(kept.rows, found)
