#!/usr/bin/env python3
"""Measure whether a team's database gives the same answers as the index files that it was made from.

    python benchmarks/team/equality.py --store URL --data KEPT --sets SETS [--kind folder] [--vectors FOLDER]
      [--output FILE]

KEPT is the data folder of benchmarks/retrieval, with an index for each repository; SETS the questions.
Missing indexes are published into the database at URL (its owner's), and every question is ranked over the
file and over the database. Indexes without vectors are copied into FOLDER, by default a temporary one, and
get those of the packaged table there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.index_file import index_path
from retrieval.asking import Answer
from retrieval.in_process import OpenIndex, copied_index, use_table
from retrieval.sets import read_sets

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.snapshot_catalogue import read_snapshot
from cairn.index.postgres.snapshots import RequestReads
from cairn.index.postgres.transactions import Store
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.retrieval.meaning import Meaning
from team.publication import READER, published


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--kind", default="folder")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    questions = read_sets([options.sets], options.only)
    table = load_packaged()
    meaning = Meaning(table)
    made = options.vectors or Path(tempfile.mkdtemp(prefix="cairn-equality-"))
    store = Store([options.store])
    rows: list[dict[str, Any]] = []
    for repository in sorted({question.repository.name for question in questions}):
        data = options.data / f"{repository}-{options.kind}"
        if not data.is_dir():
            continue
        folder = _with_vectors(index_path(data).parent, data, made / data.name, table)
        publication = published(options.store, repository, folder)
        key = publication.key
        began = time.perf_counter()
        memory = store.read(READER, partial(read_snapshot, key=key))
        opened = time.perf_counter() - began
        assert memory is not None
        own = [question for question in questions if question.repository.name == repository]
        here = OpenIndex.at(folder)
        file: list[Answer] = []
        database: list[Answer] = []
        for question in [
            *own[:3],
            *own,
        ]:  # Both take turns, so that other load slows both; the first ones warm up.
            file += here.ranked([question], meaning)
            with RequestReads(store, READER) as session:
                there = OpenIndex(folder, PostgresReader.of(session, memory))
                database += there.ranked([question], meaning)
        file, database = file[-len(own) :], database[-len(own) :]
        same = [one.results == other.results for one, other in zip(file, database, strict=True)]
        row = {
            "repository": repository,
            "questions": len(own),
            "equal": sum(same),
            "ndcg file": statistics.mean(each.scores.ndcg_at_10 for each in file),
            "ndcg database": statistics.mean(each.scores.ndcg_at_10 for each in database),
            "ms file": statistics.median(each.ms for each in file),
            "ms database": statistics.median(each.ms for each in database),
            "chunks": memory.chunks,
            "seconds to open": opened,
            "chunks per second": publication.pace,
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
        for question, one, other, equal in zip(own, file, database, same, strict=True):
            if not equal:
                print("   differs:", question.query[:80])
                for a, b in zip(one.results, other.results, strict=False):
                    if a != b:
                        print("      ", a, b)
                        break
    asked_in_all = sum(row["questions"] for row in rows)
    summary = {
        "equal": sum(row["equal"] for row in rows) / asked_in_all,
        "ndcg file": sum(row["ndcg file"] * row["questions"] for row in rows) / asked_in_all,
        "ndcg database": sum(row["ndcg database"] * row["questions"] for row in rows) / asked_in_all,
    }
    print(json.dumps(summary))
    if options.output:
        options.output.write_text(json.dumps({"summary": summary, "repositories": rows}, indent=2) + "\n")
    return 0


def _with_vectors(folder: Path, data: Path, copy: Path, table: StaticTable) -> Path:
    """Return the folder of the index in `data`, or of a copy of it with vectors of the table."""
    if SqliteReader(folder).static_table():
        return folder
    if not (copy / DATABASE_NAME).is_file():
        use_table(copied_index(data, copy), table)
    return copy


if __name__ == "__main__":
    sys.exit(main())
