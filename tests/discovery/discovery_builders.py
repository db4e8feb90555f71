"""Small chunks, bullets and collections for the tests of the stages, and a searcher over a fixed list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from cairn.protocol import whole_lines
from cairn.protocol.discovery_messages import Bullet, ChunkMetadata, CollectionRef, ScoredChunk
from cairn.retrieval.windows import Passage
from cairn.settings.discovery import BulletCategory


def collection(name: str, **fields: Any) -> CollectionRef:
    return CollectionRef(name, **fields)


def chunk(
    content: str, score: float = 0.8, path: str = "docs/guide.md", index: int = 0, **fields: Any
) -> ScoredChunk:
    """Return a chunk that starts on line 10 of its file; `fields` are the metadata's, or `collection`."""
    collection_name = fields.pop("collection", "demo-docs")
    fields.setdefault("file_extension", path.rpartition(".")[2])
    fields.setdefault("line_range", (10, 10 + len(re.split(r"\r\n|\r|\n", content))))
    metadata = ChunkMetadata(path, index, **fields)
    return ScoredChunk(collection_name, f"{collection_name}/{path}#{index}", content, score, metadata)


def bullet(
    text: str = "Cairn indexes a workspace.",
    score: float = 0.5,
    lines: tuple[int, int] | None = None,
    **fields: Any,
) -> Bullet:
    values: dict[str, Any] = {
        "citation": "",
        "source_id": "demo-docs#0",
        "collection": "demo-docs",
        "path": "README.md",
        "uri": "file:///demo/README.md",
        "range": whole_lines(0, 0),
        "category": BulletCategory.OTHER,
    }
    return Bullet(text=text, score=score, **(values | fields)).citing(lines)


_WORDS = (
    "harbour ships berth pilot tide mooring cargo crane quay anchor moves waits opens guards keeps".split()
)
_SENTENCES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=18).map(
    lambda words: " ".join(words).capitalize() + "."
)
CHUNKS = st.lists(
    st.tuples(
        st.lists(_SENTENCES, min_size=1, max_size=5).map(" ".join),
        st.floats(0, 1),
        st.sampled_from(["README.md", "docs/readme.rst", "docs/a.md", "docs/b.md", "src/c.py"]),
        st.sampled_from(["demo-docs", "demo-source"]),
    ),
    max_size=12,
).map(
    lambda parts: [
        chunk(text, score, path, index=index, collection=name)
        for index, (text, score, path, name) in enumerate(parts)
    ]
)
"""Any chunks of two collections, with different indices."""


@attrs.define
class FixedSearcher:
    """Answers every query with the chunks of the given collections, and records its queries."""

    chunks: Sequence[ScoredChunk]
    ranked: Sequence[Passage] = ()
    """The passages, best first."""
    about: Sequence[str] = ()
    """The collections of the package that every question is about."""
    searches: list[tuple[tuple[str, ...], tuple[str, ...], int]] = attrs.field(factory=list)

    def search(self, queries: Sequence[str], collections: Sequence[str], k: int) -> list[list[ScoredChunk]]:
        self.searches.append((tuple(queries), tuple(collections), k))
        hits = sorted((c for c in self.chunks if c.collection in collections), key=lambda c: -c.score)
        return [hits[:k] for _ in queries]

    def package_relevance(self, query: str, collections: Sequence[str]) -> Mapping[str, float]:
        return {name: 0.5 for name in collections if name in self.about}

    def neighbours(self, chunks: Sequence[ScoredChunk], window: int) -> list[list[ScoredChunk]]:
        return [self._around(chunk.metadata, window) for chunk in chunks]

    def vectors(self, chunks: Sequence[ScoredChunk]) -> NDArray[np.float32] | None:
        return None

    def _around(self, place: ChunkMetadata, window: int) -> list[ScoredChunk]:
        around = [
            attrs.evolve(other, score=0.0)
            for other in self.chunks
            if other.metadata.file_path == place.file_path
            and 0 < abs(other.metadata.chunk_index - place.chunk_index) <= window
        ]
        return sorted(around, key=lambda other: other.metadata.chunk_index)

    def passages(self) -> Sequence[Passage]:
        return self.ranked
