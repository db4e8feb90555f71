"""Chunks are related to a passage by named relations."""

from __future__ import annotations

import subprocess

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.related_results import EVERY_RELATION, related_to_line, selected

from cairn.errors import QueryCancelledError
from cairn.index.store.deadline import ended_by
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION
from cairn.retrieval.related_chunks import (
    DEFINES,
    IMPORTED,
    IMPORTING,
    SAME_NAME,
    SIMILAR,
    TOGETHER,
    USES,
    ChunkRange,
    Related,
    relate,
)
from cairn.retrieval.related_ranking import rank_related

BODY = "".join(f"    step_{line} = rope_{line} + anchor_{line}\n" for line in range(40))
FILES = {
    "port/berths.py": "def moor(vessel):\n    return vessel.rope\n",
    "port/schedule.py": f"from port.berths import moor\n\n\ndef assign(vessels):\n    return moor(vessels)\n{BODY}",  # noqa: E501
    "port/__init__.py": "",
    "port/cranes.py": "def load(cargo):\n    return cargo\n",
    "tests/test_berths.py": "def test_rope():\n    assert True\n",
    "notes/tides.md": "# Tides\n\nThe moon pulls the water.\n",
    "notes/ships.md": "# Ships\n\nA vessel is a boat, and a ship is a vessel.\n",
}


def long_text(count: int) -> str:
    """Return functions that are a chunk each and have little in common."""
    bodies = (
        "".join(f"    word{n}_{line} = rope{n}_{line} + anchor{n}_{line}\n" for line in range(40))
        for n in range(count)
    )
    return "\n\n".join(f"def load_{n}(vessel):\n{body}" for n, body in enumerate(bodies))


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def passage(folder: IndexedFolder, path: str, position: int = 0) -> ChunkRange:
    return ChunkRange(0, path, (folder.reader.page(path)[position],))


def related(folder: IndexedFolder, path: str, limit: int = 20) -> dict[str, set[str]]:
    """Return the names of all found relations by path."""
    wanted = passage(folder, path)
    found = rank_related(relate([folder.reader], wanted).found, wanted, limit, EVERY_RELATION)
    return {r.stored.path: {reason.signal for reason in r.reasons} for r in found}


def test_each_relation_is_found(folder: IndexedFolder) -> None:
    found = related(folder, "port/berths.py")
    assert found["port/schedule.py"] >= {CALLER, IMPORTING}
    assert SAME_NAME in found["tests/test_berths.py"]
    assert SIMILAR in found["notes/ships.md"]
    assert {CALLEE, IMPORTED} <= related(folder, "port/schedule.py")["port/berths.py"]
    assert DEFINES not in related(folder, "port/schedule.py")["port/berths.py"]


def test_names_relate_code_without_references(folder: IndexedFolder) -> None:
    folder.save(
        {
            "port/ropes.lua": "function tie_rope(vessel)\n  return vessel\nend\n",
            "port/dock.lua": "function dock(vessel)\n  return tie_rope(vessel)\nend\n",
            "port/dock.cfg": "first = tie_rope\n",
        }
    )
    found = related(folder, "port/ropes.lua")
    assert USES in found["port/dock.lua"]
    assert USES in found["port/dock.cfg"]
    assert DEFINES in related(folder, "port/dock.lua")["port/ropes.lua"]
    assert DEFINES in related(folder, "port/dock.cfg")["port/ropes.lua"]


def test_the_rest_of_the_passages_file_may_be_related(folder: IndexedFolder) -> None:
    folder.save({"port/long.py": long_text(4)})
    wanted = passage(folder, "port/long.py", 1)
    found = rank_related(relate([folder.reader], wanted).found, wanted, 20, EVERY_RELATION)
    assert wanted.chunks[0].id not in {r.stored.id for r in found}
    assert wanted.path in {r.stored.path for r in found}


PAINT = "".join(f"    brush_{line} = colour_{line}\n" for line in range(12))
"""Lines that separate a caller from a place, so that it is not in view."""
CRANES = {
    "port/crane.py": (
        "class Crane:\n    def lift(self, load):\n        return check(load)\n\n\ndef check(load):\n    return load\n\n\n"  # noqa: E501
        f"def paint(crane):\n{PAINT}\n\ndef hoist(crane: Crane):\n    return crane.lift(1)\n"
    ),
    "port/tall.py": "from port.crane import Crane\n\n\nclass Tall(Crane):\n    def lift(self, load):\n        return 2\n",  # noqa: E501
    "port/work.py": "from port.crane import Crane, check\n\n\ndef heave():\n    check(1)\n",
    "port/log.py": "def log(crane, load):\n    lift = crane\n    return lift, load\n",
    "yard.py": (
        "from port.crane import Crane\n\n\ndef work():\n    crane = Crane()\n    crane.lift(3)\n\n\n"
        "def rest():\n    crane = Crane()\n    crane.lift(4)\n"
    ),
    "tests/test_yard.py": "from port.crane import Crane\n\n\ndef test_it():\n    crane = Crane()\n    crane.lift(0)\n",  # noqa: E501
}


def lines_shown(folder: IndexedFolder, path: str, line: int, *wanted: str) -> list[tuple[str, str, str]]:
    """Return for a cursor on a line the path, selected line and first reason of each result."""
    results = [each for each in related_to_line(folder, path, line, wanted) if each.lines]
    return [(each.stored.path, selected(each).strip(), each.positive_signals()[0]) for each in results]


def test_implementations_callers_and_tests_are_shown_by_a_line(folder: IndexedFolder) -> None:
    folder.save(CRANES)
    shown = lines_shown(folder, "port/crane.py", 1)
    assert set(shown[:2]) == {
        ("port/crane.py", "return crane.lift(1)", "calls `lift`"),
        ("yard.py", "crane.lift(3)", "calls `lift` in `work`, `rest`"),
    }
    assert set(shown[2:4]) == {
        ("port/tall.py", "def lift(self, load):", "overrides `Crane.lift`"),
        ("tests/test_yard.py", "crane.lift(0)", "tests `lift`"),
    }


def test_only_the_function_at_the_cursor_has_callers(folder: IndexedFolder) -> None:
    folder.save(CRANES)
    shown = lines_shown(folder, "port/crane.py", 6)
    assert shown[0] == ("port/work.py", "check(1)", "calls `check`")
    assert not any("calls `lift`" in reason for _, _, reason in shown)


def test_a_caller_in_view_is_shown_only_where_callers_are_wanted(folder: IndexedFolder) -> None:
    folder.save(CRANES)
    in_view = ("port/crane.py", "return check(load)", "calls `check`")
    assert in_view not in lines_shown(folder, "port/crane.py", 6)
    assert in_view in lines_shown(folder, "port/crane.py", 6, CALLER)


def test_many_callers_leave_room_for_callees(folder: IndexedFolder) -> None:
    folder.save(CRANES)
    caller = "from port.crane import hoist\n\n\ndef use_{n}(crane):\n    return hoist(crane), {n}\n"
    folder.save({f"port/use{n}.py": caller.format(n=n) for n in range(20)})
    line = CRANES["port/crane.py"].splitlines().index("def hoist(crane: Crane):")
    wanted = ChunkRange(
        0, "port/crane.py", tuple(folder.reader.page("port/crane.py")), focus=range(line, line + 1)
    )
    found = rank_related(relate([folder.reader], wanted).found, wanted, 10)
    kinds = [each.reasons[0].signal for each in found]
    assert kinds[:6] == [CALLER] * 5 + [CALLEE]


def test_a_subclass_implements_its_base(folder: IndexedFolder) -> None:
    folder.save(CRANES)
    assert IMPLEMENTATION in related(folder, "port/crane.py")["port/tall.py"]


def test_files_that_change_together_are_related(folder_of: FolderOf) -> None:
    folder = folder_of(FILES)

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *identity, *arguments), cwd=folder.root, check=True, capture_output=True)

    git("init", "--quiet")
    for number in range(3):
        for path in ("port/cranes.py", "notes/tides.md"):
            (folder.root / path).write_text(FILES[path] + f"\n\n# {number}\n")
        git("add", "port/cranes.py", "notes/tides.md")
        git("commit", "--quiet", "-m", f"change {number}")
    folder.index()
    assert TOGETHER in related(folder, "port/cranes.py")["notes/tides.md"]
    assert all(TOGETHER not in reasons for reasons in related(folder, "port/berths.py").values())


def test_unsaved_text_is_related(folder: IndexedFolder) -> None:
    assert DEFINES not in related(folder, "port/cranes.py").get("port/berths.py", set())
    folder.type(
        "port/cranes.py", "from port.berths import moor\n\n\ndef load(cargo):\n    return moor(cargo)\n"
    )
    assert {CALLEE, IMPORTED} <= related(folder, "port/cranes.py")["port/berths.py"]
    folder.type("port/new.py", "def hoist_all(vessel):\n    return moor(vessel)\n")
    assert CALLER not in related(folder, "port/berths.py")["port/new.py"]  # it does not import the name
    folder.type("port/new.py", "from port.berths import moor\n\n\ndef hoist_all(vessel):\n    moor(vessel)\n")
    assert CALLER in related(folder, "port/berths.py")["port/new.py"]


def test_a_common_name_relates_nothing(folder: IndexedFolder) -> None:
    folder.save({f"copies/copy{n}.py": f"def tie_rope(ship):\n    return {n}\n" for n in range(4)})
    folder.save({"port/schedule.cfg": "first = tie_rope\n"})
    found = related(folder, "port/schedule.cfg")
    assert all(DEFINES not in reasons for reasons in found.values())


def test_a_cancelled_request_ends_soon(folder: IndexedFolder) -> None:
    with pytest.raises(QueryCancelledError), ended_by(lambda: True):
        relate([folder.reader], passage(folder, "port/berths.py"))


def test_the_strongest_relation_is_the_source(folder: IndexedFolder) -> None:
    (chunk,) = folder.reader.page("port/cranes.py")

    def source(*relations: str) -> str:
        found = Related(0, chunk, dict.fromkeys(relations, 0.5))
        return rank_related([found], passage(folder, "port/berths.py"), 1, EVERY_RELATION)[0].source

    assert source(DEFINES, SIMILAR) == "exact"
    assert source(USES, SIMILAR) == "hybrid"
    assert source(USES) == "keyword"
    assert source(SIMILAR, SAME_NAME) == "embedding"
    assert source(SAME_NAME) == "relation"
