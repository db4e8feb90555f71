"""Reads question sets: `repos.tsv`, and for each repository a list of questions in `NAME.json`."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from retrieval.metrics import Span

REPOSITORIES_FILE = "repos.tsv"


class SetError(Exception):
    """A question set cannot be read."""


@frozen
class Repository:
    """A public repository at a pinned revision."""

    name: str
    language: str
    address: str
    """The address to clone from."""
    revision: str
    """A full commit hash."""
    folder: str
    """The folder to index, relative to the repository; `.` for all of it."""


@frozen
class Question:
    """A question about a repository, and its answers."""

    repository: Repository
    query: str
    relevant: tuple[Span, ...]
    secondary: tuple[Span, ...]
    category: str
    """The type of the query: `symbol`, `semantic`, `architecture`, …; "" if a set has none."""
    answerable: bool = True
    """Whether the repository has an answer; if not, nothing is relevant."""

    @property
    def half_of_questions(self) -> str:
        """Return `a` or `b`, by a hash of repository and question: tune on one, check on the other."""
        return half_of(f"{self.repository.name}\n{self.query}")

    @property
    def half_of_repositories(self) -> str:
        """Return `a` or `b`, by a hash of the repository's name: the other half has other code as well."""
        return half_of(self.repository.name)


def read_sets(folders: Sequence[Path], only: Sequence[str] = ()) -> list[Question]:
    """Return all questions of the sets, or of the repositories named by `only`, in the order of folders and
    names.

    `repos.tsv` is in the folder or its parent. Raises SetError for unreadable files and unknown names.
    """
    questions = [question for folder in folders for question in _read(folder, only)]
    if unknown := set(only) - {question.repository.name for question in questions}:
        raise SetError(f"no questions about {', '.join(sorted(unknown))} in {', '.join(map(str, folders))}")
    if not questions:
        raise SetError(f"no questions in {', '.join(map(str, folders))}: a set is a folder of NAME.json")
    return questions


def _read(folder: Path, only: Sequence[str]) -> list[Question]:
    repositories = repositories_of(folder)
    questions: list[Question] = []
    for file in sorted(folder.glob("*.json")):
        if only and file.stem not in only:
            continue
        if file.stem not in repositories:
            raise SetError(f"{file}: {REPOSITORIES_FILE} does not name {file.stem}")
        items = json.loads(file.read_text(encoding="utf-8"))
        questions += [_question(file, repositories[file.stem], item) for item in items]
    return questions


def repositories_of(folder: Path) -> dict[str, Repository]:
    """Return the repositories of the set in `folder`, by name. Raises SetError without a valid
    `repos.tsv`."""
    for place in (folder, folder.parent):
        file = place / REPOSITORIES_FILE
        if file.exists():
            with file.open(encoding="utf-8", newline="") as lines:
                rows = [row for row in csv.reader(lines, delimiter="\t") if row]
            if wrong := next((row for row in rows if len(row) != 5), None):
                raise SetError(f"{file}: expected 5 columns, got {wrong}")
            return {row[0]: Repository(*row) for row in rows}
    raise SetError(f"there is no {REPOSITORIES_FILE} in {folder} or its parent")


def _question(file: Path, repository: Repository, item: dict[str, Any]) -> Question:
    try:
        if "answerable" in item:  # Items of a set for verdicts have this field.
            item = {"secondary": [], "category": "", **item}
        relevant, secondary = (tuple(map(_target, item[name])) for name in ("relevant", "secondary"))
        answerable = bool(item.get("answerable", True))
        question = Question(repository, item["query"], relevant, secondary, item["category"], answerable)
    except (KeyError, TypeError) as problem:
        raise SetError(f"{file}: {item} is not a question: {problem!r}") from problem
    if bool(relevant) != answerable:
        if not answerable:
            raise SetError(f"{file}: something is relevant for {question.query!r}, which is not answerable")
        raise SetError(f"{file}: nothing is relevant for {question.query!r}")
    return question


def _target(item: str | dict[str, Any]) -> Span:
    if isinstance(item, str):
        return Span(item)
    return Span(item["path"], item.get("start_line"), item.get("end_line"))


def half_of(key: str) -> str:
    """Return `a` or `b`, by a hash of the key."""
    return "ab"[hashlib.sha256(key.encode()).digest()[0] % 2]
