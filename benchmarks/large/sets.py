"""Reads question sets about large trees, `sets/HALF/TREE-KIND.json`: lists of questions with their
targets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

SETS = Path(__file__).with_name("sets")
TREES = ("kernel", "jdk")
TUNED, KEPT, LAST = "tuned", "kept", "last"
HALVES = (TUNED, KEPT, LAST)
"""Read and ask only `tuned` while you tune the ranking; `kept` checks that a gain was no accident; `last` is
asked once, at the end."""


class SetError(Exception):
    """A question set cannot be read."""


@frozen
class Target:
    """A file that answers a question, or lines of one."""

    path: str
    """The path relative to the tree, with `/`."""
    start_line: int | None = None
    """The first line, 1-based; None for the whole file."""
    end_line: int | None = None
    """The last line, inclusive."""

    def covered_by(self, path: str, start_line: int, end_line: int) -> bool:
        """Return whether these lines of a file overlap the target.

        Paths must be equal: a large tree has `linux/list.h` more than once.
        """
        if path != self.path:
            return False
        if self.start_line is None:
            return True
        return start_line <= (self.end_line or self.start_line) and self.start_line <= end_line


@frozen
class Question:
    """A question about a tree, and its answers."""

    id: str
    tree: str
    half: str
    query: str
    kind: str
    """One of `how`, `where`, `constant`, `name`, `message`, `people`, `symbol`, `type`, `known` and
    `sentence`."""
    relevant: tuple[Target, ...]
    secondary: tuple[Target, ...] = ()
    """Files that help but are not the answer."""


def read_sets(
    tree: str, halves: Iterable[str] = (TUNED,), kinds: Sequence[str] = (), folder: Path = SETS
) -> list[Question]:
    """Return the questions about `tree`, of all kinds or of `kinds`, in the order of files.

    Raises SetError for unreadable files, duplicate ids, and no questions.
    """
    questions = [
        _question(file, tree, half, item)
        for half in halves
        for file in sorted((folder / half).glob(f"{tree}-*.json"))
        for item in json.loads(file.read_text(encoding="utf-8"))
    ]
    ids = [question.id for question in questions]
    if twice := {each for each in ids if ids.count(each) > 1}:
        raise SetError(f"twice in {folder}: {', '.join(sorted(twice))}")
    selected = [question for question in questions if not kinds or question.kind in kinds]
    if not selected:
        raise SetError(f"no questions about {tree} in {folder}")
    return selected


def write_set(questions: Sequence[Question], file: Path) -> None:
    """Write questions of one tree and half, one a line, so that a change of one is a change of one line."""
    lines = [json.dumps(_item(question), ensure_ascii=False) for question in questions]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _item(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "query": question.query,
        "kind": question.kind,
        "relevant": [_written(target) for target in question.relevant],
        "secondary": [_written(target) for target in question.secondary],
    }


def _written(target: Target) -> str | dict[str, Any]:
    if target.start_line is None:
        return target.path
    return {"path": target.path, "start_line": target.start_line, "end_line": target.end_line}


def _question(file: Path, tree: str, half: str, item: dict[str, Any]) -> Question:
    try:
        relevant, secondary = (tuple(map(_target, item[name])) for name in ("relevant", "secondary"))
        question = Question(item["id"], tree, half, item["query"], item["kind"], relevant, secondary)
    except (KeyError, TypeError) as problem:
        raise SetError(f"{file}: {item} is not a question: {problem!r}") from problem
    if not relevant:
        raise SetError(f"{file}: nothing is relevant for {question.query!r}")
    return question


def _target(item: str | dict[str, Any]) -> Target:
    if isinstance(item, str):
        return Target(item)
    return Target(item["path"], item["start_line"], item["end_line"])
