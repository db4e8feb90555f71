"""Tests of the issues benchmark: sets, indexes at each revision, changed functions, and figures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from issues.indexes import CloneError, Indexes
from issues.measurement import CAIRN, Found, found
from issues.report import by_project, rank_of
from issues.sets import Issue, SetError, is_code, read_issues
from large.asking import search_settings

from tests.git_repository import GitRepository


def issue(changed: set[str], revision: str = "", text: str = "") -> Issue:
    return Issue("port-1", "me/port", revision, text, frozenset(changed))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", True),
        ("lib/a.cpp", True),
        ("docs/a.md", False),
        ("tests/a.py", False),
        ("src/test_a.py", False),
        ("src/a_test.go", False),
        ("src/latest.py", True),
        ("web/a.spec.ts", False),
    ],
)
def test_is_code_leaves_tests_and_documents_out(path: str, expected: bool) -> None:
    assert is_code(path) is expected


@pytest.mark.parametrize(
    ("changed", "rank"),
    [
        ({"a.py"}, 1),
        ({"b.py"}, 2),
        ({"a.py", "b.py"}, 2),
        ({"a.py", "c.py"}, None),
        ({"a.py", "setup.cfg"}, 1),
    ],
)
def test_the_last_changed_code_file_counts(changed: set[str], rank: int | None) -> None:
    paths = ("docs/a.md", "a.py", "tests/b.py", "b.py")
    assert rank_of(Found(issue(changed), paths, 1.0), code_only=True) == rank


def test_figures_of_projects_and_of_all() -> None:
    one = Found(issue({"a.py"}), ("a.py",), 3.0, (("a.py", "lift"),), frozenset({("a.py", "lift")}))
    two = Found(issue({"a.py", "b.py"}), ("a.py", "c.py", "b.py"), 5.0, (), frozenset({("a.py", "lift")}))
    found = by_project([one, two])
    assert found["all"] == found["me/port"]
    assert found["all"]["code_files"] == {"1": 0.5, "3": 1.0, "5": 1.0, "10": 1.0}
    assert found["all"]["one_code_file"]["1"] == 1.0
    assert found["all"]["a_changed_function_among_10"] == 0.5


def test_every_second_issue_of_each_repository_is_read(tmp_path: Path) -> None:
    rows = [
        {"id": f"{name}-{n}", "repo": name, "base_commit": "0", "issue": "", "changed": []}
        for name in ("a/a", "b/b")
        for n in range(3)
    ]
    path = tmp_path / "set.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, rows)))
    assert [each.id for each in read_issues(path, every=2)] == ["a/a-0", "a/a-2", "b/b-0", "b/b-2"]
    assert [each.id for each in read_issues(path, only=["b/b"])] == ["b/b-0", "b/b-1", "b/b-2"]


def test_file_that_is_not_a_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl.gz").write_text("x")
    with pytest.raises(SetError, match="is not a set of issues"):
        read_issues(tmp_path / "set.jsonl.gz")


def test_missing_clone_is_reported_with_the_command_to_run(tmp_path: Path) -> None:
    with pytest.raises(CloneError, match="git clone --bare"):
        Indexes(tmp_path, tmp_path).clone(issue(set()))


def test_issue_is_searched_in_its_own_revision(tmp_path: Path) -> None:
    clone = GitRepository(tmp_path / "clones" / "me__port")
    versions = (
        {"crane.py": "def lift(crate):\n    return crate\n", "ship.py": "def moor(ship):\n    return ship\n"},
        {
            "crane.py": "def lift(crate):\n    return crate.weight\n",
            "test_crane.py": "def test_lift(): pass\n",
        },
    )
    revisions = [clone.commit("A commit", files) for files in versions]
    own_issue = issue({"crane.py"}, revisions[0], "lift returns the crate itself")
    indexes = Indexes(tmp_path / "clones", tmp_path / "data")
    (_, answer), *_ = found(indexes, [own_issue], search_settings(None), [CAIRN])
    assert answer.paths[0] == "crane.py"
    assert "test_crane.py" not in answer.paths  # The fix added it.
    assert answer.changed == {("crane.py", "lift")}
    assert rank_of(answer, code_only=True) == 1
