#!/usr/bin/env python3
"""Ask Cairn the same questions in this process, over existing indexes, which takes seconds instead of
minutes, for tuning.

    python benchmarks/answers/in_process.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] --data DIR
      [--explain ID ...] ...

Requests go through the same code as in every front, but nothing is indexed or watched, no deadline ends a
search early, and the kill switch is off. The daemon makes missing indexes; with `--complete` it also looks
for changes in the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from attrs import evolve
from engine.figures import Figures
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.sets import SetError

from answers.asking import CAIRN, DISCOVER, Request, Retrieved
from answers.explained import explained
from answers.facts import MAIN_BUDGET, read_fact_sets
from answers.report import tables
from answers.summary import by_question, summary
from answers.workplaces import Workplace, workplaces
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.retrieval import window_ranking
from cairn.settings.tree import Settings

_Sections = Mapping[str, Mapping[str, Any]]

_SETTINGS: _Sections = {
    "search": {"legDeadlineMs": 600_000},
    "retrieval": {"killSwitch": {"automatic": False}},
    "log": {"queries": False},
}


@contextmanager
def opened(place: Workplace, host: Host, settings: _Sections) -> Iterator[Request]:
    """Open an engine on the place's checkout, which only reads the index."""
    os.environ["CAIRN_DATA_DIR"] = str(place.data)
    sections = {
        name: {**_SETTINGS.get(name, {}), **settings.get(name, {})} for name in {*_SETTINGS, *settings}
    }
    engine = Engine(sections, host=host)
    engine.add_folder(place.tree, keep_indexed=False)
    try:
        if engine.warnings or not engine.searchable():
            raise SystemExit(
                f"{place.data} has no index that can be searched "
                f"({'; '.join(engine.warnings) or 'use --complete'})."
            )
        yield partial(answer, engine.request())
    finally:
        engine.stop()


def retrieve(
    places: Sequence[Workplace], systems: Sequence[str], settings: _Sections
) -> dict[str, list[Retrieved]]:
    """Return the text that each system retrieves for each question."""
    host = Host(Settings().embedding)
    retrieved: dict[str, list[Retrieved]] = {name: [] for name in systems}
    for place in places:
        with opened(place, host, settings) as request:
            for name in systems:
                retrieved[name] += [
                    CAIRN[name](request, question, place.tree) for question in place.questions
                ]
    return retrieved


def changes(before: Mapping[str, Sequence[Figures]], now: Mapping[str, Sequence[Figures]]) -> str:
    """Return the questions whose share of the facts at the main budget changed."""
    lines = []
    for name in now.keys() & before.keys():
        known = {each["id"]: each["facts"][str(MAIN_BUDGET)] for each in before[name]}
        for each in now[name]:
            was, share = known.get(each["id"]), each["facts"][str(MAIN_BUDGET)]
            if was is not None and share is not None and was != share:
                lines.append(f"{'+' if share > was else '-'} {name} {each['id']}: {was:.2f} → {share:.2f}")
    return "\n".join(sorted(lines))


def leave_out(key: str) -> None:
    """Give windows the value 0 by the signal with this key, in this process."""
    kept = [
        evolve(signal, value=lambda windows: np.zeros(len(windows.texts))) if signal.key == key else signal
        for signal in window_ranking.SIGNALS
    ]
    if kept == list(window_ranking.SIGNALS):
        sys.exit(f"No signal of windows has the key {key}.")
    window_ranking.SIGNALS = tuple(kept)


def main() -> None:
    options = _arguments()
    if options.without:
        leave_out(options.without)
    try:
        questions = read_fact_sets(options.sets, options.only)
        if options.explain:
            questions = [question for question in questions if question.id in options.explain]
        places = workplaces(questions, options.checkouts, options.data)
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    for place in places:
        if options.complete or not list(place.data.glob("workspaces/*")):
            print(f"{place.repository.name}: making its index", file=sys.stderr, flush=True)
            with place.served():
                pass
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="cairn-answers-") as settings:
        os.environ["CAIRN_CONFIG_DIR"] = settings  # The user's own settings must not change the results.
        retrieved = retrieve(places, options.systems, json.loads(options.settings))
    if options.explain:
        for name, every in retrieved.items():
            print("\n".join(explained(name, each) for each in every))
    else:
        print(tables({name: summary(every) for name, every in retrieved.items()}))
        print(f"\n{len(questions)} questions in {time.perf_counter() - began:.1f} s")
    records = {name: by_question(every) for name, every in retrieved.items()}
    if options.compare:
        print(changes(json.loads(options.compare.read_text(encoding="utf-8")), records))
    if options.output:
        options.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders with facts.json")
    add_checkouts_option(parser)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument("--systems", nargs="+", choices=CAIRN, default=[DISCOVER])
    parser.add_argument(
        "--settings", default="{}", metavar="JSON", help="settings over the defaults, in an editor's form"
    )
    parser.add_argument(
        "--without", metavar="KEY", help="rank windows without this signal (`retrieval/window_signals.py`)"
    )
    parser.add_argument("--complete", action="store_true", help="bring all indexes up to date first")
    parser.add_argument("--explain", nargs="+", metavar="ID", help="show only these questions, with prompts")
    parser.add_argument("--output", type=Path, help="write a record for each question here")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the changes since this output")
    return parser.parse_args()


if __name__ == "__main__":
    main()
