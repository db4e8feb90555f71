"""Sets of issues: `*.jsonl.gz` with `{id, repo, base_commit, issue, changed}` a line."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection
from pathlib import Path

from attrs import frozen

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_|conftest\.py$)[^/]*|_test\.\w+$|[./]spec\.\w+$"
)
_CODE = re.compile(
    r"\.(?:py|pyx|pxd|c|h|cc|cpp|hpp|cxx|hh|cu|js|jsx|ts|tsx|mjs|go|rs|java|kt|scala|rb|php|cs|swift|m|lua|ex|exs|clj)$"
)


class SetError(Exception):
    """A set that cannot be read, and why."""


@frozen
class Issue:
    """An issue, and what its fix changed."""

    id: str
    repository: str
    """`owner/name`."""
    revision: str
    """The commit that the fix was made on."""
    text: str
    changed: frozenset[str]
    """Paths of the files that the fix changed, tests left out, with `/`."""


def read_issues(path: Path, only: Collection[str] = (), every: int = 1) -> list[Issue]:
    """The issues of a set, of the repositories `only` where any are given; of each repository every `every`th
    one.

    Raises SetError where the file cannot be read.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        issues = [
            Issue(row["id"], row["repo"], row["base_commit"], row["issue"], frozenset(row["changed"]))
            for row in rows
        ]
    except (OSError, ValueError, KeyError) as problem:
        raise SetError(f"{path} is not a set of issues: {problem!r}") from problem
    wanted = [issue for issue in issues if not only or issue.repository in only]
    taken: dict[str, list[Issue]] = {}
    for issue in sorted(wanted, key=lambda issue: issue.id):
        taken.setdefault(issue.repository, []).append(issue)
    return [issue for of_repository in taken.values() for issue in of_repository[::every]]


def is_code(path: str) -> bool:
    """Whether a file is code and not a test, by its path."""
    return bool(_CODE.search(path)) and not _TEST.search(path)
