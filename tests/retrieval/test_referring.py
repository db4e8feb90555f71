"""References show part of a chunk; a place is about the function at the cursor or around it."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.related_results import related_to_line, selected

from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.referrals import CALLEE, CALLER, TEST, definitions_around
from cairn.retrieval.related_chunks import ChunkRange, relate
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked

BERTHS = """class Berth:
    def moor(self, vessel):
        return tie_rope(vessel)


def tie_rope(vessel):
    return knot(vessel)


def knot(vessel):
    return vessel.rope


def tug(vessel):
    log = vessel
    return tie_rope(vessel)


HOOK = tie_rope(None)
"""
FILES = {
    "port/berths.py": BERTHS,
    "port/schedule.py": (
        "from port.berths import tie_rope\n\n\ndef count(vessels):\n    return len(vessels)\n\n\n"
        "def assign(vessels):\n    first = vessels[0]\n    return tie_rope(first)\n"
    ),
    "tests/test_schedule.py": "from port.schedule import assign\n\n\ndef test_assigning():\n    assert assign([1])\n",  # noqa: E501
}
FOCUS = BERTHS.splitlines().index("    return knot(vessel)")


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def related(folder: IndexedFolder, line: int, *wanted: str) -> list[Ranked]:
    return related_to_line(folder, "port/berths.py", line, wanted)


def test_a_caller_is_shown_without_other_functions(folder: IndexedFolder) -> None:
    (found,) = [each for each in related(folder, FOCUS) if each.stored.path == "port/schedule.py"]
    chunk = found.stored.chunk
    assert (chunk.symbol, selected(found).strip()) == ("assign", "return tie_rope(first)")
    assert chunk.text.startswith("def assign(vessels):\n")
    assert FILES["port/schedule.py"].splitlines()[chunk.start_line] == "def assign(vessels):"
    assert "count" not in chunk.defines


def test_a_caller_in_the_passage_is_shown_without_it(folder: IndexedFolder) -> None:
    found = [each for each in related(folder, FOCUS, CALLER, CALLEE) if each.stored.path == "port/berths.py"]
    assert found
    for each in found:
        assert "def tie_rope(" not in each.stored.chunk.text
        assert selected(each).strip() in (
            "return tie_rope(vessel)",
            "HOOK = tie_rope(None)",
            "def knot(vessel):",
        )


def test_a_top_level_call_is_shown_with_adjacent_lines(folder: IndexedFolder) -> None:
    folder.save({"port/berths.py": "def tie_rope(vessel):\n    return vessel\n\n\nHOOK = tie_rope(None)\n"})
    (found,) = [each for each in related(folder, 1, CALLER) if each.stored.path == "port/berths.py"]
    assert selected(found).strip() == "HOOK = tie_rope(None)"
    assert "def tie_rope" not in found.stored.chunk.text


def test_the_name_at_the_cursor_has_priority(folder: IndexedFolder) -> None:
    graph = ReferenceGraph(folder.reader)

    def names(cursor: tuple[int, int] | None) -> list[str]:
        around = definitions_around(
            graph, "port/berths.py", (0, len(BERTHS)), range(FOCUS, FOCUS + 1), cursor
        )
        return [each.qualified for each in around]

    assert names(None) == ["tie_rope"]
    assert names((FOCUS, len("    return k"))) == ["knot"]
    assert names((FOCUS, len("    re"))) == ["tie_rope"]
    folder.save({f"port/other{n}.py": f"def moor(v):\n    return {n}\n" for n in range(4)})
    folder.save({"port/use.py": "def use(any):\n    return any.moor(1)\n"})
    at_use = definitions_around(ReferenceGraph(folder.reader), "port/use.py", (0, 2), range(1, 2), (1, 16))
    assert [each.qualified for each in at_use] in (["use"], ["Berth.moor"])


def test_the_definition_of_the_name_at_the_cursor_is_shown(folder: IndexedFolder) -> None:
    chunks = tuple(folder.reader.page("port/schedule.py"))
    line = FILES["port/schedule.py"].splitlines().index("    return tie_rope(first)")
    cursor = line, len("    return tie")
    passage = ChunkRange(0, "port/schedule.py", chunks, focus=range(line, line + 1), cursor=cursor)
    found = rank_related(relate([folder.reader], passage).found, passage, 10)
    assert found[0].stored.path == "port/berths.py"


def test_a_test_of_a_caller_is_shown_only_where_tests_are_wanted(folder: IndexedFolder) -> None:
    assert "tests/test_schedule.py" not in {each.stored.path for each in related(folder, FOCUS)}
    (found,) = [each for each in related(folder, FOCUS, TEST) if each.stored.path.startswith("tests/")]
    assert (found.positive_signals()[0], selected(found).strip()) == (
        "a test that calls `assign`, which calls it",
        "assert assign([1])",
    )


def test_an_unsure_caller_comes_after_sure_ones_where_callers_are_wanted(folder: IndexedFolder) -> None:
    folder.save({"port/loose.py": "from port.berths import tie_rope\n\n\ndef hand(on):\n    on(tie_rope)\n"})
    assert "port/loose.py" not in {each.stored.path for each in related(folder, FOCUS)}
    found = related(folder, FOCUS, CALLER)
    paths = [each.stored.path for each in found]
    loose = found[paths.index("port/loose.py")]
    assert loose.positive_signals()[0] == "may call `tie_rope`"
    assert paths.index("port/schedule.py") < paths.index("port/loose.py")
