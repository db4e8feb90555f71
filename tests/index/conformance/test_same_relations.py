"""What belongs beside a place is the same through each reader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.index.conformance.indexes import Subject, overlaid
from tests.index.conformance.workspace import TEXTS

from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.retrieval.related_chunks import ChunkRange, relate
from cairn.retrieval.related_ranking import rank_related

GUIDE = (
    "# Docking\n\nCall `dock_ship` and `Crane.lift`, or `tide_level(1)`, see [tide](../src/harbour/tide.py).\n\n"  # noqa: E501
    "```python\nfrom harbour.crane import Crane\n\nCrane().lift(3)\n```\n\nSet `timeout_seconds`.\n"
)
PATHS = ("README.md", "docs/guide.md", "src/harbour/berth.py", "src/harbour/crane.py", "docs/docking.md")


@pytest.fixture(scope="module")
def edited(
    sqlite: Subject, alone: Subject, shared: Subject, remote: Subject
) -> Iterator[dict[str, OverlaidReader]]:
    """Each reader with the same unsaved document."""
    readers = {subject.name: overlaid(subject) for subject in (sqlite, alone, shared, remote)}
    for reader in readers.values():
        reader.overlay.changed("docs/docking.md", GUIDE)
        reader.show_unsaved()
    yield readers
    for reader in readers.values():
        reader.overlay.close()


def beside(reader: OverlaidReader, path: str, line: int, *, thorough: bool) -> dict[tuple[str, int], str]:
    passage = ChunkRange(0, path, tuple(reader.between(path, line, line + 1)), focus=range(line, line + 1))
    found = rank_related(relate([reader], passage, thorough=thorough).found, passage, 20)
    return {(each.stored.path, each.stored.chunk.position): each.reasons[0].signal for each in found}


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_what_belongs_beside_a_place_is_the_same(
    edited: dict[str, OverlaidReader], snapshot: Subject, path: str, thorough: bool
) -> None:
    assert path in TEXTS or path == "docs/docking.md"
    lines = {stored.chunk.start_line for stored in edited["sqlite"].page(path)}
    for line in sorted(lines):
        expected = beside(edited["sqlite"], path, line, thorough=thorough)
        assert beside(edited[snapshot.name], path, line, thorough=thorough) == expected


def test_a_document_leads_to_code_through_each_reader(
    edited: dict[str, OverlaidReader], subject: Subject
) -> None:
    found = beside(edited[subject.name], "docs/docking.md", 2, thorough=False)
    paths = {path for path, _ in found}
    assert {"src/harbour/berth.py", "src/harbour/crane.py", "src/harbour/tide.py"} <= paths
