"""The benchmark of changes counts wanted files within a depth, and chooses commits of code and tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from change.measurement import CAIRN, COMPANIONS, TESTS, Outcome
from change.report import hits, recall
from change.sets import HALVES, Project, chosen, is_source, is_test, read_set

from tests.git_repository import GitRepository

PROJECT = Project("port/harbour", "Python", ("1",))


def outcome(task: str, wanted: set[str], listed: list[str]) -> Outcome:
    return Outcome(PROJECT, "1", task, frozenset(wanted), {CAIRN: listed}, 1.0, {})


def test_one_wanted_test_within_the_depth_counts() -> None:
    listed = [f"tests/test_{number}.py" for number in range(8)]
    assert hits(outcome(TESTS, {"tests/test_4.py", "tests/test_7.py"}, listed), CAIRN) == [0, 1, 1]
    assert hits(outcome(TESTS, {"tests/test_9.py"}, listed), CAIRN) == [0, 0, 0]


def test_recall_of_source_leaves_out_other_files() -> None:
    found = outcome(COMPANIONS, {"a.py", "b.py", "README.md"}, ["README.md", "a.py"])
    assert recall(found, CAIRN, source=True) == [0.5, 0.5, 0.5]
    assert recall(found, CAIRN, source=True, alone=False) == [0.0, 0.5, 0.5]
    assert recall(found, CAIRN, source=False) == pytest.approx([1 / 3, 2 / 3, 2 / 3])


def test_chosen_commits_change_code_and_existing_tests(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "port+harbour" / "repo")
    text = {"a.py": "1\n", "tests/test_a.py": "1\n", "README.md": "1\n"}
    repository.commit("New", text)
    for number in range(2, 12):
        repository.commit("Code alone", {"a.py": f"{number}\n"})
        both = repository.commit("Both", {"a.py": f"{number}0\n", "tests/test_a.py": f"{number}\n"})
        repository.commit("A new test", {"a.py": f"{number}1\n", f"tests/test_{number}.py": "1\n"})
    found = chosen(tmp_path, "port/harbour", "Python", 3)
    assert len(found.commits) == 3
    subjects = {repository.git("log", "-1", "--format=%s", commit) for commit in (*found.commits, both)}
    assert subjects == {"Both"}


def test_no_repository_is_in_both_halves() -> None:
    one, other = ({project.repository for project in read_set(half)} for half in HALVES)
    assert one.isdisjoint(other)
    assert len(one | other) >= 15


@pytest.mark.parametrize(
    ("path", "source", "test"),
    [
        ("src/a.py", True, False),
        ("tests/test_a.py", False, True),
        ("tests/fixtures/a.py", False, False),
        ("tests/conftest.py", False, False),
        ("docs/a.md", False, False),
        ("package.json", False, False),
        ("web/a.spec.ts", False, True),
    ],
)
def test_kinds_of_files(path: str, source: bool, test: bool) -> None:
    assert (is_source(path), is_test(path)) == (source, test)
