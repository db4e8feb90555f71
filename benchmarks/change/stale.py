#!/usr/bin/env python3
"""Measure whether `cairn/change` marks the places that still use a removed or renamed definition, and no
others.

    python benchmarks/change/stale.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] [--data DIR]
        [--each 20] [--show N] [--output FILE]

A set is a file that `references/truth.py --uses` made. In a scratch clone of each repository, definitions are
removed or renamed without their uses, and in ways that leave no use: together with all uses, dead code, a
move, or one of several definitions of a name. Changes are given in turns as a change of the files, and as a
diff that is not applied.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import define, field
from engine.figures import Figures, run_conditions
from engine.markdown import table
from engine.place import kept_or_temporary
from references.model import CallerSet, read_sets
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.results import commit

from change.asking import repository
from change.dependents import APPLIED, FORMS, pinned, shown
from change.edits import word
from change.mutations import Mutation, Source
from change.scoring import LEAST_CONFIDENCE, Counts, places, total


@define
class Alarms:
    """Counts over changes that leave no use."""

    changes: int = 0
    false: int = 0
    """The changes with a stale place of a confidence that counts."""
    at_any: int = 0
    """The changes with a stale place of any confidence."""


@define
class Results:
    left: defaultdict[str, Counts] = field(factory=lambda: defaultdict(Counts))
    """By the kind of change that leaves uses."""
    none: defaultdict[str, Alarms] = field(factory=lambda: defaultdict(Alarms))
    """By the kind of change that leaves none."""


def main() -> None:
    options = _arguments()
    record: Figures = {
        "conditions": {**run_conditions(), "commit": commit(), "least_confidence": LEAST_CONFIDENCE},
        "sets": {},
    }
    try:
        with kept_or_temporary(options.data) as data:
            for folder in options.sets:
                results = {}
                for truth in read_sets([folder]):
                    if not options.only or truth.repository in options.only:
                        results[truth.repository] = (truth.language, measured(truth, data, options))
                record["sets"][folder.resolve().name] = figures(results)
                print(markdown(folder.name, record["sets"][folder.resolve().name]), flush=True)
    except CheckoutError as problem:
        sys.exit(str(problem))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measured(truth: CallerSet, data: Path, options: argparse.Namespace) -> Results:
    results = Results()
    with repository(pinned(truth, options.checkouts), data) as scratch:
        source = Source(truth, scratch)
        for kind, every in source.mutations().items():
            most = options.each if kind in ("removed", "renamed") else options.each // 2
            for number, mutation in enumerate(itertools.islice(every, most)):
                form = FORMS[number % len(FORMS)]
                applied = form == APPLIED
                answer = scratch.change(mutation.after, applied=applied)
                if mutation.uses:
                    wrong = _left(results.left[kind], truth, mutation, answer, applied)
                else:
                    wrong = _none(results.none[kind], answer)
                if options.show and wrong:
                    place = f"{mutation.sampled.path}:{mutation.sampled.line + 1} {mutation.sampled.name}"
                    kinds = sorted({f"{e['kind']} {e['symbol']}" for e in answer["changed"]})[:5]
                    print(f"{truth.repository} {kind} {place} ({form}): {kinds} {answer['messages']}")
                    for what, sites in wrong.items():
                        for line in shown(scratch, sites, options.show, answer):
                            print(f"  {what} {line}", flush=True)
    return results


def _left(
    counts: Counts, truth: CallerSet, mutation: Mutation, answer: dict[str, Any], applied: bool
) -> dict[str, set[Any]]:
    covered = {*truth.covered}
    uses = {mutation.now(site) if applied else site for site in mutation.uses if site.path in covered}
    name = word(mutation.sampled.name)
    lines = {(each["path"], each["range"]["start"]["line"]): each["line"] for each in answer["dependents"]}
    stale = {
        site: sure
        for site, sure in places(answer, {*range(len(answer["changed"]))}, stale=True).items()
        # Other lines use a member of a removed type, or another name under which it was imported.
        if site in uses or (site.path in covered and name.search(lines[site.path, site.line]))
    }
    missed, wrong = counts.add(uses, stale, answer)
    return {what: sites for what, sites in (("missed", missed), ("wrong", wrong)) if sites}


def _none(alarms: Alarms, answer: dict[str, Any]) -> dict[str, set[Any]]:
    stale = places(answer, set(range(len(answer["changed"]))), stale=True)
    sure = {site for site, confidence in stale.items() if confidence >= LEAST_CONFIDENCE}
    alarms.changes += 1
    alarms.false += bool(sure)
    alarms.at_any += bool(stale)
    return {"false alarm": sure} if sure else {}


def figures(results: dict[str, tuple[str, Results]]) -> Figures:
    languages: defaultdict[str, list[Results]] = defaultdict(list)
    for language, each in results.values():
        languages[language].append(each)
    every = [each for _, each in results.values()]
    return {
        "all": _merged(every),
        "by_kind": _by_kind(every),
        "languages": {name: _merged(each) for name, each in sorted(languages.items())},
        "repositories": {name: _merged([each]) for name, (_, each) in results.items()},
    }


def _merged(every: list[Results]) -> Figures:
    alarms = [each for results in every for each in results.none.values()]
    changes = sum(each.changes for each in alarms)
    return {
        "left": total(each for results in every for each in results.left.values()).figures(),
        "changes_without_uses": changes,
        "false_alarms": round(sum(each.false for each in alarms) / max(1, changes), 4),
        "false_alarms_at_any_confidence": round(sum(each.at_any for each in alarms) / max(1, changes), 4),
    }


def _by_kind(every: list[Results]) -> Figures:
    left: defaultdict[str, list[Counts]] = defaultdict(list)
    none: defaultdict[str, list[Alarms]] = defaultdict(list)
    for results in every:
        for kind, counts in results.left.items():
            left[kind].append(counts)
        for kind, alarms in results.none.items():
            none[kind].append(alarms)
    found: Figures = {kind: total(each).figures() for kind, each in left.items()}
    for kind, each in none.items():
        found[kind] = {
            "changes": sum(alarms.changes for alarms in each),
            "false_alarms": sum(alarms.false for alarms in each),
            "at_any_confidence": sum(alarms.at_any for alarms in each),
        }
    return found


def markdown(name: str, given: Figures) -> str:
    """Return the figures of a set as tables."""
    head = (
        "of changes any-found all-found recall precision without-uses false-alarms at-any-confidence".split()
    )
    rows = [("all", given["all"]), *given["languages"].items(), *given["repositories"].items()]
    cells = [
        [
            label, each["left"]["definitions"], each["left"]["any_found"], each["left"]["all_found"],
            each["left"]["recall"], each["left"]["precision"], each["changes_without_uses"],
            each["false_alarms"], each["false_alarms_at_any_confidence"],
        ]
        for label, each in rows
    ]  # fmt: skip
    kinds = "\n".join(f"- {kind}: {_short(each)}" for kind, each in given["by_kind"].items())
    return f"## {name}\n\n{table(head, [[str(cell) for cell in row] for row in cells])}\n\n{kinds}\n"


def _short(each: Figures) -> str:
    if "changes" in each:
        return f"{each['false_alarms']} of {each['changes']}, {each['at_any_confidence']} at any confidence"
    shares = f"any {each['any_found']}, all {each['all_found']}, recall {each['recall']}"
    return f"{each['definitions']} changes, {shares}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of sets")
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, help="keep clones and indexes here for the next run")
    parser.add_argument(
        "--each", type=int, default=20, help="changes of each kind; half as many that leave no use"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N missed and wrong places of each"
    )
    parser.add_argument("--output", type=Path, help="write JSON here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
