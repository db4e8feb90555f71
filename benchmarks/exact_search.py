#!/usr/bin/env python3
"""Compare exact searches in the real daemon with ripgrep: the lines found, and the latency.

    python benchmarks/exact_search.py --rg RG --workspace FOLDER DATA [--workspace FOLDER DATA ...]
      [--output FILE] ...

DATA has the folder's index, which is completed first. The queries are words, parts of words and expressions,
drawn from the text of the folder's files. ripgrep gets the list of the indexed files, so that both search the
same text. Notebooks are left out, because Cairn searches their cells decoded. A difference in the lines is an
error of one of the two, and is listed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.daemon import Daemon
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.ready import NotReadyError, indexed

_MOST_LINES = 10_000
_FILES_AT_ONCE = 2_000
"""The number of files of one command, whose length the system limits."""
_NOTEBOOK = ".ipynb"
_WORD = re.compile(r"[A-Za-z_]\w{3,30}")

Places = set[tuple[str, int]]


class Query(NamedTuple):
    text: str
    regex: bool
    kind: str


def main() -> None:
    options = _arguments()
    rows = []
    for workspace, data in options.workspace:
        try:
            rows.append(measure(workspace.resolve(), data.resolve(), options))
        except NotReadyError as problem:
            sys.exit(str(problem))
    record = {"conditions": {**run_conditions(), "seed": options.seed}, "workspaces": rows}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if any(row["differences"] for row in rows):
        sys.exit("some lines differ")


def measure(workspace: Path, data: Path, options: argparse.Namespace) -> Figures:
    with indexed(workspace, data) as (daemon, index):
        with opened(data) as file:
            rows = file.rows("SELECT path FROM files WHERE is_text ORDER BY path")
        files = [path for (path,) in rows if not path.endswith(_NOTEBOOK)]
        places = ["**", f"!*{_NOTEBOOK}"] if len(files) < len(rows) else []
        queries = drawn_queries(workspace, files, options.count, random.Random(options.seed))
        queries += [Query(text, False, "given") for text in options.text]
        figures: dict[str, list[float]] = {}
        differences, lines = [], []
        for query in queries:
            answer = _ask(daemon, query, _MOST_LINES, places)  # It also reads the index from disk.
            there, seconds = _ripgrep(options.rg, workspace, files, query)
            here = _places(answer)
            lines.append(answer["lines"])
            is_same = answer["lines"] == len(there) and (len(there) > _MOST_LINES or here == there)
            if not (answer["complete"] and is_same):
                differences.append(_difference(query, answer, here, there))
            figures.setdefault(f"rg_{query.kind}", []).append(seconds)
            for _ in range(options.runs):
                began = time.perf_counter()
                _ask(daemon, query, options.limit, places)
                figures.setdefault(query.kind, []).append(time.perf_counter() - began)
        return {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "queries": len(queries),
            "most_lines": max(lines),
            "lines": sum(lines),
            **{f"{kind}_ms": milliseconds(seconds) for kind, seconds in sorted(figures.items())},
            "differences": differences,
        }


def drawn_queries(workspace: Path, files: Sequence[str], count: int, draw: random.Random) -> list[Query]:
    """Return `count` words, as many parts of words and as many expressions, from random lines."""

    def one(make: Callable[[str, str], Query | None]) -> Query:
        while True:
            text = (workspace / draw.choice(files)).read_text(encoding="utf-8", errors="replace")
            line = draw.choice(text.splitlines() or [""])
            words = _WORD.findall(line)
            if words and (query := make(draw.choice(words), line.strip())):
                return query

    def word(word: str, _: str) -> Query:
        return Query(word, False, "word")

    def part(word: str, line: str) -> Query | None:
        if draw.random() < 0.5:
            start = draw.randrange(len(word) - 2)
            return Query(word[start : start + draw.randint(3, 8)], False, "part")
        start = draw.randrange(len(line))
        text = line[start : start + draw.randint(3, 20)].strip()
        return Query(text, False, "part") if len(text) > 2 and text.isprintable() else None

    def expression(word: str, line: str) -> Query | None:
        other = draw.choice(_WORD.findall(line))
        forms = (
            rf"\b{word}\w*\(",
            rf"{word}|{other}",
            rf"^\s*{word[:3]}\w+\s*[=(]",
            rf"{word[:4]}.*{other[-3:]}",
            rf"(?i){word}\b",
            rf"\b[A-Z]{{2,}}_{word[:1]}\w+",
        )
        return Query(draw.choice(forms), True, "expression")

    return [one(make) for make in (word, part, expression) for _ in range(count)]


def _ask(daemon: Daemon, query: Query, limit: int, places: Sequence[str]) -> dict[str, Any]:
    params = {
        "query": query.text,
        "exact": True,
        "regex": query.regex,
        "limit": limit,
        "filter": {"path": places},
    }
    found: dict[str, Any] = daemon.send("cairn/search", params).result()["occurrences"]
    return found


def _places(answer: dict[str, Any]) -> Places:
    """Return the paths and 0-based numbers of the listed lines."""
    return {
        (file["path"], line["line"])
        for file in answer["found"]
        for definition in file["definitions"]
        for line in definition["lines"]
    }


def _ripgrep(rg: Path, workspace: Path, files: Sequence[str], query: Query) -> tuple[Places, float]:
    """Return the lines that ripgrep finds, and the seconds that it takes."""
    found: Places = set()
    options = ["--json", "--no-config", "--crlf", *(() if query.regex else ("--fixed-strings",))]
    began = time.perf_counter()
    for start in range(0, len(files), _FILES_AT_ONCE):
        some = files[start : start + _FILES_AT_ONCE]
        command = [str(rg), *options, "--regexp", query.text, "--", *some]
        done = subprocess.run(command, cwd=workspace, capture_output=True)
        if done.returncode > 1:
            sys.exit(done.stderr.decode())
        for line in done.stdout.splitlines():
            if (message := json.loads(line))["type"] == "match":
                found.add((message["data"]["path"]["text"], message["data"]["line_number"] - 1))
    return found, time.perf_counter() - began


def _difference(query: Query, answer: dict[str, Any], here: Places, there: Places) -> dict[str, Any]:
    return {
        "query": query.text,
        "regex": query.regex,
        "lines": answer["lines"],
        "reason": answer["reason"],
        "only_cairn": sorted(here - there)[:10],
        "only_rg": sorted(there - here)[:10],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workspace", type=Path, nargs=2, action="append", required=True, metavar=("FOLDER", "DATA")
    )
    parser.add_argument("--rg", type=Path, default=Path("rg"), help="the program to compare with")
    parser.add_argument("--text", action="append", default=[], help="a text to find as well; repeatable")
    parser.add_argument("--count", type=int, default=10, help="queries of each kind to draw")
    parser.add_argument("--runs", type=int, default=5, help="number of measured runs of each query")
    parser.add_argument("--limit", type=int, default=200, help="number of lines to list in these runs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
