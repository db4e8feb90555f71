#!/usr/bin/env python3
"""Measure whether `cairn/change` shows the uses of functions and types whose signature changed, as a language
server knows them.

    python benchmarks/change/dependents.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] [--data DIR]
        [--definitions 200] [--show N] [--output FILE]

A set is a file that `references/truth.py --uses` made. In a scratch clone of each repository, each definition
gets one more parameter, or a type another supertype or type parameter: in turns as a change of the file, and
as a diff that is not applied.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures, run_conditions
from engine.markdown import table
from engine.place import kept_or_temporary
from references.model import CallerSet, Sampled, Site, read_sets
from retrieval.checkouts import CheckoutError, add_checkouts_option, checkout
from retrieval.results import commit
from retrieval.sets import Repository as Pinned

from change.asking import Repository, repository
from change.edits import found_in, with_parameter
from change.scoring import LEAST_CONFIDENCE, Counts, places, total

DIFF, APPLIED = "diff", "working tree"
FORMS = (DIFF, APPLIED)
"""The forms in which a change is given, in turns."""


def main() -> None:
    options = _arguments()
    record: Figures = {
        "conditions": {**run_conditions(), "commit": commit(), "least_confidence": LEAST_CONFIDENCE},
        "sets": {},
    }
    try:
        with kept_or_temporary(options.data) as data:
            for folder in options.sets:
                sets = [
                    each
                    for each in read_sets([folder])
                    if not options.only or each.repository in options.only
                ]
                most = -(-options.definitions // max(1, len(sets)))
                counts = {
                    each.repository: (
                        each.language,
                        measured(each, options.checkouts, data, most, options.show),
                    )
                    for each in sets
                }
                record["sets"][folder.resolve().name] = _figures(counts)
                print(markdown(folder.name, record["sets"][folder.resolve().name]), flush=True)
    except CheckoutError as problem:
        sys.exit(str(problem))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def pinned(truth: CallerSet, checkouts: Sequence[Path]) -> Path:
    """Return the checkout of a set. Raises CheckoutError if it is missing or at another revision."""
    given = Pinned(truth.repository, truth.language, truth.address, truth.revision, ".")
    folder = next((each for each in checkouts if (each / truth.repository).exists()), checkouts[0])
    return checkout(given, folder)


def measured(
    truth: CallerSet, checkouts: Sequence[Path], data: Path, most: int, show: int
) -> dict[str, Counts]:
    """Return the counts of up to `most` definitions, by the form in which the change was given."""
    counts: defaultdict[str, Counts] = defaultdict(Counts)
    with repository(pinned(truth, checkouts), data) as scratch:
        chosen = list(_changes(scratch, truth))
        step = max(1.0, len(chosen) / most)
        for number in range(min(most, len(chosen))):
            sampled, text, uses = chosen[int(number * step)]
            form = FORMS[number % len(FORMS)]
            answer = scratch.change({sampled.path: text}, applied=form == APPLIED)
            about = _about(answer, sampled)
            kinds = {answer["changed"][index]["kind"] for index in about}
            outside = _outside(scratch, truth, sampled)
            found = {site: sure for site, sure in places(answer, about).items() if outside(site)}
            missed, wrong = counts[form].add(uses, found, answer)
            if show and (missed or wrong or kinds != {"signature"}):
                place = f"{truth.repository} {sampled.path}:{sampled.line + 1} {sampled.name} ({form})"
                print(f"{place}: {sorted(kinds)}, {len(uses)} uses, {answer['complete']}")
                for what, sites in (("missed", missed), ("wrong", wrong)):
                    for line in shown(scratch, sites, show, answer):
                        print(f"  {what} {line}", flush=True)
    return counts


def _changes(scratch: Repository, truth: CallerSet) -> Iterator[tuple[Sampled, str, set[Site]]]:
    """Yield the definitions whose head can be changed, with the changed text and the uses outside of them."""
    for sampled in truth.functions:
        text = scratch.text(sampled.path)
        uses = {*filter(_outside(scratch, truth, sampled), sampled.callers)}
        changed = with_parameter(sampled.path, text, sampled) if text is not None else None
        if changed is not None and uses:
            yield sampled, changed, uses


def _about(answer: Mapping[str, Any], sampled: Sampled) -> set[int]:
    """Return the indexes of the changed definitions that are the sampled one."""
    found = set()
    for index, each in enumerate(answer["changed"]):
        lines = range(each["range"]["start"]["line"], each["range"]["end"]["line"])
        is_here = each["path"] == sampled.path and sampled.line in lines
        found |= {index} if is_here and each["symbol"].endswith(sampled.name) else set()
    return found


def _outside(scratch: Repository, truth: CallerSet, sampled: Sampled) -> Callable[[Site], bool]:
    """Return whether a place counts: the server reads its file, and it is not in the definition itself."""
    text, covered = scratch.text(sampled.path), frozenset(truth.covered)
    found = found_in(sampled.path, text, sampled) if text is not None else None
    own = range(found.start, found.end) if found else range(sampled.line, sampled.line + 1)
    return lambda site: site.path in covered and not (site.path == sampled.path and site.line in own)


def shown(scratch: Repository, sites: set[Site], most: int, answer: dict[str, Any]) -> Iterator[str]:
    """Yield some of the places as lines of text, with what the answer says of them."""
    said = {(each["path"], each["range"]["start"]["line"]): each for each in answer["dependents"]}
    for site in sorted(sites, key=lambda site: (site.path, site.line))[:most]:
        lines = (scratch.text(site.path) or "").split("\n")
        each = said.get((site.path, site.line))
        line = each["line"] if each else lines[site.line] if site.line < len(lines) else "?"
        more = f"  [{each['kind']} {each['confidence']:.2f} {each['reasons'][:1]}]" if each else ""
        yield f"{site.path}:{site.line + 1} {line.strip()[:110]}{more}"


def _figures(counts: dict[str, tuple[str, dict[str, Counts]]]) -> Figures:
    languages: defaultdict[str, list[Counts]] = defaultdict(list)
    forms: defaultdict[str, list[Counts]] = defaultdict(list)
    for language, by_form in counts.values():
        languages[language] += by_form.values()
        for form, each in by_form.items():
            forms[form].append(each)
    every = [each for _, by_form in counts.values() for each in by_form.values()]
    return {
        "all": total(every).figures(),
        "languages": {name: total(each).figures() for name, each in sorted(languages.items())},
        "forms": {name: total(each).figures() for name, each in sorted(forms.items())},
        "repositories": {name: total(each.values()).figures() for name, (_, each) in counts.items()},
    }


def markdown(name: str, figures: Figures) -> str:
    """Return the figures of a set as a table."""
    columns = ("definitions", "uses", "recall", "precision", "mean_recall", "mean_precision", "unfinished")
    rows = [("all", figures["all"])]
    for group in ("languages", "forms", "repositories"):
        rows += list(figures[group].items())
    cells = [
        [label, *(each[column] for column in columns), *(_at_least(each, sure) for sure in ("0.0", "0.7"))]
        for label, each in rows
    ]
    head = ["of", *columns, "at any confidence", "at 0.7"]
    return f"## {name}\n\n{table(head, [[str(cell) for cell in row] for row in cells])}\n"


def _at_least(figures: Figures, sure: str) -> str:
    given = figures["at_least"][sure]
    return f"{given['recall']} · {given['precision']}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of sets")
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, help="keep clones and indexes here for the next run")
    parser.add_argument("--definitions", type=int, default=200, help="definitions of each folder of sets")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N missed and wrong places of each"
    )
    parser.add_argument("--output", type=Path, help="write JSON here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
