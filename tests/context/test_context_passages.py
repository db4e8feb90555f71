"""The passages for a place, by group and section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import IndexedFolder
from tests.retrieval.related_results import EVERY_RELATION

from cairn.context.grouped_passages import FOUND, Group, Grouped, passage_item, related_passages, with_query
from cairn.index.reader.filters import ChunkFilter
from cairn.protocol import ContextSection
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, TEST, USED
from cairn.retrieval.related_chunks import (
    DEFINES,
    EXPLAINS,
    IMPORTED,
    SIMILAR,
    TOGETHER,
    TWIN,
    ChunkRange,
    Related,
    relate,
)
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked
from cairn.settings.discovery import ReadmePromotionConfig

PATTERNS = ReadmePromotionConfig().readme_patterns
FILES = {
    "README.md": "# Port\n\nA vessel is moored here.\n",
    **{f"port/crane{n}.py": f"def lift_{n}(load):\n    return {n}\n" for n in range(12)},
    **{f"docs/ships{n}.md": f"# Ships {n}\n\nA vessel is ship number {n}.\n" for n in range(4)},
    "docs/tides.md": "# Tides\n\nThe moon pulls the water.\n",
    "port/quay.py": "def berth(vessel):\n    return vessel\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[IndexedFolder]:
    folder = IndexedFolder(tmp_path, FILES)
    yield folder
    folder.close()


def passage(folder: IndexedFolder) -> ChunkRange:
    return ChunkRange(0, "port/quay.py", tuple(folder.reader.page("port/quay.py")))


def related(folder: IndexedFolder, values: Mapping[str, Mapping[str, float]]) -> list[Related]:
    """Return the first chunks of files, with the given relations."""
    return [Related(0, folder.reader.page(path)[0], of_file) for path, of_file in values.items()]


def passages(
    folder: IndexedFolder, values: Mapping[str, Mapping[str, float]], limit: int = 10
) -> list[Grouped]:
    return related_passages(related(folder, values), passage(folder), limit, PATTERNS)


def searched(folder: IndexedFolder, values: Mapping[str, float]) -> list[Ranked]:
    """Return what a query finds: files with scores."""
    found = related(folder, {path: {SIMILAR: score} for path, score in values.items()})
    return rank_related(found, passage(folder), 10, EVERY_RELATION)


def cranes(count: int) -> dict[str, dict[str, float]]:
    return {f"port/crane{n}.py": {CALLEE: 0.9 - n / 100, IMPORTED: 1.0} for n in range(count)}


def test_passages_are_grouped_as_code_documents_and_readmes(folder: IndexedFolder) -> None:
    explained = {path: {EXPLAINS: 0.8} for path in ("docs/ships0.md", "README.md")}
    found = passages(folder, {**cranes(2), **explained})
    groups = {each.ranked.stored.path: each.group for each in found}
    assert groups == {
        "port/crane0.py": Group.CODE,
        "port/crane1.py": Group.CODE,
        "docs/ships0.md": Group.DOCUMENTS,
        "README.md": Group.README,
    }


@pytest.mark.parametrize(
    ("relation", "section"),
    [
        (CALLER, ContextSection.CALLERS),
        (IMPLEMENTATION, ContextSection.OVERRIDES),
        (CALLEE, ContextSection.USED),
        (USED, ContextSection.USED),
        (DEFINES, ContextSection.USED),
        (TEST, ContextSection.TESTS),
        (TWIN, ContextSection.TWINS),
        (EXPLAINS, ContextSection.DOCUMENTS),
    ],
)
def test_the_strongest_relation_decides_the_section(
    folder: IndexedFolder, relation: str, section: ContextSection
) -> None:
    (only,) = passages(
        folder, {"port/crane1.py": {SIMILAR: 0.7, IMPORTED: 1.0, TOGETHER: 1.0, relation: 0.95}}
    )
    assert (only.section, only.reasons[0]) == (section, relation)


def test_a_wanted_section_comes_first_with_all_its_passages(folder: IndexedFolder) -> None:
    values = {**cranes(6), **{f"docs/ships{n}.md": {SIMILAR: 0.3 + n / 100} for n in range(4)}}
    found = related(folder, values)
    wanted = related_passages(found, passage(folder), 8, PATTERNS, ContextSection.SIMILAR)
    assert [each.ranked.stored.path for each in wanted[:4]] == [f"docs/ships{n}.md" for n in (3, 2, 1, 0)]
    assert [each.section for each in wanted[4:]] == [ContextSection.USED] * 4


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_best_passages_come_first_up_to_the_limit(folder: IndexedFolder, limit: int) -> None:
    documents = {f"docs/ships{n}.md": {EXPLAINS: 0.5} for n in range(4)}
    found = passages(folder, {**cranes(5), **documents}, limit)
    assert len(found) == limit
    scores = [each.ranked.score for each in found]
    assert scores == sorted(scores, reverse=True)


def test_strongest_reason_comes_first(folder: IndexedFolder) -> None:
    (only,) = passages(folder, {"port/crane1.py": {IMPORTED: 1.0, CALLEE: 0.9}})
    assert only.reasons == (CALLEE, IMPORTED)
    item = passage_item(only)
    assert (item.note, item.citation) == (f"Why: {CALLEE}, {IMPORTED}", "port/crane1.py#L1-L2")


def test_query_leads_and_then_alternates_with_relations(folder: IndexedFolder) -> None:
    near = passages(folder, cranes(4))
    found = searched(folder, {f"port/crane{n}.py": 1 - n / 100 for n in (11, 10, 9, 8, 7, 6, 0)})
    found.sort(key=lambda ranked: ranked.stored.path == "port/crane0.py")
    fused = with_query(found, near, 8, PATTERNS)
    names = [each.ranked.stored.path.removeprefix("port/crane").removesuffix(".py") for each in fused]
    assert names == ["6", "7", "8", "9", "0", "10", "1", "11"]
    assert (fused[0].reasons, fused[0].section) == ((FOUND,), ContextSection.QUERY)
    assert (fused[4].reasons, fused[4].section) == ((FOUND, CALLEE, IMPORTED), ContextSection.QUERY)
    assert fused[6].section is ContextSection.USED
    assert all(0 < each.ranked.score <= 1 for each in fused)


def test_passage_in_both_lists_has_the_related_lines(folder: IndexedFolder) -> None:
    (near,) = passages(folder, cranes(1))
    near = evolve(near, ranked=evolve(near.ranked, lines=(1, 2)))
    found = searched(folder, {f"port/crane{n}.py": 1.0 for n in (0, 1)})
    lines = {each.ranked.stored.path: each.ranked.lines for each in with_query(found, [near], 8, PATTERNS)}
    assert lines == {"port/crane0.py": (1, 2), "port/crane1.py": None}


def test_filter_finds_documents_behind_nearer_code(tmp_path: Path) -> None:
    code = {
        f"port/ship{n}.py": f"def ship_{n}(vessel):\n    boat = ship = {n}\n    return vessel\n"
        for n in range(80)
    }
    folder = IndexedFolder(tmp_path, {**code, "docs/ships.md": "# Boats\n\nA ship and the moon.\n"})
    wanted = ChunkRange(0, "port/ship0.py", tuple(folder.reader.page("port/ship0.py")))

    def found(besides: ChunkFilter | None) -> set[str]:
        relations = relate([folder.reader], wanted, besides=besides)
        return {each.stored.path for each in relations.found}

    assert "docs/ships.md" not in found(None)
    assert "docs/ships.md" in found(ChunkFilter(types=("prose",)))
    folder.close()
