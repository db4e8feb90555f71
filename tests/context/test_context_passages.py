"""The passages for a place, by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.context.grouped_passages import FOUND, Group, Grouped, passage_item, related_passages, with_query
from cairn.index.reader.filters import ChunkFilter
from cairn.retrieval.related_chunks import (
    DEFINES,
    IMPORTED,
    SIMILAR,
    USES,
    ChunkRange,
    Related,
    rank_related,
    relate,
)
from cairn.retrieval.scores import Ranked
from cairn.settings.discovery import ReadmePromotionConfig

PATTERNS = ReadmePromotionConfig().readme_patterns
FILES = {
    "README.md": "# Port\n\nA vessel is moored here.\n",
    **{f"port/crane{n}.py": f"def lift_{n}(load):\n    return {n}\n" for n in range(12)},
    **{f"docs/ships{n}.md": f"# Ships {n}\n\nA vessel is ship number {n}.\n" for n in range(4)},
    "docs/tides.md": "# Tides\n\nThe moon pulls the water.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[IndexedFolder]:
    folder = IndexedFolder(tmp_path, FILES)
    yield folder
    folder.close()


def related(folder: IndexedFolder, values: Mapping[str, Mapping[str, float]]) -> list[Related]:
    """Return the first chunks of files, with the given relations."""
    return [Related(0, folder.reader.page(path)[0], of_file) for path, of_file in values.items()]


def paths(passages: list[Grouped]) -> dict[str, list[str]]:
    return {group: [each.ranked.stored.path for each in passages if each.group is group] for group in Group}


def cranes(count: int) -> dict[str, dict[str, float]]:
    return {f"port/crane{n}.py": {DEFINES: 0.9 - n / 100, IMPORTED: 1.0} for n in range(count)}


def test_documents_get_places_beside_code_with_higher_scores(folder: IndexedFolder) -> None:
    documents = {f"docs/ships{n}.md": {SIMILAR: 0.5 + n / 100} for n in range(4)}
    found = related(folder, {**cranes(12), **documents, "README.md": {SIMILAR: 0.4}})
    shown = paths(related_passages(found, 10, PATTERNS))
    assert shown["code"] == [f"port/crane{n}.py" for n in range(6)]
    assert shown["documents"] == ["docs/ships3.md", "docs/ships2.md", "docs/ships1.md"]
    assert shown["readme"] == ["README.md"]


def test_unused_places_of_a_group_go_to_the_others(folder: IndexedFolder) -> None:
    found = related(folder, {**cranes(12), "docs/ships1.md": {SIMILAR: 0.5}})
    shown = paths(related_passages(found, 10, PATTERNS))
    assert (len(shown["code"]), shown["documents"]) == (9, ["docs/ships1.md"])
    only_documents = related(folder, {f"docs/ships{n}.md": {SIMILAR: 0.5} for n in range(4)})
    assert len(related_passages(only_documents, 10, PATTERNS)) == 4


def test_documents_with_weak_relations_are_left_out(folder: IndexedFolder) -> None:
    found = related(
        folder,
        {
            "docs/tides.md": {SIMILAR: 0.1},
            "docs/ships0.md": {SIMILAR: 0.1, USES: 1.0},
            "docs/ships1.md": {SIMILAR: 0.25, USES: 1.0},
            "docs/ships2.md": {USES: 0.5},
            "port/crane1.py": {SIMILAR: 0.1},
            "README.md": {SIMILAR: 0.2},
        },
    )
    shown = paths(related_passages(found, 10, PATTERNS))
    assert shown["documents"] == ["docs/ships1.md", "docs/ships2.md"]
    assert (shown["code"], shown["readme"]) == (["port/crane1.py"], [])


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_best_passages_come_first_up_to_the_limit(folder: IndexedFolder, limit: int) -> None:
    documents = {f"docs/ships{n}.md": {SIMILAR: 0.5} for n in range(4)}
    found = related_passages(related(folder, {**cranes(5), **documents}), limit, PATTERNS)
    assert len(found) == limit
    scores = [each.ranked.score for each in found]
    assert scores == sorted(scores, reverse=True)


def test_strongest_reason_comes_first(folder: IndexedFolder) -> None:
    (only,) = related_passages(
        related(folder, {"port/crane1.py": {IMPORTED: 1.0, SIMILAR: 0.9}}), 10, PATTERNS
    )
    assert only.reasons == (SIMILAR, IMPORTED)
    item = passage_item(only)
    assert (item.note, item.citation) == (f"Why: {SIMILAR}, {IMPORTED}", "port/crane1.py#L1-L2")


def test_query_leads_and_then_alternates_with_relations(folder: IndexedFolder) -> None:
    near = related_passages(related(folder, cranes(4)), 10, PATTERNS)
    found: list[Ranked] = rank_related(
        related(folder, {f"port/crane{n}.py": {SIMILAR: 1 - n / 100} for n in (11, 10, 9, 8, 7, 6, 0)}), 10
    )
    found.sort(key=lambda ranked: ranked.stored.path == "port/crane0.py")
    fused = with_query(found, near, 8, PATTERNS)
    names = [each.ranked.stored.path.removeprefix("port/crane").removesuffix(".py") for each in fused]
    assert names == ["6", "7", "8", "9", "0", "10", "1", "11"]
    assert fused[0].reasons == (FOUND,)
    assert fused[4].reasons == (FOUND, DEFINES, IMPORTED)  # in both lists
    assert all(0 < each.ranked.score <= 1 for each in fused)


def test_passage_in_both_lists_has_the_related_lines(folder: IndexedFolder) -> None:
    (near,) = related_passages(related(folder, cranes(1)), 10, PATTERNS)
    near = evolve(near, ranked=evolve(near.ranked, lines=(1, 2)))
    found = rank_related(related(folder, {f"port/crane{n}.py": {SIMILAR: 1.0} for n in (0, 1)}), 10)
    lines = {each.ranked.stored.path: each.ranked.lines for each in with_query(found, [near], 8, PATTERNS)}
    assert lines == {"port/crane0.py": (1, 2), "port/crane1.py": None}


def test_filter_finds_documents_behind_nearer_code(tmp_path: Path) -> None:
    code = {
        f"port/ship{n}.py": f"def ship_{n}(vessel):\n    boat = ship = {n}\n    return vessel\n"
        for n in range(80)
    }
    folder = IndexedFolder(tmp_path, {**code, "docs/ships.md": "# Boats\n\nA ship and the moon.\n"})
    passage = ChunkRange(0, "port/ship0.py", tuple(folder.reader.page("port/ship0.py")))

    def found(besides: ChunkFilter | None) -> set[str]:
        relations = relate([folder.reader], passage, besides=besides)
        return {each.stored.path for each in relations.found}

    assert "docs/ships.md" not in found(None)
    assert "docs/ships.md" in found(ChunkFilter(types=("prose",)))
    folder.close()
