"""What usually changes with a change, and did not."""

from __future__ import annotations

from cairn.change.companions import companions
from tests.change.evidence import Open, commit, evidence_of

FILES = {
    "port/berth.py": "def moor(ship):\n    return ship\n",
    "port/crane.py": "from port.berth import moor\n\n\ndef unload(ship):\n    return moor(ship)\n",
    "port/tide.py": "LEVEL = 4\n",
    "port/schedule.py": "HOURS = (6, 18)\n",
    "CHANGELOG.md": "# Changes\n",
    "tests/test_berth.py": "from port.berth import moor\n",
}
CHANGED = {"port/berth.py": "def moor(ship, rope):\n    return ship\n"}


def test_callers_are_companions_with_their_line(opened: Open) -> None:
    found = list(companions(evidence_of(opened(FILES), CHANGED), 10))
    assert [each.path for each in found] == ["port/crane.py"]
    assert (found[0].kind, found[0].symbol, found[0].line, found[0].about) == ("reference", "unload", 4, (0,))
    assert "uses `moor`" in found[0].reasons


def test_files_of_earlier_commits_are_companions(opened: Open) -> None:
    folder = opened(FILES)
    both = [
        {
            "port/tide.py": f"LEVEL = {n}\n",
            "port/schedule.py": f"HOURS = ({n}, 18)\n",
            "CHANGELOG.md": f"# {n}\n",
        }
        for n in range(4)
    ]
    commit(folder, *both)
    found = {each.path: each for each in companions(evidence_of(folder, {"port/tide.py": "LEVEL = 9\n"}), 10)}
    assert {"port/schedule.py", "CHANGELOG.md"} <= set(found)
    assert (found["port/schedule.py"].kind, found["CHANGELOG.md"].kind) == ("together", "changelog")
    assert "changed with it in 5 of its 5 commits" in found["port/schedule.py"].reasons


def test_twins_of_another_platform_are_companions(opened: Open) -> None:
    files = {
        "src/unix/winch.c": "int winch_pull(int n) { return n; }\n",
        "src/win/winch.c": "int winch_pull(int n) { return n; }\n",
        "src/unix/anchor.c": "int anchor(void) { return 1; }\n",
    }
    changed = {"src/unix/winch.c": "int winch_pull(long n) { return n; }\n"}
    found = list(companions(evidence_of(opened(files), changed), 10))
    assert found[0].path == "src/win/winch.c"
    assert found[0].kind == "twin"
    assert "src/unix/anchor.c" not in [each.path for each in found]


def test_changed_files_and_tests_are_not_companions(opened: Open) -> None:
    changed = {
        **CHANGED,
        "port/crane.py": "from port.berth import moor\n\n\ndef unload(ship):\n    return moor(ship, 1)\n",
    }
    assert not list(companions(evidence_of(opened(FILES), changed), 10))


def test_documents_are_shown_at_the_line_that_names_a_changed_definition(opened: Open) -> None:
    files = {**FILES, "docs/mooring.md": "# Mooring\n\nShips moor at night.\n\nCall `moor(ship)` once.\n"}
    found = {each.path: each for each in companions(evidence_of(opened(files), CHANGED), 10)}
    document = found["docs/mooring.md"]
    assert (document.kind, document.line, document.reasons[0]) == ("document", 4, "names `moor`")
