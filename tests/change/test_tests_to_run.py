"""The tests to run for a change, their order and their reasons."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.change import tests as ranking
from cairn.change.evidence import Concerned
from tests.change.evidence import Open, commit, evidence_of
from tests.retrieval.indexed_folder import IndexedFolder

BERTH = """\
def admit(ship):
    return moor(ship)


def moor(ship):
    return ship.rope
"""
CRANE = """\
from port.berth import admit


def unload(ship):
    return admit(ship)
"""
FILES = {
    "port/__init__.py": "",
    "port/berth.py": BERTH,
    "port/crane.py": CRANE,
    "port/tide.py": "def tide_level():\n    return 4\n",
    "tests/test_moor.py": "from port.berth import moor\n\n\ndef test_rope():\n    assert moor(1)\n",
    "tests/test_crane.py": "from port.crane import unload\n\n\ndef test_unload():\n    assert unload(1)\n",
    "tests/test_tide.py": "from port.tide import tide_level\n\n\ndef test_it():\n    assert tide_level()\n",
}
CHANGED = {"port/berth.py": BERTH.replace("ship.rope", "ship.rope or 1")}


def ranked(folder: IndexedFolder, after: Mapping[str, str | None]) -> list[Concerned]:
    return list(ranking.tests_to_run(evidence_of(folder, after), 10))


def by_path(found: list[Concerned]) -> dict[str, Concerned]:
    return {each.path: each for each in found}


def test_direct_calls_come_before_indirect_ones(opened: Open) -> None:
    found = ranked(opened(FILES), CHANGED)
    assert [each.path for each in found][:2] == ["tests/test_moor.py", "tests/test_crane.py"]
    direct, indirect = found[:2]
    assert (direct.symbol, direct.line, direct.tests) == ("test_rope", 3, ("test_rope",))
    assert any("calls `moor` directly" in reason for reason in direct.reasons)
    assert any("over 3 calls" in reason for reason in indirect.reasons)
    assert direct.confidence > indirect.confidence


def test_no_test_is_shown_without_evidence(opened: Open) -> None:
    found = ranked(opened(FILES), CHANGED)
    assert "tests/test_tide.py" not in by_path(found)


def test_earlier_commits_lead_to_a_test_that_calls_nothing(opened: Open) -> None:
    folder = opened(FILES)
    both = [
        {"port/tide.py": f"def tide_level():\n    return {n}\n", "tests/test_moor.py": f"# {n}\n"}
        for n in range(3)
    ]
    commit(folder, *both)
    found = by_path(ranked(folder, {"port/tide.py": "def tide_level():\n    return 9\n"}))
    assert "changed with it in 4 of its 4 commits" in found["tests/test_moor.py"].reasons


def test_names_lead_to_a_test_without_references(opened: Open) -> None:
    found = ranked(
        opened(
            {
                "lib/gangway.pl": "sub lower { 1 }\n",
                "t/gangway_test.pl": "ok(1);\n",
                "t/rope_test.pl": "ok(2);\n",
            }
        ),
        {"lib/gangway.pl": "sub lower { 2 }\n"},
    )
    assert [each.path for each in found] == ["t/gangway_test.pl"]
    assert found[0].kind == "name"


def test_tests_inside_a_source_file_are_tests_to_run(opened: Open) -> None:
    text = """\
pub fn moor(length: u32) -> u32 {
    length + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moors_ships() {
        assert_eq!(moor(1), 2);
    }
}
"""
    folder = opened({"Cargo.toml": "[package]\nname = 'port'\n", "src/berth.rs": text})
    found = ranked(folder, {"src/berth.rs": text.replace("length + 1", "1 + length")})
    assert [(each.path, each.symbol) for each in found] == [("src/berth.rs", "tests.moors_ships")]


def test_data_and_settings_of_tests_are_no_tests_to_run(opened: Open) -> None:
    files = {**FILES, "tests/conftest.py": "from port.berth import moor\n\nROPE = moor(1)\n"}
    found = ranked(opened(files), CHANGED)
    assert "tests/conftest.py" not in by_path(found)


def test_changed_tests_are_run_first(opened: Open) -> None:
    changed = {**CHANGED, "tests/test_tide.py": "def test_it():\n    assert 1\n"}
    found = ranked(opened(FILES), changed)
    assert (found[0].path, found[0].kind) == ("tests/test_tide.py", "changed")
    assert "is changed itself" in found[0].reasons


def test_a_test_may_be_named_after_a_changed_definition(opened: Open) -> None:
    files = {
        "lib/all.rb": "class Gangway\n  def lower\n    1\n  end\nend\n",
        "test/gangway_test.rb": "puts 1\n",
    }
    found = ranked(opened(files), {"lib/all.rb": files["lib/all.rb"].replace("1", "2")})
    assert [each.path for each in found] == ["test/gangway_test.rb"]
    assert "is named after `Gangway`" in found[0].reasons
