"""Reads sets of issues: `*.jsonl.gz` with `{id, repo, base_commit, issue, changed}` a line."""

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
    """A set cannot be read; the message says why."""


@frozen
class Issue:
    """An issue with the files that its fix changed."""

    id: str
    repository: str
    """The repository as `owner/name`."""
    revision: str
    """The commit that the fix was made on."""
    text: str
    changed: frozenset[str]
    """The paths of the files that the fix changed, without tests, with `/`."""


def read_issues(path: Path, only: Collection[str] = (), every: int = 1) -> list[Issue]:
    """Return every `every`th issue of each repository, or of the repositories `only` if any are given.

    Raises SetError if the file cannot be read.
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
    """Return whether a path is that of a code file and not of a test."""
    return bool(_CODE.search(path)) and not _TEST.search(path)
