"""Tests of question sets and of their repositories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.place import git
from retrieval.checkouts import CheckoutError, checkout
from retrieval.metrics import Span
from retrieval.sets import Repository, SetError, read_sets

from tests.git_repository import GitRepository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository of two commits, pinned at the first."""
    origin = GitRepository(tmp_path / "origin", {"lib/a.py": "one\n"})
    origin.commit("two", {"lib/a.py": "two\n"})
    return Repository("quay", "python", str(origin.folder), origin.git("rev-parse", "HEAD~1"), "lib")


def test_a_missing_repository_is_cloned_at_its_revision_and_found_again(
    repository: Repository, tmp_path: Path
) -> None:
    place = checkout(repository, tmp_path / "checkouts")
    assert place == tmp_path / "checkouts" / "quay"
    assert (place / "lib" / "a.py").read_text() == "one\n"
    assert checkout(repository, tmp_path / "checkouts") == place


def test_another_revision_is_refused_with_the_command_to_run(repository: Repository, tmp_path: Path) -> None:
    place = checkout(repository, tmp_path)
    git(place, "checkout", "--quiet", "--detach", "origin/HEAD")
    with pytest.raises(CheckoutError, match=f"checkout --detach {repository.revision}"):
        checkout(repository, tmp_path)


@pytest.mark.parametrize("path", ["lib/a.py", "lib/new.py"])
def test_changed_and_untracked_files_are_refused(repository: Repository, tmp_path: Path, path: str) -> None:
    (checkout(repository, tmp_path) / path).write_text("mine\n")
    with pytest.raises(CheckoutError, match=path):
        checkout(repository, tmp_path)


def test_folder_inside_another_repository_is_not_a_checkout(repository: Repository, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "quay").mkdir()
    with pytest.raises(CheckoutError, match="not a repository"):
        checkout(repository, tmp_path)


def _write_set(folder: Path, **item: object) -> None:
    (folder / "dev").mkdir()
    (folder / "repos.tsv").write_text("quay\tpython\thttps://example.org/quay\tabc\tlib\n")
    question = {"query": "berths", "relevant": ["a.py"], "secondary": [], "category": "symbol", **item}
    (folder / "dev" / "quay.json").write_text(json.dumps([question]))


def test_targets_are_paths_with_or_without_lines(tmp_path: Path) -> None:
    lines = {"path": "lib/b.py", "start_line": 3, "end_line": 9}
    _write_set(tmp_path, relevant=["a.py", lines], secondary=["c.py"])
    (question,) = read_sets([tmp_path / "dev"])
    assert question.relevant == (Span("a.py"), Span("lib/b.py", 3, 9))
    assert question.secondary == (Span("c.py"),)
    assert question.repository.folder == "lib"


def test_questions_that_nothing_answers_and_unknown_names_are_refused(tmp_path: Path) -> None:
    _write_set(tmp_path, relevant=[])
    with pytest.raises(SetError, match="berths"):
        read_sets([tmp_path / "dev"])
    with pytest.raises(SetError, match="pier"):
        read_sets([tmp_path / "dev"], only=["pier"])
    with pytest.raises(SetError, match="a set is a folder"):
        read_sets([tmp_path])  # This is the folder of sets.


@pytest.mark.parametrize(("query", "half"), [("moorings", "a"), ("tides", "b")])
def test_the_halves_are_the_same_everywhere(tmp_path: Path, query: str, half: str) -> None:
    r"""SHA-256 begins with 0x2e for "quay\nmoorings", 0xaf for "quay\ntides" and 0x33 for "quay"."""
    _write_set(tmp_path, query=query)
    (question,) = read_sets([tmp_path / "dev"])
    assert (question.half_of_questions, question.half_of_repositories) == (half, "b")


def test_unanswerable_questions_have_no_relevant_targets(tmp_path: Path) -> None:
    _write_set(tmp_path, relevant=[], answerable=False)
    (question,) = read_sets([tmp_path / "dev"])
    assert not question.answerable
    assert not question.relevant


def test_a_question_both_answered_and_unanswerable_is_refused(tmp_path: Path) -> None:
    _write_set(tmp_path, answerable=False)
    with pytest.raises(SetError, match="not answerable"):
        read_sets([tmp_path / "dev"])


def test_the_sets_of_the_benchmark_can_be_read() -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "retrieval" / "sets"
    questions = {kind: read_sets([folder / kind]) for kind in ("code", "documents", "verdict")}
    assert {kind: len(found) for kind, found in questions.items()} == {
        "code": 140,
        "documents": 40,
        "verdict": 198,
    }
    assert sum(not question.answerable for question in questions["verdict"]) == 110
