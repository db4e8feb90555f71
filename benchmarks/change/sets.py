"""The sets of commits: which commits of which repositories are measured, and how they were chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import asdict, frozen
from engine.place import git

from cairn.languages.registry import CONFIG_LANGUAGES, PROSE_LANGUAGES, detect_language
from cairn.workspace.collections import FileKind, file_kind

SETS = Path(__file__).parent / "sets"
HALVES = ("dev", "kept")
"""Weights are chosen with the repositories of the first half alone. The other is only reported."""
_MOST_FILES = 12
_EARLY = 0.3
"""The share of the oldest commits that is left out, because little history comes before them."""
_SUPPORT = frozenset(
    {"testdata", "fixtures", "fixture", "__snapshots__", "__fixtures__", "data", "resources"}
)
_SUPPORT_NAMES = frozenset(
    {"conftest.py", "__init__.py", "test_helper.rb", "spec_helper.rb", "test_helper.exs"}
)


@frozen
class Project:
    """A repository with the commits to measure, the oldest first."""

    repository: str
    """The repository as `owner/name`."""
    language: str
    commits: tuple[str, ...]


@frozen
class Touched:
    """A file that a commit touched."""

    path: str
    status: str
    """`A`, `M` or `D`: a renamed file is a removed and an added one."""

    @property
    def existed(self) -> bool:
        return self.status != "A"


def read_set(half: str, only: Sequence[str] = ()) -> list[Project]:
    """Return the projects of a half, or those named `only` if any are given."""
    rows = json.loads((SETS / f"{half}.json").read_text(encoding="utf-8"))
    projects = [Project(row["repository"], row["language"], tuple(row["commits"])) for row in rows]
    return [each for each in projects if not only or each.repository in only]


def write_set(half: str, projects: Sequence[Project]) -> None:
    rows = json.dumps([asdict(each) for each in projects], indent=1)
    (SETS / f"{half}.json").write_text(rows + "\n", encoding="utf-8")


def clone_of(clones: Path, repository: str) -> Path:
    return clones / repository.replace("/", "+") / "repo"


def chosen(clones: Path, repository: str, language: str, count: int) -> Project:
    """Return the project with up to `count` evenly spread commits that change code and existing tests."""
    every = [commit for commit, touched in _history(clone_of(clones, repository)) if _is_wanted(touched)]
    every = every[::-1]
    late = every[int(len(every) * _EARLY) :]
    step = max(1.0, len(late) / count)
    picked = tuple(late[int(number * step)] for number in range(min(count, len(late))))
    return Project(repository, language, picked)


def touched_by(repository: Path, commit: str) -> list[Touched]:
    """Return the files that a commit touched."""
    output = git(
        repository, "diff-tree", "-r", "--no-commit-id", "--no-renames", "--name-status", "-z", commit
    )
    parts = output.split("\0")
    return [Touched(path, status) for status, path in zip(parts[::2], parts[1::2], strict=False)]


def is_code(path: str) -> bool:
    language = detect_language(path)
    return bool(language) and language not in CONFIG_LANGUAGES and language not in PROSE_LANGUAGES


def is_source(path: str) -> bool:
    """Whether the path is that of code outside of tests, examples and documents."""
    return is_code(path) and file_kind(path) == FileKind.SOURCE


def is_test(path: str) -> bool:
    """Whether the path is that of code among the tests, without data and shared settings."""
    *folders, name = path.split("/")
    is_support = not _SUPPORT.isdisjoint(folders) or name in _SUPPORT_NAMES
    return is_code(path) and file_kind(path) == FileKind.TESTS and not is_support


def _is_wanted(touched: Sequence[Touched]) -> bool:
    code = any(is_source(each.path) and each.existed for each in touched)
    tests = any(is_test(each.path) and each.status == "M" for each in touched)
    return 2 <= len(touched) <= _MOST_FILES and code and tests


def _history(repository: Path) -> Iterator[tuple[str, list[Touched]]]:
    """Yield the commits without merges, the newest first, and the files that each touched."""
    options = ("--no-merges", "--no-renames", "--name-status", "--date-order", "--format=%x01%H", "HEAD")
    for block in git(repository, "-c", "core.quotePath=false", "log", *options).split("\x01")[1:]:
        commit, *rows = filter(None, block.split("\n"))
        fields = (row.split("\t") for row in rows)
        yield commit, [Touched(path, status[:1]) for status, path in fields]
