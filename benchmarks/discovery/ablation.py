#!/usr/bin/env python3
"""Measure the contribution of each stage of discovery: required citations, facts and packages found with the
stage at its default, and without it.

    python benchmarks/discovery/ablation.py --projects DIR --checkouts DIR [DIR ...] --data DIR
      [--sets tuned] [--output FILE]

It works in process, over indexes that the daemon makes if they are missing, with the code model that comes
with Cairn. The questions are those for discovery (bullets and excerpts that cite the required places) and
those about packages.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from answers.facts import read_fact_sets
from answers.in_process import opened
from answers.packages import PACKAGES_FILE, PackageAnswer, ask
from answers.packages import figures as package_figures
from answers.workplaces import Workplace, workplaces
from attrs import frozen
from engine.figures import Figures, run_conditions
from retrieval.sets import Repository

from cairn.engine.host import Host
from cairn.settings.layers import CHARACTERS
from cairn.settings.tree import Settings
from discovery.projects import Question, read_projects, tree_of
from discovery.scoring import covered

_HERE = Path(__file__).resolve().parent
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "2: only the original signals": {"scoring": {"evidenceWeight": 0}},
    "3: no variations": {"expansion": {"maxExpansions": 1}},
    "4: relevance alone, no MMR": {"broad": {"mmrLambda": 1}},
    "4: no deduplication": {"broad": {"enableDeduplication": False}},
    "5: no focused search": {"focusTopNCollections": 0},
    "5: no context window": {"focus": {"contextWindow": 0}},
    "5: no second ranking": {"focus": {"semanticReranking": False}},
    "6: no README first": {"readme": {"alwaysTop": False, "readmeBoost": 1}},
}
_OVERVIEWS = ("What is {}?", "{} features", "{} architecture")


@frozen
class _CitationCounts:
    """The number of a question's required citations that are found."""

    question: Question
    by: Mapping[str, int]
    """The number found in `bullets`, `excerpts`, either of them, and `chunks`."""
    ms: float


def citation_counts(
    places: Sequence[Workplace], questions: Sequence[Sequence[Question]], host: Host, config: Any
) -> list[_CitationCounts]:
    """Ask all questions about published projects, with the settings of discovery `config`."""
    answers = []
    render = {"render": {"tokenizer": CHARACTERS}}
    for place, some in zip(places, questions, strict=True):
        with opened(place, host, {"discovery": config}) as request:
            for question in some:
                began = time.perf_counter()
                answer = request("cairn/discover", {"query": question.text, "config": render})
                ms = (time.perf_counter() - began) * 1000
                kinds = {
                    "bullets": answer["bullets"],
                    "excerpts": answer["excerpts"],
                    "either": [*answer["bullets"], *answer["excerpts"]],
                    "chunks": answer["chunks"],
                }
                answers.append(
                    _CitationCounts(
                        question, {kind: covered(each, question) for kind, each in kinds.items()}, ms
                    )
                )
    return answers


def citation_figures(answers: Sequence[_CitationCounts]) -> Figures:
    """Return the shares of the required citations."""
    required = sum(len(each.question.required) for each in answers)
    return {
        **{kind: round(sum(each.by[kind] for each in answers) / required, 3) for kind in answers[0].by},
        "ms": round(statistics.median(each.ms for each in answers), 1),
    }


def overviews(places: Sequence[Workplace], host: Host, config: Any) -> Figures:
    """Return means over overview questions: how much of the project the evidence covers."""
    answers = []
    for place in places:
        with opened(place, host, {"discovery": config}) as request:
            answers += [
                request("cairn/discover", {"query": text.format(place.repository.name)})
                for text in _OVERVIEWS
            ]
    counts = {
        "sections": [len(answer["plan"]["sections"]) for answer in answers],
        "files of bullets": [len({each["path"] for each in answer["bullets"]}) for answer in answers],
        "files of chunks": [len({each["path"] for each in answer["chunks"]}) for answer in answers],
        "README first": [
            any("readme" in each["path"].lower() for each in answer["bullets"][:1]) for answer in answers
        ],
    }
    return {f"overviews, {name}": round(statistics.mean(values), 2) for name, values in counts.items()}


def main() -> None:
    options = _arguments()
    projects = [p for name in options.sets for p in read_projects(_HERE / "questions" / name)]
    places = [
        Workplace(
            Repository(project.name, "", "", project.version, "."),
            tree_of(project, options.projects),
            options.data.resolve() / f"{project.name}-{project.version}",
            (),
        )
        for project in projects
    ]
    folder = _HERE.parent / "answers" / "sets" / "monorepo"
    package_questions = read_fact_sets([folder], (), PACKAGES_FILE)
    items = json.loads((folder / PACKAGES_FILE).read_text(encoding="utf-8"))
    workspaces = workplaces(package_questions, options.checkouts, options.data)
    for place in (*places, *workspaces):
        if not list(place.data.glob("workspaces/*")):
            print(f"{place.repository.name}: making its index", file=sys.stderr, flush=True)
            with place.served():
                pass
    host, variants = Host(Settings().embedding), {}
    with tempfile.TemporaryDirectory(prefix="cairn-ablation-") as settings:
        os.environ["CAIRN_CONFIG_DIR"] = settings  # The user's own settings must not change the results.
        for name, config in _VARIANTS.items():
            found = citation_counts(places, [project.questions for project in projects], host, config)
            packages = [
                each
                for place in workspaces
                for each in ask(
                    place, {item["id"]: item["package"] for item in items}, host, {"discovery": config}
                )
            ]
            variants[name] = {
                **citation_figures(found),
                **overviews(places, host, config),
                **_of_packages(packages),
            }
    columns = list(next(iter(variants.values())))
    print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for name, row in variants.items():
        print(f"| {name} | {' | '.join(f'{row[column]:g}' for column in columns)} |")
    if options.output:
        record = {"conditions": {**run_conditions(), "sets": options.sets}, "variants": variants}
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _of_packages(answers: Sequence[PackageAnswer]) -> Figures:
    every = package_figures(answers)
    wanted = (
        "excerpts: first",
        "bullets: first",
        "bullets: share",
        "chunks: first",
        "chunks: share",
        "facts",
    )
    return {f"packages, {name}": round(every[name], 3) for name in wanted}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--projects",
        type=Path,
        required=True,
        help="folder of the published projects; missing ones are downloaded",
    )
    parser.add_argument("--checkouts", type=Path, nargs="+", required=True, help="folder of the workspaces")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--sets", nargs="+", default=["tuned"], help="sets of benchmarks/discovery/questions")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
