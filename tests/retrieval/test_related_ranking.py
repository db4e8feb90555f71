"""What belongs beside a place is shown, best first, and what only looks like it is left out."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.related_results import related_to_line

from cairn.retrieval.referrals import CALLEE, CALLER, TEST
from cairn.retrieval.related_chunks import (
    DEFINES,
    EXPLAINS,
    SIMILAR,
    ChunkRange,
    Related,
    relate,
)
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked

MOORING = "from port.ropes import tie_rope\n\n\ndef moor_vessel(vessel):\n    return tie_rope(vessel)\n"
ROPES = "def tie_rope(vessel):\n    ship = boat = vessel\n    return ship, boat\n"
OTHERS = {
    f"cranes/crane{n}.py": f"def lift_{n}(load):\n    crane = hoist = lift = {n}\n    return crane\n"
    for n in range(20)
}
"""Files about something else, so that what is about vessels is more similar than most."""
FILES = {
    "port/mooring.py": MOORING,
    "port/ropes.py": ROPES,
    "port/harbour.py": "from port.mooring import moor_vessel\n\n\ndef arrive(boat):\n    return moor_vessel(boat)\n",  # noqa: E501
    "tests/test_mooring.py": "from port.mooring import moor_vessel\n\n\ndef test_mooring():\n    assert moor_vessel(1)\n",  # noqa: E501
    "docs/mooring.md": "# Mooring\n\nCall `moor_vessel` with a vessel.\n",
}
LINE = 3
"""The line of the function in `port/mooring.py`."""


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of({**FILES, **OTHERS})


def paths(found: list[Ranked]) -> list[str]:
    return [each.stored.path for each in found]


def beside(folder: IndexedFolder, path: str = "port/mooring.py", line: int = LINE, *wanted: str) -> list[str]:
    """Return the paths of what belongs beside a line."""
    return paths(related_to_line(folder, path, line, wanted, 20))


def judged(
    folder: IndexedFolder, texts: dict[str, str], relation: str = SIMILAR, passage: str = "port/mooring.py"
) -> list[str]:
    """Return which of these files belong beside a passage if all are related to it in the same way."""
    folder.save(texts)
    found = [Related(0, each, {relation: 0.95}) for path in texts for each in folder.reader.page(path)]
    place = ChunkRange(0, passage, tuple(folder.reader.page(passage)))
    return paths(rank_related(found, place, 20))


def test_callers_tests_callees_and_documents_belong_beside_a_function(folder: IndexedFolder) -> None:
    found = related_to_line(folder, "port/mooring.py", LINE)
    assert {each.stored.path for each in found} == set(FILES) - {"port/mooring.py"}
    assert found[0].stored.path == "port/harbour.py"
    reasons = {each.stored.path: each.positive_signals()[0] for each in found}
    assert reasons["docs/mooring.md"] == "explains `moor_vessel`"
    assert reasons["port/ropes.py"] == "called by `moor_vessel`"


# --- what is left out --------------------------------------------------------------------------------


def test_copies_are_left_out(folder: IndexedFolder) -> None:
    text = FILES["docs/mooring.md"] + "A vessel is tied to its berth by ropes at the quay.\n"
    assert len(judged(folder, {"docs/one.md": text, "docs/two.md": text}, EXPLAINS)) == 1


@pytest.mark.parametrize(
    "path",
    ["CHANGELOG.md", "docs/release-notes.md", "NEWS.rst", "docs/legacy/mooring.md", "docs/1.x/mooring.md"],
)
def test_release_notes_and_former_versions_are_left_out(folder: IndexedFolder, path: str) -> None:
    text = "# Mooring\n\nCall `moor_vessel` with a vessel and its ropes.\n"
    assert judged(folder, {path: text}, EXPLAINS) == []


@pytest.mark.parametrize(
    "text",
    [
        "# Contents\n\n- [Ropes](ropes.md)\n- [Tides](tides.md)\n- [Cranes](cranes.md)\n",
        "[![build](a.svg)](b)\n[![docs](c.svg)](d)\n![licence](e.svg)\n",
        "Port\n====\n\n.. toctree::\n\n   ropes\n   tides\n   cranes\n",
        "Copyright 2020 The Port. Licensed under the Apache License, Version 2.0.\n",
    ],
)
def test_contents_badges_and_licences_are_left_out(folder: IndexedFolder, text: str) -> None:
    suffix = "rst" if "toctree" in text else "md"
    assert judged(folder, {f"docs/more.{suffix}": text}, EXPLAINS) == []


def test_imports_at_the_start_of_a_file_are_left_out(folder: IndexedFolder) -> None:
    assert judged(folder, {"port/all.py": "import port.ropes\nimport port.mooring\n"}) == []


def test_what_only_resembles_the_passage_is_left_out(folder: IndexedFolder) -> None:
    folder.save({"port/tides.py": "def rise(water):\n    tide = moon = water\n    return tide\n"})
    folder.save(
        {f"docs/tides{n}.md": f"# Tides {n}\n\nThe moon pulls the water: tide {n}.\n" for n in range(3)}
    )
    assert beside(folder, "port/tides.py", 0) == []


def test_a_former_version_has_its_own_documents(folder: IndexedFolder) -> None:
    folder.save({"legacy/old.py": "def tie_knot(vessel):\n    return vessel\n"})
    folder.save({"legacy/old.md": "# Old\n\nCall `tie_knot` with a vessel.\n"})
    assert beside(folder, "legacy/old.py", 0) == ["legacy/old.md"]


def test_prose_about_other_things_brings_nothing(folder: IndexedFolder) -> None:
    folder.save({"docs/install.md": "# Install\n\nTo run it, open the file and `yarn add vessels`.\n"})
    assert beside(folder, "docs/install.md", 2) == []


# --- what is near ------------------------------------------------------------------------------------

FAR = 30
LONG = (
    "from port.ropes import tie_rope\nfrom port.mooring import moor_vessel\n\n\ndef arrive(vessel):\n"
    "    tie_rope(vessel)\n"
    + "".join(f"    vessel.step_{n} = {n}\n" for n in range(FAR))
    + "    moor_vessel(vessel)\n"
)


def callees(folder: IndexedFolder, line: int) -> list[str]:
    found = related_to_line(folder, "port/long.py", line)
    return [each.stored.path for each in found if "called by `arrive`" in each.positive_signals()]


def test_only_calls_near_the_cursor_are_shown(folder: IndexedFolder) -> None:
    folder.save({"port/long.py": LONG})
    assert callees(folder, 5) == ["port/ropes.py"]
    assert callees(folder, 5 + FAR) == ["port/mooring.py"]


def test_what_is_in_view_is_left_out_unless_it_is_wanted(folder: IndexedFolder) -> None:
    folder.save({"port/ropes.py": f"{ROPES}\n\ndef tie_twice(vessel):\n    return tie_rope(vessel)\n"})
    assert "port/ropes.py" not in beside(folder, "port/ropes.py", 0)
    assert beside(folder, "port/ropes.py", 0, CALLER)[0] == "port/mooring.py"
    assert "port/ropes.py" in beside(folder, "port/ropes.py", 0, CALLER)


def test_callers_fill_the_room_that_others_leave(folder_of: FolderOf) -> None:
    call = "from port.ropes import tie_rope\n\n\ndef use_{n}(vessel):\n    steps = {n}\n    return tie_rope(vessel)\n"  # noqa: E501
    folder = folder_of({"port/ropes.py": ROPES, **{f"port/use{n}.py": call.format(n=n) for n in range(12)}})
    assert len(related_to_line(folder, "port/ropes.py", 0, limit=10)) == 10


@pytest.mark.parametrize("relation", [CALLER, TEST, CALLEE, EXPLAINS])
def test_a_wanted_relation_fills_its_section_first(folder: IndexedFolder, relation: str) -> None:
    call = "from port.mooring import moor_vessel\n\n\ndef {name}_{n}(boat):\n    step = {n}\n    return moor_vessel(boat)\n"  # noqa: E501
    more = {f"port/use{n}.py": call.format(name="use", n=n) for n in range(6)}
    more |= {f"tests/test_use{n}.py": call.format(name="test", n=n) for n in range(6)}
    more |= {f"docs/use{n}.md": f"# Use {n}\n\nCall `moor_vessel` {n} times.\n" for n in range(3)}
    folder.save(more)
    expected = {
        CALLER: {path for path in (*FILES, *more) if path.startswith(("port/use", "port/harbour"))},
        TEST: {path for path in (*FILES, *more) if path.startswith("tests/")},
        CALLEE: {"port/ropes.py"},
        EXPLAINS: {path for path in (*FILES, *more) if path.startswith("docs/")},
    }[relation]
    assert set(beside(folder, "port/mooring.py", LINE, relation)[: len(expected)]) == expected


# --- counterparts ------------------------------------------------------------------------------------


def test_a_translation_is_a_counterpart_at_the_same_place(folder: IndexedFolder) -> None:
    parts = [
        "".join(f"## {title} {part}\n\n" + f"{sentence} {part}. " * 40 + "\n\n" for part in range(5))
        for title, sentence in (("Part", "A vessel lies at the quay"), ("Teil", "Ein Schiff liegt am Kai"))
    ]
    for code, text in zip(("en", "de"), parts, strict=True):
        folder.save({f"docs/{code}/guide.md": f"# Guide\n\n{text}"})
    line = (folder.root / "docs/en/guide.md").read_text(encoding="utf-8").splitlines().index("## Part 3")
    (found,) = related_to_line(folder, "docs/en/guide.md", line)
    assert (found.stored.path, found.positive_signals()[0]) == (
        "docs/de/guide.md",
        "the same in another language",
    )
    assert "Teil 3" in found.stored.chunk.text


def test_the_same_definition_for_another_platform_is_a_counterpart(folder: IndexedFolder) -> None:
    for system in ("unix", "windows"):
        text = f"def open_gate(ship):\n    boat = vessel = ship\n    return boat, vessel, '{system}'\n"
        folder.save({f"port/{system}/gate.py": text})
    (found,) = related_to_line(folder, "port/unix/gate.py", 0)
    assert (found.stored.path, found.positive_signals()[0]) == (
        "port/windows/gate.py",
        "also defines `open_gate`",
    )


# --- documents and folders ---------------------------------------------------------------------------


def test_a_document_leads_to_the_code_that_it_names(folder: IndexedFolder) -> None:
    folder.save({"docs/more.md": "# More\n\nSee `moor_vessel` and [ropes](../port/ropes.py).\n"})
    found = related_to_line(folder, "docs/more.md", 2)
    reasons = {each.stored.path: each.positive_signals()[0] for each in found}
    assert reasons["port/mooring.py"] == "defines `moor_vessel`"
    assert reasons["port/ropes.py"] == "the file `ropes.py`, which it names"


def test_a_document_with_unsaved_text_leads_to_code(folder: IndexedFolder) -> None:
    folder.save({"docs/more.md": "# More\n"})
    folder.type("docs/more.md", "# More\n\nSee `tie_rope`.\n")
    assert "port/ropes.py" in beside(folder, "docs/more.md", 2)


def test_definitions_are_shown_without_the_rest_of_their_chunk(folder: IndexedFolder) -> None:
    folder.save({"port/ropes.py": f"{ROPES}\n\ndef tie_twice(vessel):\n    return 2\n"})
    folder.save({"docs/more.md": "# More\n\nSee `tie_twice`.\n"})
    (found,) = [
        each for each in related_to_line(folder, "docs/more.md", 2) if each.stored.path == "port/ropes.py"
    ]
    assert found.stored.chunk.text == "def tie_twice(vessel):\n    return 2\n"
    assert found.lines == (5, 6)


def test_relations_of_names_stay_in_the_folder(
    folder_of: FolderOf, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = folder_of(FILES)
    other = IndexedFolder(tmp_path_factory.mktemp("other"), {"port/ropes.py": ROPES})
    try:
        folder.save({"docs/more.md": "# More\n\nSee `tie_rope`.\n"})
        passage = ChunkRange(1, "docs/more.md", tuple(folder.reader.page("docs/more.md")))
        relations = relate([other.reader, folder.reader], passage)
        found = rank_related(relations.found, passage, 10)
        assert [(each.folder, each.stored.path) for each in found if each.reasons[0].signal == DEFINES] == [
            (1, "port/ropes.py")
        ]
    finally:
        other.close()
