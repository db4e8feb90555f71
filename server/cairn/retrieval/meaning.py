"""The comparison of queries and chunks by vectors: those of the code model, or of a user's own model.

Vectors of different models are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from cairn.embedding.shared import SharedModel, TextEncoder
from cairn.embedding.static import StaticTable
from cairn.index.store.meta import Facts, static_key

QueryVector = NDArray[np.int8]
"""A query's vector, int8[dimension]."""


@frozen
class Meaning:
    table: StaticTable
    """Compares single lines."""
    encoder: TextEncoder = field(default=Factory(lambda self: self.table, takes_self=True))
    """The model that made the vectors of the indexes."""

    def vectors(self, queries: Sequence[str]) -> list[QueryVector]:
        """Return a vector for each query. The model is called once for all."""
        return list(self.encoder.embed_queries_int8(queries))


def table_of(meaning: Meaning | None) -> StaticTable | None:
    """Return the table that compares single lines; None without one."""
    return meaning.table if meaning else None


def choose_meaning(facts: Sequence[Facts], models: SharedModel) -> Meaning | None:
    """Return the comparison that these indexes allow, or None. A model is loaded only if it is used."""
    if all(f.static_queued >= f.chunks for f in facts if f.has_static):
        return None  # There is no vector yet.
    keys = {f.static_key for f in facts if f.has_static}
    # A process of another version, or with other settings, may have written an index with another model.
    encoder = models.made_by(lambda model: keys == {static_key(model)})
    table = models.static_table()
    return Meaning(table, encoder) if encoder is not None and table is not None else None
