"""Collects pairs from public repositories: one JSON-lines file each, and a summary of each repository.

    collect.py LIST CLONES DEST [--processes 2]

LIST has a line for each repository: language, owner/name, separated by a tab. Clones are bare, with history,
in CLONES/owner+name/repo or CLONES/owner+name. Repositories without a permissive licence are left out, and
those already in DEST are not read again.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

from pairs import pairs_of
from repositories import open_repository


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("list", type=Path)
    parser.add_argument("clones", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.dest.mkdir(parents=True, exist_ok=True)
    wanted = []
    for line in options.list.read_text(encoding="utf-8").splitlines():
        language, name = line.split("\t")[:2]
        key = name.replace("/", "+")
        places = (options.clones / key / "repo", options.clones / key)
        folder = next((place for place in places if (place / "HEAD").exists()), None)
        if folder is None:
            print(f"{name}: no clone", file=sys.stderr)
        elif not (options.dest / f"{key}.json").exists():
            wanted.append((language, name, folder, options.dest))
    with multiprocessing.Pool(options.processes, maxtasksperchild=8) as pool:
        for said in pool.imap_unordered(_collect, wanted):
            print(said, flush=True)
    return 0


def _collect(task: tuple[str, str, Path, Path]) -> str:
    language, name, folder, dest = task
    began = time.monotonic()
    try:
        repository = open_repository(name, folder)
        licence = repository.licence()
    except (subprocess.CalledProcessError, OSError) as problem:
        return f"{name}: cannot be read: {problem}"
    facts: dict[str, object] = {
        "repository": name,
        "language": language,
        "revision": repository.revision,
        "licence": licence,
    }
    key = name.replace("/", "+")
    counts: collections.Counter[str] = collections.Counter()
    if licence:
        with (dest / f"{key}.part").open("w", encoding="utf-8", errors="replace") as file:
            for pair in pairs_of(repository):
                counts[pair.source] += 1
                row = [pair.source.name, pair.query, pair.text, pair.body, pair.path, pair.place]
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        (dest / f"{key}.part").replace(dest / f"{key}.jsonl")
    facts["pairs"] = dict(sorted(counts.items()))
    (dest / f"{key}.json").write_text(json.dumps(facts, indent=1) + "\n")
    return f"{name}: {licence}, {sum(counts.values()):,} pairs, {time.monotonic() - began:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
