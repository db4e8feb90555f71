#!/usr/bin/env python3
"""Count the files that Cairn excludes as secrets, by kind, and measure the rules' share of indexing.

    python benchmarks/secret_files.py CHECKOUT ... [--generated 20000] [--list] [--output FILE]

For each checkout: how many files and folders the rules exclude by their paths, how many files by each kind
of content, and the CPU time of both kinds of rules. Of the first checkout also their share of the time of
reading and chunking the files; that takes minutes. With --list, the excluded files are printed for a review.
Generated files say how many with random tokens and passwords are missed, and how many with placeholders are
excluded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from engine.figures import Figures, run_conditions
from tests.workspace import secret_files

from cairn.index.indexing.reading import ReadRequest, read_file
from cairn.settings.tree import IndexSettings
from cairn.workspace.builtin_rules import decide_content, decide_directory_path, decide_file_path
from cairn.workspace.scan import FileRules, ScanReport, read_text, scan
from cairn.workspace.secret_content import find_secret

_SECRETS = "built-in: may hold secrets"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument(
        "--generated", type=int, default=20_000, help="the number of generated files of each kind"
    )
    parser.add_argument("--list", action="store_true", help="print the excluded files")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    results = {
        "conditions": run_conditions(),
        "checkouts": {each.name: _count(each, options) for each in options.checkouts},
        "generated": _generated(options.generated),
    }
    text = json.dumps(results, indent=2) + "\n"
    print(text, end="")
    if options.output:
        options.output.write_text(text, encoding="utf-8")


def _count(checkout: Path, options: argparse.Namespace) -> Figures:
    report = ScanReport(most_examples=sys.maxsize)
    entries = list(scan(checkout, FileRules(checkout, IndexSettings()), report))
    by_path = [path for path, _ in report.examples.get(_SECRETS, [])]
    kinds: Counter[str] = Counter()
    of_paths = of_contents = reading = 0.0
    for entry in entries:
        started = time.process_time()
        decide_directory_path(entry.path.rpartition("/")[0])
        decide_file_path(entry.path)
        of_paths += time.process_time() - started
        text = read_text(checkout / entry.path)
        started = time.process_time()
        secret = find_secret(entry.path, text or "")
        of_contents += time.process_time() - started
        if secret and text and decide_content(entry.path, text).rule == _SECRETS:
            kinds[secret.partition(" has ")[2]] += 1
            if options.list:
                print(f"{checkout.name}: {entry.path}: {secret}")
        if checkout == options.checkouts[0]:
            started = time.process_time()
            read_file(checkout, ReadRequest(entry, "", None))
            reading += time.process_time() - started
    if options.list:
        print(*(f"{checkout.name}: {path}" for path in by_path), sep="\n")
    return {
        "files": len(entries),
        "excluded_by_path": len(by_path),
        "excluded_by_content": dict(kinds.most_common()),
        "seconds_of_path_rules": round(of_paths, 2),
        "seconds_of_content_rules": round(of_contents, 2),
        "seconds_of_reading": round(reading, 2),
        "share": round((of_paths + of_contents) / reading, 4) if reading else None,
    }


def _generated(count: int) -> Figures:
    with_tokens = [find_secret(*file) for file in secret_files.files_with_tokens(1, count)]
    with_passwords = [find_secret(*file) for file in secret_files.files_with_passwords(1, count)]
    with_placeholders = [find_secret(*file) for file in secret_files.files_with_placeholders(1, count)]
    return {
        "files_of_each_kind": count,
        "missed_tokens": with_tokens.count(""),
        "missed_passwords": with_passwords.count(""),
        "excluded_placeholders": count - with_placeholders.count(""),
    }


if __name__ == "__main__":
    main()
