"""The best passages show how well a question is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from attrs import frozen

from cairn.chunking.model import Chunk
from cairn.embedding.static import StaticTable
from cairn.index.reader.records import StoredChunk
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.passages.gathering import Windows
from cairn.retrieval.passages.strength import Strength, strength
from cairn.retrieval.query import understand
from cairn.retrieval.reading import read_chunk

TABLE = cast(StaticTable, object())


@frozen
class File:
    path: str
    text: str


def strength_of(
    question: str, files: Sequence[File], scores: Sequence[float], table: StaticTable | None = TABLE
) -> Strength:
    """Return the strength of files with one window each."""
    chunks = [
        StoredChunk(number, file.path, "docs", "docs", Chunk(0, 0, 1, file.text, ChunkType.PROSE), "")
        for number, file in enumerate(files)
    ]
    read = [read_chunk(chunk, None) for chunk in chunks]
    windows = Windows(
        understand(question),
        table,
        chunks,
        [0] * len(files),
        read,
        np.arange(len(files)),
        [each.spans[0] for each in read],
        [each.texts[0] for each in read],
        (),
        (),
        {},
    )
    return strength(windows, np.array(scores), np.array(scores) / 10)


def test_the_best_three_passages_count() -> None:
    files = [File(f"{n}.md", "tide") for n in range(5)]
    assert strength_of("tide tables", files, [1, 5, 4, 3, 2]).similarity == pytest.approx(0.4)
    assert strength_of("tide tables", files, [1, 5, 4, 3, 2], table=None).similarity is None


def test_terms_are_collected_by_file() -> None:
    files = [File("a.md", "the tide"), File("b.md", "tables"), File("a.md", "of the harbour")]
    found = strength_of("tide tables harbour", files, [3, 2, 1])
    assert found.terms_by_file == (frozenset({0, 2}), frozenset({1}))


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Which option writes tide tables as YAML?", 1),
        ("Which option keeps Redis connections to the harbour?", 1),
        ("Which option speaks HTTP2 to Kafka?", 2),
        ("Which option writes Tide tables?", 0),
        ("Where do I find moorings? Kept in what?", 0),
        ("which option writes yaml", 0),
        ("What do I have to change to add YAML as another format of the tide tables?", 0),
        ("It fails with: no harbour of the name PIER7 is known. Where is that checked?", 0),
    ],
)
def test_names_without_a_passage_are_counted(question: str, missing: int) -> None:
    files = [File("a.md", "the tide tables of the harbour")]
    assert strength_of(question, files, [1]).missing_names == missing
