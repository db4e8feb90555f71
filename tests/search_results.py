"""A search result for tests of its users."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from cairn import protocol
from cairn.protocol.search_messages import whole_lines

_MOORING = protocol.SearchResult(
    path="src/berths.py",
    folder="file:///harbour",
    uri="file:///harbour/src/berths.py",
    range=whole_lines(11, 20),
    selection_range=whole_lines(11, 12),
    collection="harbour-source",
    title="Berth",
    header_path="Berth > moor_ship",
    symbol="moor_ship",
    symbol_kind="method",
    type=protocol.ChunkType.CODE,
    language="python",
    score=1.0,
    source="hybrid",
    matched_terms=("moor",),
    reasons=("defines the symbol",),
    snippet="def moor_ship(self):\n    pass\n",
    context=protocol.Context(),
    content_hash="0" * 32,
)


def search_result(**fields: Any) -> protocol.SearchResult:
    """Return a result for a method at lines 12 to 20 of a file, changed by `fields`."""
    return evolve(_MOORING, **fields)
