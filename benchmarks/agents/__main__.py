#!/usr/bin/env python3
"""Measure how many tokens and calls loops of tool calls spend until they have the facts: Cairn's tools, grep,
semble.

    python benchmarks/agents --sets DIR --checkouts DIR [DIR ...] --data DIR [--held-out DIR]
      [--semble PYTHON] [--output FILE]

For each system it takes the loop that costs least on half of the questions of `--sets`; the other half and
the questions of `--held-out` check it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from answers.facts import FactQuestion, read_fact_sets
from answers.workplaces import workplaces
from engine.figures import Figures, run_conditions
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.results import commit
from retrieval.sets import SetError

from agents import plot, report
from agents.figures import HEADLINE, SESSION, compared, cost, mean_cost, summary
from agents.loops import CALL_CAP, TOKEN_CAP, Trace, half
from agents.measurement import LoopRuns, Measured, measure, size_figures
from agents.systems import CAIRN, LOOPS, SEMBLE


def main() -> None:
    options = _arguments()
    systems = [name for name in options.systems if name != SEMBLE or options.semble]
    try:
        questions = read_fact_sets(options.sets, options.only)
        places = workplaces(questions, options.checkouts, options.data)
        tuned = measure(places, options.semble, systems)
        chosen = {name: tuned.systems[name].chosen(questions) for name in systems}
        other = read_fact_sets(options.held_out) if options.held_out else []
        unseen_places = workplaces(other, options.checkouts, options.data)
        unseen_runs = measure(unseen_places, options.semble, systems, chosen)
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    record = results(tuned, unseen_runs, chosen, questions, other)
    text = report.markdown(record)
    print(text)
    if options.output:
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        options.output.with_suffix(".md").write_text(text, encoding="utf-8")
        curves = {name: each["facts_within"] for name, each in record["groups"]["all"]["systems"].items()}
        title = "share of the facts of a question that were received, development questions"
        options.output.with_suffix(".svg").write_text(plot.svg(curves, title), encoding="utf-8")


def results(
    tuned: Measured,
    unseen_runs: Measured,
    chosen: dict[str, str],
    questions: Sequence[FactQuestion],
    other: Sequence[FactQuestion],
) -> Figures:
    """Return the content of the results file."""
    groups = {
        "all": (tuned, [each.id for each in questions]),
        "chosen on": (tuned, [each.id for each in questions if half(each) == "a"]),
        "checked on": (tuned, [each.id for each in questions if half(each) == "b"]),
        "held out": (unseen_runs, [each.id for each in other]),
    }
    return {
        "conditions": {
            **run_conditions(),
            "commit": commit(),
            "token_cap": TOKEN_CAP,
            "call_cap": CALL_CAP,
            "session": SESSION,
            "headline": HEADLINE,
        },
        "listing_bytes": tuned.listing,
        "chosen": chosen,
        "groups": {
            name: _group(measured, ids, chosen)
            for name, (measured, ids) in groups.items()
            if any(_traces(measured.systems[system], loop, ids) for system, loop in chosen.items())
        },
        "loops": {name: _loops(tuned.systems[name]) for name in chosen},
        "sizes": {
            "development": size_figures(tuned.sizes),
            "held out": size_figures(unseen_runs.sizes),
        },
        "questions": {
            name: [
                _question(trace, measured.systems[name].definitions[loop])
                for measured in (tuned, unseen_runs)
                for trace in measured.systems[name].traces.get(loop, [])
            ]
            for name, loop in chosen.items()
        },
    }


def _group(measured: Measured, ids: Sequence[str], chosen: dict[str, str]) -> Figures:
    traces = {name: _traces(measured.systems[name], loop, ids) for name, loop in chosen.items()}
    definitions = {name: measured.systems[name].definitions[loop] for name, loop in chosen.items()}
    return {
        "systems": {name: summary(each, definitions[name]) for name, each in traces.items()},
        **{
            key: {
                name: compared(
                    traces[CAIRN], definitions[CAIRN] / questions, each, definitions[name] / questions
                )
                for name, each in traces.items()
                if name != CAIRN and CAIRN in traces
            }
            for key, questions in (("compared", 1), ("compared_in_sessions", SESSION))
        },
    }


def _traces(runs: LoopRuns, loop: str, ids: Sequence[str]) -> list[Trace]:
    return [trace for trace in runs.traces.get(loop, []) if trace.question.id in set(ids)]


def _loops(runs: LoopRuns) -> Figures:
    """Return, by loop and half, both kinds of mean of the tokens until the headline's share."""
    return {
        name: {
            side: [round(mean(those, runs.definitions[name])) for mean in (cost, mean_cost)]
            for side in "ab"
            if (those := [trace for trace in traces if half(trace.question) == side])
        }
        for name, traces in runs.traces.items()
    }


def _question(trace: Trace, definitions: float) -> Figures:
    tokens_by_share = {f"{share:.0%}": trace.tokens_to(share, definitions) for share in (0.5, 0.8, 1.0)}
    return {
        "id": trace.question.id,
        "tokens_until": {
            share: None if value is None else round(value) for share, value in tokens_by_share.items()
        },
        "calls_until_80%": trace.calls_to(HEADLINE, definitions),
        "share_at_end": round(trace.share(-1), 3) if trace.spent else 0.0,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders with facts.json")
    parser.add_argument(
        "--held-out", type=Path, nargs="+", default=[], help="further such folders, for checking"
    )
    add_checkouts_option(parser)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument("--systems", nargs="+", choices=list(LOOPS), default=list(LOOPS), metavar="SYSTEM")
    parser.add_argument("--semble", type=Path, metavar="PYTHON", help="an interpreter with semble")
    parser.add_argument("--output", type=Path, help="write JSON here; tables and plot beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
