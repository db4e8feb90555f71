#!/usr/bin/env python3
"""Whether a team's database answers as the index files do that it was made from.

    python benchmarks/team/equality.py --store URL --data KEPT --sets SETS [--kind folder] [--output FILE]

KEPT is the data folder of benchmarks/retrieval, with an index for each repository; SETS the questions. Each index is published into
the database at URL (its owner's), unless it is there, and every question is ranked over the file and over the database.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.index_file import index_path
from retrieval.in_process import OpenIndex
from retrieval.sets import read_sets

from cairn.embedding.packaged import load_packaged
from cairn.index.postgres.access import grant
from cairn.index.postgres.catalogue import SnapshotKey, read_snapshot
from cairn.index.postgres.connection import Store
from cairn.index.postgres.publishing import Home, Revision, publish
from cairn.index.postgres.reader import PostgresReader
from cairn.index.postgres.repositories import find_home
from cairn.index.postgres.schema import prepare
from cairn.index.postgres.segment import Segment
from cairn.retrieval.meaning import StaticMeaning

READER = "benchmark"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--kind", default="folder")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    prepare(given.store)
    questions = read_sets([given.sets], given.only)
    meaning = StaticMeaning(load_packaged())
    store = Store([given.store])
    rows = []
    for repository in sorted({question.repository.name for question in questions}):
        data = given.data / f"{repository}-{given.kind}"
        if not data.is_dir():
            continue
        folder = index_path(data).parent
        key, seconds, chunks = _published(given.store, repository, folder)
        began = time.perf_counter()
        memory = store.read(READER, lambda db, key=key: read_snapshot(db, key))
        opened = time.perf_counter() - began
        assert memory is not None
        asked = [question for question in questions if question.repository.name == repository]
        reader = PostgresReader.of(store, READER, memory)
        there, here = OpenIndex(folder, reader), OpenIndex.at(folder)
        here.ranked(asked[:3], meaning), there.ranked(asked[:3], meaning)
        file, database = here.ranked(asked, meaning), there.ranked(asked, meaning)
        same = [one.results == other.results for one, other in zip(file, database, strict=True)]
        row = {
            "repository": repository,
            "questions": len(asked),
            "equal": sum(same),
            "ndcg file": statistics.mean(each.scores.ndcg_at_10 for each in file),
            "ndcg database": statistics.mean(each.scores.ndcg_at_10 for each in database),
            "ms file": statistics.median(each.ms for each in file),
            "ms database": statistics.median(each.ms for each in database),
            "chunks": memory.chunks,
            "seconds to open": opened,
            "chunks per second": chunks / seconds if chunks else None,
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
        for question, one, other, equal in zip(asked, file, database, same, strict=True):
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
    if given.output:
        given.output.write_text(json.dumps({"summary": summary, "repositories": rows}, indent=2) + "\n")
    return 0


def _published(url: str, repository: str, folder: Path) -> tuple[SnapshotKey, float, int]:
    with psycopg.connect(url, autocommit=True) as connection:
        home: Home = find_home(connection, repository, "")
        segment = Segment(folder)
        began = time.perf_counter()
        revision = Revision("HEAD", "benchmark", datetime.datetime.now(datetime.UTC), {})
        published = publish(connection, home, revision, segment)
        seconds = time.perf_counter() - began
        segment.close()
        grant(connection, READER, [home.repository])
    return (
        SnapshotKey(published.snapshot, home.repository, home.pool, home.shard),
        seconds,
        published.chunks,
    )


if __name__ == "__main__":
    sys.exit(main())
