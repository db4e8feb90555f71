#!/usr/bin/env python3
"""Measure how many required citations `cairn/discover` finds, and whether its evidence, answers and prompts
are correct.

    python benchmarks/discovery/quality.py --sets DIR [DIR ...] --projects DIR [--data DIR] [--output FILE]

Each project of the sets is downloaded (an sdist by pip, a package by npm; SHA-256 checked), unpacked into
--projects, and indexed by the real daemon until it is `ready`. Each question is sent over LSP with each of
--bullets, a second time to the same process, and to a second process on the same index. Some questions
request prompts in each format and several budgets of tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import frozen
from engine.daemon import Daemon
from engine.figures import Figures, run_conditions
from engine.ready import NotReadyError, indexed

from cairn.embedding.packaged import load_vocabulary
from cairn.settings.discovery import FormatStyle
from discovery.projects import Project, ProjectError, Question, read_projects, tree_of
from discovery.scoring import Scored, figures, score, table

_BUDGETS = (200, 500, 1000, 2000, 4000, 8000)
_QUESTIONS_WITH_BUDGETS = 3
"""The number of questions of each project that are sent once for each budget and format."""

Count = Callable[[str], int]


@frozen
class TimedAnswer:
    """An answer with its time over LSP."""

    answer: dict[str, Any]
    ms: float


@frozen
class Prompt:
    """A prompt within a budget of tokens."""

    question: str
    format: str
    budget: int
    tokens: int
    """The tokens counted by this benchmark."""
    reported: int
    """The tokens that the daemon reports in `metrics.finalPromptTokens`."""

    @property
    def fits(self) -> bool:
        return max(self.tokens, self.reported) <= self.budget


@frozen
class Measured:
    """The measurements of one project."""

    project: Project
    index: Figures
    scored: tuple[Scored, ...]
    prompts: tuple[Prompt, ...]


def measure(project: Project, tree: Path, data: Path, bullets: Sequence[int], count: Count) -> Measured:
    """Ask all questions. Raises NotReadyError if the index cannot be completed."""
    wanted = [(question, most) for most in bullets for question in project.questions]
    with indexed(tree, data) as (daemon, index):
        first = [_ask(daemon, question, most) for question, most in wanted]
        # The spelt-out default is a different request, which the daemon computes again; a cached answer would
        # prove nothing.
        spelt_out = {"render": {"includeSources": True}}
        again = [_ask(daemon, question, most, config=spelt_out) for question, most in wanted]
        prompts = [
            prompt
            for question in project.questions[:_QUESTIONS_WITH_BUDGETS]
            for prompt in _prompts(daemon, question, max(bullets), count)
        ]
    with indexed(tree, data) as (daemon, _):
        elsewhere = [_ask(daemon, question, most) for question, most in wanted]
    scored = [
        score(
            question,
            most,
            [each.answer for each in answers],
            tree,
            count(answers[0].answer["answerPrompt"]),
            answers[0].ms,
        )
        for (question, most), *answers in zip(wanted, first, again, elsewhere, strict=True)
    ]
    return Measured(project, index, tuple(scored), tuple(prompts))


def _ask(daemon: Daemon, question: Question, max_bullets: int, **params: Any) -> TimedAnswer:
    pending = daemon.send("cairn/discover", {"query": question.text, "maxBullets": max_bullets, **params})
    answer = pending.result()
    return TimedAnswer(answer, ((pending.answered or 0.0) - pending.sent) * 1000)


def _prompts(daemon: Daemon, question: Question, max_bullets: int, count: Count) -> list[Prompt]:
    prompts = []
    for style in FormatStyle:
        for budget in _BUDGETS:
            config = {"render": {"maxPromptTokens": budget}}
            answer = _ask(daemon, question, max_bullets, format=style.value, config=config).answer
            tokens, reported = count(answer["answerPrompt"]), answer["metrics"]["finalPromptTokens"]
            prompts.append(Prompt(question.id, style.value, budget, tokens, reported))
    return prompts


# --- results --------------------------------------------------------------------------------------


def results(sets: Mapping[str, Sequence[Measured]], bullets: Sequence[int]) -> Figures:
    """Return the content of the results file: figures of each set, of its projects, and of each question."""
    prompts = [prompt for some in sets.values() for each in some for prompt in each.prompts]
    return {
        "conditions": {**run_conditions(), "bullets": list(bullets)},
        "sets": {
            name: {
                **figures([scored for each in some for scored in each.scored]),
                "projects": {each.project.name: _project_record(each) for each in some},
            }
            for name, some in sets.items()
        },
        "prompts": {
            "budgets": list(_BUDGETS),
            "formats": [style.value for style in FormatStyle],
            "asked": len(prompts),
            "within_budget": sum(prompt.fits for prompt in prompts),
            "counted_as_told": sum(prompt.tokens == prompt.reported for prompt in prompts),
            "biggest": {
                str(budget): max((p.tokens for p in prompts if p.budget == budget), default=None)
                for budget in _BUDGETS
            },
        },
    }


def _project_record(measured: Measured) -> Figures:
    return {
        "version": measured.project.version,
        "files": measured.index["files"],
        "chunks": measured.index["chunks"],
        "model": measured.index["model"],
        **figures(measured.scored),
        "by_question": [
            {
                "id": each.question.id,
                "max_bullets": each.max_bullets,
                "required": each.required,
                "found": each.found,
                "in_excerpts": each.in_excerpts,
                "in_either": each.in_either,
                "in_chunks": each.in_chunks,
                "action": each.action,
                "ms": round(each.ms, 1),
            }
            for each in measured.scored
        ],
    }


def report(record: Figures) -> str:
    """Return the tables to print."""
    parts = []
    for name, some in record["sets"].items():
        parts.append(f"{name}\n\n{table({**some['projects'], 'all': some})}")
    prompts = record["prompts"]
    biggest = ", ".join(f"{tokens} of {budget}" for budget, tokens in prompts["biggest"].items())
    parts.append(
        f"{prompts['within_budget']} of {prompts['asked']} prompts within their budget,"
        f" {prompts['counted_as_told']} with the same count as the daemon; biggest: {biggest}\n"
    )
    return "\n".join(parts)


# --- the command ----------------------------------------------------------------------------------


def main() -> None:
    options = _arguments()
    count = load_vocabulary().count
    record = (
        nullcontext(str(options.data))
        if options.data
        else tempfile.TemporaryDirectory(prefix="cairn-discovery-")
    )
    measured: dict[str, list[Measured]] = {}
    try:
        with record as folder:
            for each in options.sets:
                measured[each.resolve().name] = some = []
                for project in _wanted(each, options.only):
                    print(f"{project.name}: {len(project.questions)} questions", file=sys.stderr, flush=True)
                    tree = tree_of(project, options.projects)
                    data = Path(folder).resolve() / f"{project.name}-{project.version}"
                    some.append(measure(project, tree, data, options.bullets, count))
    except (ProjectError, NotReadyError) as problem:
        sys.exit(str(problem))
    found = results({name: some for name, some in measured.items() if some}, options.bullets)
    print(report(found))
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _wanted(folder: Path, only: Sequence[str]) -> list[Project]:
    return [project for project in read_projects(folder) if not only or project.name in only]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of question sets")
    parser.add_argument(
        "--projects", type=Path, required=True, help="folder of the projects; missing ones are downloaded"
    )
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--bullets", type=int, nargs="+", default=(20, 40), help="values of `maxBullets`")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these projects")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
