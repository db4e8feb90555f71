"""Reads the questions, and what the agents of each run answered and spent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from agents.real.wrapper import REFUSED, arm_of

MAX_CITATIONS, MAX_LINES = 8, 15
"""The limits of the task sheet. What an answer cites beyond them does not count."""
_PLACE = re.compile(r"(?:\./)?(.+?):(\d+)(?:-(\d+))?")


class InputError(Exception):
    """A file cannot be used; the message says what to do."""


@frozen
class Lines:
    """Lines of a file, which count from 1; `last` is included."""

    path: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path}:{self.first}-{self.last}"


@frozen
class Question:
    id: str
    repository: str
    text: str
    answer: str
    """The reference answer."""
    kind: str
    """What kind of question it is, or ""."""
    lines: tuple[Lines, ...]
    """The reference lines; none if the repository has nothing that answers the question."""

    @property
    def is_absent(self) -> bool:
        return not self.lines


@frozen
class Answer:
    text: str
    citations: tuple[Lines, ...]
    malformed: int
    """How many citations are not `path:first-last`, and do not count."""
    found: bool


@frozen
class Call:
    repository: str
    command: tuple[str, ...]
    bytes: int
    seconds: float
    code: int

    @property
    def is_refused(self) -> bool:
        return self.code == REFUSED

    @property
    def name(self) -> str:
        """The command, with the subcommand of cairn and git."""
        return " ".join(self.command[: 2 if self.command[0] in ("cairn", "git") else 1])


@frozen
class Run:
    """The work of one agent."""

    name: str
    arm: str
    set: str
    questions: tuple[Question, ...]
    answers: Mapping[str, Answer]
    """The answers by the question's id; a question that has none counts as answered wrongly."""
    calls: tuple[Call, ...]


def read_questions(paths: Iterable[Path]) -> dict[str, Question]:
    """Return the questions of all files by their ids. Raises InputError."""
    questions: dict[str, Question] = {}
    for path in paths:
        for item in _objects(path):
            try:
                lines = [lines_of(place) for place in item["lines"]]
                question = Question(
                    item["id"],
                    item["repo"],
                    item["question"],
                    item["answer"],
                    item.get("kind", ""),
                    tuple(filter(None, lines)),
                )
            except (KeyError, TypeError, AttributeError) as problem:
                raise InputError(
                    f"{path}: each question needs id, repo, question, answer, lines"
                ) from problem
            if None in lines:
                raise InputError(f"{path}: write each place of {question.id} as path:first-last")
            if question.id in questions:
                raise InputError(f"{path}: {question.id} is the id of two questions; rename one")
            questions[question.id] = question
    return questions


def lines_of(place: str) -> Lines | None:
    """Return the lines of `path:first-last` or `path:line`, or None if it is neither."""
    match = _PLACE.fullmatch(place.strip())
    return match and Lines(match[1], int(match[2]), int(match[3] or match[2]))


def read_runs(home: Path, questions: Mapping[str, Question]) -> list[Run]:
    """Return the runs that have a log or answers, in the order of their names. Raises InputError."""
    names = {path.stem for path in (*home.glob("log/*.jsonl"), *home.glob("ans/*.json"))}
    sets = {path.stem: [item["id"] for item in _objects(path)] for path in home.glob("q/*.json")}
    if unknown := sorted({each for ids in sets.values() for each in ids} - questions.keys()):
        raise InputError(f"No file of --questions has {', '.join(unknown)}")
    return [_run(home, name, sets, questions) for name in sorted(names)]


def _run(home: Path, name: str, sets: Mapping[str, Sequence[str]], questions: Mapping[str, Question]) -> Run:
    arm, (set_name, *_) = arm_of(name), (*_sets_of(name, sets), "")
    if not arm or not set_name:
        raise InputError(f"{home}: the run {name} is not ARM-SET or ARM-SET-NUMBER, with q/SET.json")
    answers, log = home / "ans" / f"{name}.json", home / "log" / f"{name}.jsonl"
    return Run(
        name,
        arm.name,
        set_name,
        tuple(questions[each] for each in sets[set_name]),
        _answers(answers, set(sets[set_name])) if answers.exists() else {},
        tuple(_calls(log)) if log.exists() else (),
    )


def _sets_of(name: str, sets: Iterable[str]) -> list[str]:
    """Return the set whose questions a run answers, if there is one, in a list."""
    rest = name[2:]
    return [each for each in (rest, re.sub(r"-\d+$", "", rest)) if each in sets]


def _answers(path: Path, ids: set[str]) -> dict[str, Answer]:
    answers = {}
    for item in _objects(path):
        try:
            name, text, found = item["id"], item["answer"], item["found"]
            cited = [lines_of(each) for each in item["citations"]]
        except (KeyError, TypeError, AttributeError) as problem:
            raise InputError(f"{path}: each answer needs id, answer, citations and found") from problem
        if name not in ids or not isinstance(found, bool):
            raise InputError(f"{path}: {name} is not a question of the set, or found is not true or false")
        places = tuple(filter(None, cited))
        answers[name] = Answer(text, places, len(cited) - len(places), found)
    return answers


def _calls(path: Path) -> Iterable[Call]:
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        command = tuple(item["command"])
        yield Call(item["repository"], command, item["bytes"], item["seconds"], item["exit"])


def _objects(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON list. Raises InputError."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} is not readable JSON: {problem}") from problem
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{path}: write a JSON list of objects")
    return items
