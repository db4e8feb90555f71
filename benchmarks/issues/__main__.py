#!/usr/bin/env python3
"""Measure whether all files that an issue's fix changed are among the first results for the issue's text,
compared with BM25.

    python benchmarks/issues --issues FILE.jsonl.gz --clones DIR --data DIR [--only OWNER/NAME ...]
        [--every N] [--store URL] [--output FILE]

`DIR` of `--clones` has a clone of each repository as `owner__name`, with its whole history. An index for each
issue is made and kept in `--data`: 4 to 20 s and 5 to 100 MB each. With `--store` it is also published into a
team's database and queried there. The query is only the text of the issue, in this process, without
deadlines.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import run_conditions
from large.asking import search_settings
from retrieval.results import commit

from cairn.errors import CairnError
from issues.indexes import CloneError, Indexes
from issues.measurement import BM25_OF_CODE, CAIRN, STORED, Found, found
from issues.report import by_project, markdown, rank_of
from issues.sets import SetError, read_issues


def main() -> None:
    options = _arguments()
    systems = [*options.systems, *([STORED] if options.store else [])]
    every: dict[str, list[Found]] = {system: [] for system in systems}
    try:
        issues = read_issues(options.issues, options.only, options.every)
        settings = search_settings(options.settings)
        indexes = Indexes(options.clones.resolve(), options.data.resolve())
        results = found(indexes, issues, settings, systems, options.store)
        for number, (system, each) in enumerate(results, 1):
            every[system].append(each)
            if number % 50 == 0:
                print(f"{number} of {len(issues) * len(systems)}", file=sys.stderr, flush=True)
    except (SetError, CloneError, CairnError) as problem:
        sys.exit(str(problem))
    figures = {system: by_project(each) for system, each in every.items() if each}
    print(markdown(figures))
    if options.compare:
        print(_changes(json.loads(options.compare.read_text(encoding="utf-8")), every[CAIRN]))
    if options.output:
        record = {
            "conditions": {**run_conditions(), "commit": commit(), "set": options.issues.name},
            "systems": figures,
            "ranks": {system: _ranks(each) for system, each in every.items()},
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _ranks(every: list[Found]) -> dict[str, int | None]:
    """Return for each issue the rank of the last changed code file."""
    return {each.issue.id: rank_of(each, code_only=True) for each in every}


def _changes(before: dict[str, dict[str, dict[str, int | None]]], now: list[Found]) -> str:
    """Return the issues whose rank changed, if one of both ranks is among the first ten."""
    lines = []
    for issue, rank in _ranks(now).items():
        was = before["ranks"][CAIRN].get(issue, rank)
        if was != rank and min(was or 99, rank or 99) <= 10:
            lines.append(f"{'+' if (rank or 99) < (was or 99) else '-'} {issue}: {was} → {rank}")
    return "\n".join(sorted(lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--issues", type=Path, required=True, help="the set")
    parser.add_argument("--clones", type=Path, required=True, help="a folder with a clone of each repository")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="OWNER/NAME", help="only these repositories")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every Nth issue of each repository"
    )
    parser.add_argument("--systems", nargs="+", choices=(CAIRN, BM25_OF_CODE), default=[CAIRN, BM25_OF_CODE])
    parser.add_argument(
        "--store", default="", metavar="URL", help="owner's URL of a team's database, to query it as well"
    )
    parser.add_argument("--settings", metavar="JSON", help="settings of `search` over the defaults")
    parser.add_argument("--output", type=Path, help="write figures and ranks here")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the changes since this output")
    return parser.parse_args()


if __name__ == "__main__":
    main()
