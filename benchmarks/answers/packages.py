#!/usr/bin/env python3
"""Measure in workspaces of several packages whether `cairn/discover` shows the package first that a question
is about.

    python benchmarks/answers/packages.py --sets DIR --checkouts DIR [DIR ...] --data DIR [--settings JSON]
      [--output FILE]

A set is a folder with `packages.json`: questions with facts as in `facts.json`, each with the folder of its
`package`. Cairn answers them in this process (`in_process.py`), over indexes that the daemon makes if they
are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import frozen
from engine.figures import Figures, run_conditions

from answers.facts import MAIN_BUDGET, FactQuestion, found, read_fact_sets
from answers.in_process import opened
from answers.workplaces import Workplace, workplaces
from cairn.engine.host import Host
from cairn.settings.layers import CHARACTERS
from cairn.settings.tree import Settings

PACKAGES_FILE = "packages.json"
_FIRST = 5
"""The number of pieces of which most should be from the package."""
_SHOWN = ("excerpts", "bullets", "chunks")


@frozen
class PackageAnswer:
    """One question's answer."""

    question: FactQuestion
    package: str
    """The folder of the package that the question is about."""
    paths: Mapping[str, Sequence[str]]
    """The paths of `excerpts`, `bullets` and `chunks`, in their order."""
    facts: float
    """The share of the facts in the prompt."""
    ms: float

    def first(self, kind: str) -> bool:
        """Return whether the first piece is from the package."""
        return any(self._of_package(path) for path in self.paths[kind][:1])

    def most(self, kind: str) -> bool:
        """Return whether more than half of the first five are from the package."""
        some = self.paths[kind][:_FIRST]
        return 2 * sum(map(self._of_package, some)) > len(some)

    def share(self, kind: str) -> float:
        """Return the share of all pieces from the package."""
        paths = self.paths[kind]
        return sum(map(self._of_package, paths)) / len(paths) if paths else 0.0

    def _of_package(self, path: str) -> bool:
        return path.startswith(f"{self.package}/")


def ask(place: Workplace, packages: Mapping[str, str], host: Host, settings: Any) -> list[PackageAnswer]:
    """Ask all questions about one workspace."""
    answers = []
    render = {"maxPromptTokens": MAIN_BUDGET, "tokenizer": CHARACTERS}
    with opened(place, host, settings) as request:
        for question in place.questions:
            began = time.perf_counter()
            answer = request("cairn/discover", {"query": question.text, "config": {"render": render}})
            ms = (time.perf_counter() - began) * 1000
            if answer["retrieval"]["phase"] < answer["retrieval"]["wanted"]:
                raise SystemExit(f"{question.id} was answered in a lower phase: {answer['retrieval']}")
            have = found(question.facts, answer["answerPrompt"], MAIN_BUDGET)
            answers.append(
                PackageAnswer(
                    question,
                    packages[question.id],
                    {kind: [each["path"] for each in answer.get(kind) or ()] for kind in _SHOWN},
                    sum(have) / len(have),
                    ms,
                )
            )
    return answers


def figures(answers: Sequence[PackageAnswer]) -> Figures:
    """Return the shares of the questions."""

    def mean(value: Callable[[PackageAnswer], float]) -> float:
        return round(statistics.mean(map(value, answers)), 4)

    return {
        "questions": len(answers),
        **{
            f"{kind}: {name}": mean(lambda each, kind=kind, value=value: value(each, kind))  # type: ignore[misc]
            for kind in _SHOWN
            for name, value in (
                ("first", PackageAnswer.first),
                ("most of five", PackageAnswer.most),
                ("share", PackageAnswer.share),
            )
        },
        "facts": mean(lambda each: each.facts),
        "median_ms": round(statistics.median(each.ms for each in answers), 1),
    }


def main() -> None:
    options = _arguments()
    questions = read_fact_sets(options.sets, options.only, PACKAGES_FILE)
    packages = {
        item["id"]: item["package"]
        for folder in options.sets
        for item in json.loads((folder / PACKAGES_FILE).read_text(encoding="utf-8"))
    }
    places = workplaces(questions, options.checkouts, options.data)
    for place in places:
        if not list(place.data.glob("workspaces/*")):
            with place.served():
                pass
    host = Host(Settings().embedding)
    with tempfile.TemporaryDirectory(prefix="cairn-packages-") as settings:
        os.environ["CAIRN_CONFIG_DIR"] = settings  # The user's own settings must not change the results.
        answers = {
            place.repository.name: ask(place, packages, host, json.loads(options.settings))
            for place in places
        }
    every = [each for some in answers.values() for each in some]
    columns = {**{name: figures(some) for name, some in answers.items()}, "all": figures(every)}
    rows = list(columns["all"])
    print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for row in rows:
        print(f"| {row} | {' | '.join(f'{each[row]:g}' for each in columns.values())} |")
    if options.verbose:
        for each in every:
            print(each.question.id, each.package, f"{each.facts:.2f}", each.paths["excerpts"][:_FIRST])
    if options.output:
        record = {
            "conditions": run_conditions(),
            "settings": json.loads(options.settings),
            "figures": columns,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders with packages.json")
    parser.add_argument("--checkouts", type=Path, nargs="+", required=True, help="folder of the workspaces")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these workspaces")
    parser.add_argument(
        "--settings", default="{}", metavar="JSON", help="settings over the defaults, in an editor's form"
    )
    parser.add_argument("--verbose", action="store_true", help="also show each question's first excerpts")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
