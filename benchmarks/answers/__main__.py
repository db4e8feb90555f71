#!/usr/bin/env python3
"""Measure how many of the facts that an answer needs the real daemon retrieves, at several budgets, compared
with ripgrep and semble.

    python benchmarks/answers --sets DIR [DIR ...] --checkouts DIR [DIR ...] [--data DIR] [--output FILE] ...

A set is a folder of `facts.json` with `repos.tsv` in it or in its parent. Whole checkouts are indexed with
the code model that comes with Cairn, and never written to.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # `python benchmarks/answers` puts the package's own folder on the path; its siblings are in the parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import DaemonDiedError
from engine.figures import Figures, run_conditions
from engine.place import kept_or_temporary
from engine.ready import NotReadyError
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.results import commit
from retrieval.sets import SetError

from answers import plot, report
from answers.asking import Retrieved
from answers.explained import explained
from answers.facts import MAIN_BUDGET, read_fact_sets
from answers.measurement import SYSTEMS, Answers, measure
from answers.summary import by_question, mean_share, summary
from answers.workplaces import Workplace, workplaces


def main() -> None:
    options = _arguments()
    try:
        places, collected = _run(options)
    except (SetError, CheckoutError, NotReadyError, DaemonDiedError) as problem:
        sys.exit(str(problem))
    if options.explain:
        for name, every in collected.retrieved.items():
            print("\n".join(explained(name, each) for each in every))
        return
    record = results(collected, places, options.sets, options.systems)
    print(report.markdown(record))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        options.output.with_suffix(".md").write_text(report.markdown(record), encoding="utf-8")
        options.output.with_suffix(".svg").write_text(plot.svg(record["systems"]), encoding="utf-8")


def _run(options: argparse.Namespace) -> tuple[list[Workplace], Answers]:
    questions = read_fact_sets(options.sets, options.only)
    if options.explain:
        questions = [question for question in questions if question.id in options.explain]
    translations = (
        json.loads(options.translations.read_text(encoding="utf-8")) if options.translations else {}
    )
    with kept_or_temporary(options.data) as data:
        places = workplaces(questions, options.checkouts, data)
        return places, measure(places, options.systems, options.semble, translations)


def results(
    collected: Answers, places: Sequence[Workplace], sets: Sequence[Path], systems: Sequence[str]
) -> Figures:
    """Return the results file: conditions, repositories, and the figures and answers of each system."""
    measured = {name: each for name, each in collected.retrieved.items() if name not in collected.unavailable}
    models = {figures["model"] for figures in collected.indexes.values()}
    return {
        "conditions": {
            **run_conditions(),
            "commit": commit(),
            "model": ", ".join(sorted(models)),
            "sets": [each.resolve().name for each in sets],
            "ms_at_tokens": MAIN_BUDGET,
        },
        "repositories": {
            place.repository.name: {
                "language": place.repository.language,
                "revision": place.repository.revision,
                "index": collected.indexes[place.repository.name],
            }
            for place in places
        },
        "systems": {
            name: summary(measured[name])
            if name in measured
            else {"not_available": collected.unavailable[name]}
            for name in systems
        },
        "translations": {
            language: {name: _translation(texts[name], measured[name]) for name in measured}
            for language, texts in collected.translated.items()
        },
        "questions": {name: by_question(retrieved) for name, retrieved in measured.items()},
    }


def _translation(retrieved: Sequence[Retrieved], english: Sequence[Retrieved]) -> Figures:
    """Return the share of the facts at the main budget, beside that of the same questions in English."""
    ids = {each.question.id for each in retrieved}
    there = mean_share(retrieved, MAIN_BUDGET)
    same = mean_share([each for each in english if each.question.id in ids], MAIN_BUDGET)
    return {
        "questions": len(ids),
        "facts": there,
        "english": same,
        "of_english": round(there / same, 4) if there is not None and same else None,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders with facts.json")
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--semble", type=Path, metavar="PYTHON", help="an interpreter with semble")
    parser.add_argument(
        "--translations",
        type=Path,
        metavar="FILE",
        help="also ask these translations: {language: {id: question}}",
    )
    parser.add_argument("--explain", nargs="+", metavar="ID", help="show only these questions, with prompts")
    parser.add_argument("--output", type=Path, help="write JSON here; tables and plot beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
