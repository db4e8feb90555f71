"""A related chunk selects the lines that show the relation, and names the relation."""

from __future__ import annotations

import pytest
from attrs import evolve
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.related_results import EVERY_RELATION, selected

from cairn.index.queries.relations import PassageVector
from cairn.retrieval.related_chunks import ChunkRange, relate
from cairn.retrieval.related_lines import with_lines
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked

FILLER = "".join(f"    step_{line} = rope_{line} + anchor_{line}\n" for line in range(9))
BERTHS = "function moor_ship(vessel)\n  return vessel.rope\nend\n"
"""A function in a language of which no references are read: names alone relate it to others."""


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of({"port/berths.lua": BERTHS})


def related(folder: IndexedFolder, path: str, *, by_meaning: bool = True) -> dict[str, Ranked]:
    """Return the results related to a file, by path."""
    passage = ChunkRange(0, path, tuple(folder.reader.page(path)))
    relations = relate([folder.reader], passage)
    table = folder.models.static_table() if by_meaning else None
    ranked = rank_related(relations.found, passage, 20, EVERY_RELATION)
    return {result.stored.path: result for result in with_lines(ranked, relations, table)}


@pytest.mark.parametrize(
    ("path", "text", "relation"),
    [
        ("port/all.py", "import os\n\n→from port.berths import moor_ship\n", "imports"),
        ("port/schedule.py", f"from port.berths import moor_ship\n\n# moor_ship is called below\ndef assign(v):\n{FILLER}→    return moor_ship(v)\n", "calls"),  # noqa: E501
        ("port/table.py", f"def table(v):\n{FILLER}→    return {{'moor': moor_ship}}\n", "uses"),
        ("port/other.py", f"{FILLER.replace('    ', '')}→def moor_ship(boat, how):\n    return moor_ship(boat)\n", "also defines"),  # noqa: E501
        ("port/noted.py", f'def note(v):\n    """Note it.\n\n→    Unlike moor_ship(v), which moors it.\n    """\n{FILLER}', "mentions"),  # noqa: E501
        ("notes/mooring.md", "# Mooring\n\nA ship is moored\n→by `moor_ship`.\n", "mentions"),
        ("tests/test_schedule.py", f"def test_mooring():\n{FILLER}→    assert moor_ship(1)\n", "tests"),
    ],
)  # fmt: skip
def test_the_line_that_names_the_symbol_is_selected(
    folder: IndexedFolder, path: str, text: str, relation: str
) -> None:
    folder.save({path: text.replace("→", "")})
    found = related(folder, "port/berths.lua")[path]
    assert selected(found) == text.partition("→")[2].partition("\n")[0]
    assert f"{relation} `moor_ship`" in found.positive_signals()


def test_a_call_is_preferred_to_an_import(folder: IndexedFolder) -> None:
    folder.save(
        {
            "port/cranes.py": "class HarbourCrane:\n    def lift_cargo(self):\n        return self.hook\n",
            "port/work.py": f"from port.cranes import HarbourCrane\n\ndef work(v):\n{FILLER}    v.lift_cargo()\n",  # noqa: E501
        }
    )
    found = related(folder, "port/cranes.py")["port/work.py"]
    assert selected(found) == "    v.lift_cargo()"
    assert "calls `lift_cargo`" in found.positive_signals()


def test_a_type_is_used_but_not_called(folder: IndexedFolder) -> None:
    folder.save({"port/berth.graphql": "type BerthPlan {\n  depth: Int\n}\n"})
    folder.save({"port/quay.py": f"def quay():\n{FILLER}    return BerthPlan()\n"})
    found = related(folder, "port/berth.graphql")["port/quay.py"]
    assert selected(found) == "    return BerthPlan()"
    assert "uses `BerthPlan`" in found.positive_signals()


def test_a_definition_of_a_used_name_is_selected(folder: IndexedFolder) -> None:
    folder.save({"port/schedule.lua": "function assign(v)\n  return moor_ship(v)\nend\n"})
    found = related(folder, "port/schedule.lua")["port/berths.lua"]
    assert selected(found) == "function moor_ship(vessel)"
    assert "defines `moor_ship`" in found.positive_signals()
    assert any(str(reason).startswith("defines `moor_ship`: ") for reason in found.reasons)


def test_a_common_name_selects_a_line_without_a_reason(folder: IndexedFolder) -> None:
    others = {f"port/copy{n}.py": f"def moor_ship(boat):\n    return {n}\n" for n in range(4)}
    call = f"import port.berths\n\n\ndef moor(vessel):\n{FILLER}    return moor_ship(vessel)\n"
    folder.save(
        {**others, "port/berths.py": "def moor_ship(vessel):\n    ship = vessel\n", "port/call.py": call}
    )
    found = related(folder, "port/berths.py")["port/call.py"]
    assert selected(found) == "    return moor_ship(vessel)"
    assert not any("moor_ship" in reason for reason in found.positive_signals())


PLACES = {
    "notes/water.md": "# Water\n\nThe tide and the moon.\n",
    "docs/water.md": "# Everything\n\n" + "A crane can lift and hoist.\n" * 12 + "\nThe moon pulls the water: the tide.\n",  # noqa: E501
}  # fmt: skip


def test_the_similar_window_is_selected(folder: IndexedFolder) -> None:
    folder.save(PLACES)
    found = related(folder, "notes/water.md")["docs/water.md"]
    assert "moon pulls the water" in selected(found)
    assert "# Everything" not in selected(found)


def test_a_similar_beginning_selects_no_lines(folder: IndexedFolder) -> None:
    folder.save({**PLACES, "notes/water.md": "# Cranes\n\nA crane: lift and hoist.\n"})
    assert related(folder, "notes/water.md")["docs/water.md"].lines is None


def test_a_similar_chunk_has_no_lines_without_vectors(folder: IndexedFolder) -> None:
    folder.save(PLACES)
    assert related(folder, "notes/water.md", by_meaning=False)["docs/water.md"].lines is None


def test_vectors_of_another_table_are_not_compared(folder: IndexedFolder) -> None:
    folder.save(PLACES)
    passage = ChunkRange(0, "notes/water.md", tuple(folder.reader.page("notes/water.md")))
    relations = relate([folder.reader], passage)
    ranked = rank_related(relations.found, passage, 20, EVERY_RELATION)
    other = evolve(relations, vector=PassageVector(static_table="another", static=relations.vector.static))
    assert all(result.lines is None for result in with_lines(ranked, other, folder.models.static_table()))
