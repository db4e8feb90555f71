#!/usr/bin/env python3
"""Measure the latency of `cairn/discover` in the real daemon over LSP, with everything indexed and warm,
beside the targets.

    python benchmarks/discovery/latency.py --workspace FOLDER DATA [--count 60] [--runs 3] [--output FILE]

DATA has the folder's index, which is completed first. Questions are drawn from the index, a quarter of them
"what is NAME", which have the most variations; or they are the lines of a file. In each run one process gets
all of them with a `partialResultToken` and another one without. No process gets a question twice, since it
caches what it reads of the passages.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import field, frozen
from engine.daemon import Daemon, Pending
from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import IndexFile, opened
from engine.ready import NotReadyError, indexed

_TARGETS_MS = {
    "filter_collections": (5, 10),
    "score_collections": (10, 20),
    "expand_queries_baseline": (1, 5),
    "broad_discovery": (200, 500),
    "semantic_focus": (150, 300),
    "promote_readme": (5, 10),
    "compress_evidence": (50, 100),
    "build_answer_plan": (10, 20),
    "render_llm_prompt": (5, 10),
}
"""The target and the acceptable time of each stage, in the original design of discovery."""
_TOTAL_TARGET_MS = (450, 1000)
_WARM = 12
"""The number of other questions to send before the measurement."""
_OVERVIEWS = 4
"""The number of questions per overview question."""
_TOKEN = "part"


@frozen
class Timed:
    """The times of one answer, in seconds from the request; None for partial results not requested."""

    question: str
    answered: float
    queries: int
    """The number of searches that the question became."""
    stages: dict[str, float] = field(factory=dict)
    first_part: float | None = None
    """The time of the first `$/progress`, with any content."""
    first_passages: float | None = None
    """The times of the first part with passages, and of the first with evidence."""
    first_evidence: float | None = None


def measure(workspace: Path, data: Path, options: argparse.Namespace) -> Figures:
    """Return all figures of one workspace."""
    with indexed(workspace, data) as (_, index):
        pass  # The index is complete now.
    measured, warming = _questions(workspace, data, options)
    if not measured:
        sys.exit(f"there are no questions for {workspace}; give a file with --questions")
    whole: list[Timed] = []
    streamed: list[Timed] = []
    for _ in range(options.runs):
        whole += _run(workspace, data, measured, warming, {})
        streamed += _run(workspace, data, measured, warming, {"partialResultToken": _TOKEN})
    return {
        "workspace": workspace.name,
        "files": index["files"],
        "chunks": index["chunks"],
        "questions": len(measured),
        "overviews": sum(question.startswith("what is ") for question in measured),
        "queries": {
            "mean": round(sum(each.queries for each in whole) / len(whole), 1),
            "max": max(each.queries for each in whole),
        },
        **figures(whole, streamed),
    }


def figures(whole: Sequence[Timed], streamed: Sequence[Timed]) -> Figures:
    """Return milliseconds of answers requested without partial results, and with them."""
    most = max(each.queries for each in whole)
    return {
        "answer_ms": milliseconds([each.answered for each in whole]),
        "answer_of_most_queries_ms": milliseconds([each.answered for each in whole if each.queries == most]),
        "streamed_answer_ms": milliseconds([each.answered for each in streamed]),
        "first_partial_result_ms": _figures_of_known(each.first_part for each in streamed),
        "first_passages_ms": _figures_of_known(each.first_passages for each in streamed),
        "first_evidence_ms": _figures_of_known(each.first_evidence for each in streamed),
        "stages_ms": {
            stage: milliseconds([each.stages[stage] for each in whole if stage in each.stages])
            for stage in _TARGETS_MS
        },
    }


def table(found: Mapping[str, Any]) -> str:
    """Return `figures` as a Markdown table, beside the targets."""
    rows = [
        ("whole answer", found["answer_ms"], _TOTAL_TARGET_MS),
        ("… of the questions with most searches", found["answer_of_most_queries_ms"], _TOTAL_TARGET_MS),
        ("… with partial results", found["streamed_answer_ms"], _TOTAL_TARGET_MS),
        ("first partial result", found["first_partial_result_ms"], None),
        ("… with passages", found["first_passages_ms"], None),
        ("… with evidence", found["first_evidence_ms"], None),
        *((f"`{stage}`", found["stages_ms"][stage], targets) for stage, targets in _TARGETS_MS.items()),
    ]
    lines = ["| ms | n | p50 | p95 | max | target | acceptable |", "|---|---|---|---|---|---|---|"]
    for name, sample, targets in rows:
        measured = [f"{sample[key]:g}" if key in sample else "" for key in ("n", "p50", "p95", "max")]
        wanted = [f"< {value}" for value in targets] if targets else ["", ""]
        lines.append(f"| {' | '.join([name, *measured, *wanted])} |")
    return "\n".join(lines) + "\n"


# --- requests -------------------------------------------------------------------------------------


def _run(
    workspace: Path, data: Path, measured: Sequence[str], warming: Sequence[str], params: Mapping[str, Any]
) -> list[Timed]:
    with indexed(workspace, data) as (daemon, _):
        for question in warming:
            _ask(daemon, question, params)
        return [_ask(daemon, question, params) for question in measured]


def _ask(daemon: Daemon, question: str, params: Mapping[str, Any]) -> Timed:
    pending = daemon.send("cairn/discover", {**params, "query": question})
    metrics = pending.result()["metrics"]
    return Timed(
        question=question,
        answered=(pending.answered or 0.0) - pending.sent,
        queries=metrics["queriesGenerated"],
        stages={stage: ms / 1000 for stage, ms in metrics["stages"].items()},
        first_part=_first_part(pending, ""),
        first_passages=_first_part(pending, "chunks"),
        first_evidence=_first_part(pending, "bullets"),
    )


def _first_part(pending: Pending, name: str) -> float | None:
    """Return the seconds to the first partial result with an entry of that name, or with anything."""
    times = (arrived for arrived, value in pending.parts if not name or value.get(name))
    return next((arrived - pending.sent for arrived in times), None)


def _figures_of_known(seconds: Any) -> Figures:
    return milliseconds([each for each in seconds if each is not None])


# --- questions ------------------------------------------------------------------------------------


def _questions(workspace: Path, data: Path, options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Draw different questions to measure, and others for the warm-up."""
    rng = random.Random(options.seed)
    with opened(data) as index:
        if options.questions:
            lines = options.questions.read_text(encoding="utf-8").splitlines()
            measured = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
            return measured, [
                each for each in drawn_questions(workspace, index, _WARM, rng) if each not in measured
            ]
        overviews = _overviews(workspace, index, options.count // _OVERVIEWS, rng)
        drawn = drawn_questions(workspace, index, options.count - len(overviews) + _WARM, rng)
    measured = [*overviews, *drawn[_WARM:]]
    rng.shuffle(measured)
    return measured, drawn[:_WARM]


def _overviews(workspace: Path, index: IndexFile, count: int, rng: random.Random) -> list[str]:
    """Draw at most `count` questions about the project and about names that are plain words, since others
    have fewer variations."""
    names = [
        name for name in index.defined_names() if len(name) > 3 and name.isalpha() and name[1:].islower()
    ]
    chosen = rng.sample(names, min(max(0, count - 1), len(names)))
    return [f"what is {name}" for name in dict.fromkeys([workspace.name, *chosen])][:count]


# --- the command ----------------------------------------------------------------------------------


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    try:
        found = measure(workspace, data, options)
    except NotReadyError as problem:
        sys.exit(str(problem))
    record = {"conditions": {**run_conditions(), "seed": options.seed, "runs": options.runs}, **found}
    print(
        f"{found['workspace']}: {found['files']} files, {found['chunks']} chunks,"
        f" {found['questions']} questions ({found['overviews']} overviews), {options.runs} runs;"
        f" searches a question: {found['queries']['mean']} on average, {found['queries']['max']} at most\n"
    )
    print(table(found))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--questions", type=Path, help="a file with a question on each line")
    parser.add_argument("--count", type=int, default=60, help="questions to draw")
    parser.add_argument(
        "--runs", type=int, default=3, help="number of runs, each with and without partial results"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
