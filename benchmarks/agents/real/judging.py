"""Writes the answers of all runs for a blind judge, and reads the judgements."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from string import ascii_uppercase

from agents.real.runs import Answer, InputError, Question, Run
from agents.real.scoring import Judged

_GRADES = (0, 0.5, 1)
_CODES = tuple(map("".join, product(ascii_uppercase, repeat=2)))
_TASK = """\
# Answers to judge

Each question has a reference answer with its lines, and answers of several agents under random letters, which
mean another agent for each question. Judge each answer by the reference alone, and in doubt by the source:
1 if it is right and has all that the question needs, 0.5 if it is right but lacks a part of that, 0 if it is
wrong, lacks the main point, or answers what the repository has nothing for. Where the reference says that the
repository has nothing, 1 is for an answer that says so. The length and the style of an answer do not matter.

Write a JSON file: `{"QUESTION": {"LETTERS": 1, …}, …}`, with each answer of each question.
"""

Key = dict[str, dict[str, str]]
"""The name of the run behind the letters, by the question's id and the letters."""


def judge_sheet(
    questions: Mapping[str, Question], runs: Sequence[Run], chance: random.Random
) -> tuple[str, Key]:
    """Return the sheet for the judge as Markdown, and the key."""
    parts, key = [_TASK], Key()
    for name, question in questions.items():
        answers = [(run.name, run.answers[name]) for run in runs if name in run.answers]
        if not answers:
            continue
        chance.shuffle(answers)
        codes = chance.sample(_CODES, len(answers))
        key[name] = {code: run for code, (run, _) in zip(codes, answers, strict=True)}
        lines = ", ".join(f"`{each}`" for each in question.lines) or "none: the repository has no answer"
        parts.append(f"## {name} ({question.repository})\n\n**Question.** {question.text}\n")
        parts.append(f"**Reference.** {question.answer}\n\nLines: {lines}\n")
        parts += [_answer(code, answer) for code, (_, answer) in zip(codes, answers, strict=True)]
    return "\n".join(parts), key


def _answer(code: str, answer: Answer) -> str:
    cited = ", ".join(f"`{each}`" for each in answer.citations) or "nothing"
    found = "" if answer.found else "The agent says that the repository has no answer. "
    return f"### {code}\n\n{found}{answer.text}\n\nCited: {cited}\n"


def read_judged(path: Path, runs: Sequence[Run], key: Path | None = None) -> Judged:
    """Return the judgements of every answer, from a file by run and question, or with a key by question and
    letters. Raises InputError if one is missing or is not a grade."""
    try:
        grades = json.loads(path.read_text(encoding="utf-8"))
        if key:
            by_run: dict[str, dict[str, float]] = defaultdict(dict)
            for name, codes in json.loads(key.read_text(encoding="utf-8")).items():
                for code, run in codes.items():
                    by_run[run][name] = grades[name][code]
            grades = by_run
        wrong = [
            f"{run.name} {name}"
            for run in runs
            for name in run.answers
            if grades.get(run.name, {}).get(name) not in _GRADES
        ]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as problem:
        raise InputError(f"{path} is not a file of judgements with this key: {problem!r}") from problem
    if wrong:
        raise InputError(f"{path}: give 0, 0.5 or 1 to {', '.join(wrong)}")
    judged: Judged = grades
    return judged
