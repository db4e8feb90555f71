"""Reads sets of questions with the facts that their answers need, and finds these facts in a text.

A set is a folder with `facts.json`, and `repos.tsv` in it or in its parent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen
from retrieval.sets import Repository, SetError, repositories_of

FACTS_FILE = "facts.json"
CHARACTERS_PER_TOKEN = 4
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
"""The tokens that a language model may read."""
MAIN_BUDGET = 4_000
"""The budget of all figures that are not by budget."""

_PASSED_OVER = re.compile(r"[\s`*_\\]+")


@frozen
class Fact:
    """A statement that an answer must rest on."""

    snippets: tuple[str, ...]
    """Snippets, any one of which shows the fact."""
    place: str
    """The fact's `path:line`, from 1."""
    why: str
    vital: bool
    """Whether the answer would be wrong without it."""


@frozen
class FactQuestion:
    """A question about a whole checkout."""

    id: str
    set: str
    """The name of the set's folder."""
    repository: Repository
    kind: str
    """One of `how`, `where`, `why`, `error`, `constant`, `callers`, `flow`, `config`, `tests`, `change`,
    `compare` and `unanswerable`."""
    text: str
    facts: tuple[Fact, ...]
    """The facts; empty if the repository has no answer."""

    @property
    def answerable(self) -> bool:
        return bool(self.facts)


def read_fact_sets(
    folders: Sequence[Path], only: Sequence[str] = (), file: str = FACTS_FILE
) -> list[FactQuestion]:
    """Return all questions of the sets, or those about the repositories named by `only`; `file` is the name
    of a set's file.

    Raises SetError for unreadable files, duplicate ids and unknown names.
    """
    every = [question for folder in folders for question in _read(folder / file)]
    ids = [question.id for question in every]
    if repeated := sorted({each for each in ids if ids.count(each) > 1}):
        raise SetError(f"several questions have the id {', '.join(repeated)}")
    if unknown := set(only) - {question.repository.name for question in every}:
        raise SetError(f"no questions about {', '.join(sorted(unknown))} in {', '.join(map(str, folders))}")
    return [question for question in every if not only or question.repository.name in only]


def translated(questions: Sequence[FactQuestion], texts: Mapping[str, str]) -> list[FactQuestion]:
    """Return the questions whose ids are in `texts`, with these texts."""
    return [evolve(question, text=texts[question.id]) for question in questions if question.id in texts]


def plain(text: str) -> str:
    r"""Return the text for comparison: in lower case, without whitespace, backticks, `*`, `_` and `\`."""
    return _PASSED_OVER.sub("", text).lower()


def cut(text: str, budget: int) -> str:
    """Return as much of the text as fits into `budget` tokens of four characters."""
    return text[: budget * CHARACTERS_PER_TOKEN]


def found(facts: Sequence[Fact], text: str, budget: int) -> tuple[bool, ...]:
    """Return for each fact whether one of its snippets is in the first `budget` tokens of the text."""
    have = plain(cut(text, budget))
    return tuple(any(plain(snippet) in have for snippet in fact.snippets) for fact in facts)


def _read(file: Path) -> list[FactQuestion]:
    repositories = repositories_of(file.parent)
    try:
        items = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise SetError(f"{file} cannot be read: {problem}") from problem
    return [_question(file, repositories, item) for item in items]


def _question(file: Path, repositories: Mapping[str, Repository], item: Mapping[str, Any]) -> FactQuestion:
    try:
        facts = tuple(map(_fact, item["facts"]))
        repository = repositories[item["repo"]]
        question = FactQuestion(
            item["id"], file.parent.resolve().name, repository, item["kind"], item["q"], facts
        )
    except (KeyError, TypeError) as problem:
        raise SetError(f"{file}: {item} is not a question with facts: {problem!r}") from problem
    if question.answerable == (question.kind == "unanswerable"):
        raise SetError(f"{file}: {question.id} needs facts, unless its kind is `unanswerable`")
    if not all(any(map(plain, fact.snippets)) and all(map(plain, fact.snippets)) for fact in facts):
        raise SetError(f"{file}: a fact of {question.id} has an empty snippet or none")
    return question


def _fact(item: Mapping[str, Any]) -> Fact:
    return Fact(tuple(item["any"]), f"{item['path']}:{item['line']}", item["why"], bool(item["vital"]))
