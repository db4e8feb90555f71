#!/usr/bin/env python3
"""Measure latency and throughput of questions over a team's database, compared with the index file that it
was made from.

    python benchmarks/team/load.py --store URL --index NAME=DATA --questions FILE [FILE ...] [--clients 1 8]
            [--processes 2] [--rounds 2] [--seconds 30] [--output FILE]

DATA is the CAIRN_DATA_DIR that a folder was indexed into; FILE is a JSON list of objects with a `query` each.
A missing index is published into the database at URL (its owner's). Clients are threads, spread over the
serving processes, and each sends one question after the other, all of them in an order of its own. File and
database take turns.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
from attrs import define, field, frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import index_path

from cairn.embedding.packaged import load_packaged
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.snapshot_catalogue import SnapshotKey, SnapshotMemory, read_snapshot
from cairn.index.postgres.snapshots import RequestReads
from cairn.index.postgres.transactions import Store
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.settings.tree import SearchSettings
from team.publication import READER, published

_RESULTS = 10
_WARM_UP = 20
"""The number of warm-up questions of each process; the first over a large snapshot reads the vectors."""


@frozen
class Place:
    """The index file in `folder`, or a snapshot in the database at `store`."""

    folder: Path
    store: str | None = None
    key: SnapshotKey | None = None


@frozen
class Work:
    """The work of one serving process."""

    place: Place
    queries: Sequence[str]
    clients: int
    seconds: float
    seed: int


@define
class Serving:
    """The open connections of a serving process."""

    place: Place
    meaning: Meaning = field(factory=lambda: Meaning(load_packaged()))
    settings: SearchSettings = field(factory=lambda: SearchSettings(leg_deadline_ms=60_000.0))
    store: Store | None = None
    memory: SnapshotMemory | None = None
    file: SqliteReader | None = None

    def open(self) -> None:
        if self.place.store is None or self.place.key is None:
            self.file = SqliteReader(self.place.folder)
            return
        key = self.place.key
        self.store = Store([self.place.store])
        self.memory = self.store.read(READER, lambda db: read_snapshot(db, key))
        assert self.memory is not None

    @contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """Return a reader for one question."""
        if self.store is None or self.memory is None:
            assert self.file is not None
            yield self.file
            return
        with RequestReads(self.store, READER) as session:
            yield PostgresReader.of(session, self.memory)

    def ask(self, text: str) -> float:
        """Return the seconds that a question takes."""
        began = time.perf_counter()
        with self.reader() as reader:
            query = understand(text, None, IndexVocabulary([reader]), self.settings)
            ranking = rank([reader], [query], self.meaning, self.settings)
            ranking.results(_RESULTS, self.settings.diversity)
        return time.perf_counter() - began


def serve(work: Work, channel: Connection) -> None:
    """Answer questions for some time, once the channel says so, and send the measurements."""
    began = time.perf_counter()
    serving = Serving(work.place)
    serving.open()
    opened = time.perf_counter() - began
    order = random.Random(work.seed)
    for query in order.sample(work.queries, min(_WARM_UP, len(work.queries))):
        serving.ask(query)
    ready = time.perf_counter() - began
    channel.send((opened, ready))
    channel.recv()
    seconds: list[float] = []
    ends = time.perf_counter() + work.seconds

    def ask(seed: int) -> None:
        queries = random.Random(seed).sample(work.queries, len(work.queries))
        while True:
            for query in queries:
                if time.perf_counter() >= ends:
                    return
                seconds.append(serving.ask(query))

    threads = [threading.Thread(target=ask, args=(work.seed + n,)) for n in range(work.clients)]
    used = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = psutil.Process().memory_full_info()
    channel.send((seconds, time.process_time() - used, memory.rss, memory.uss))


def measured(place: Place, queries: Sequence[str], clients: int, processes: int, seconds: float) -> Figures:
    """Return the times of all clients' questions, with the resources of the serving processes."""
    context = multiprocessing.get_context("spawn")
    processes = min(processes, clients)
    serving = []
    for number in range(processes):
        here, there = context.Pipe()
        share = clients // processes + (number < clients % processes)
        process = context.Process(
            target=serve, args=(Work(place, queries, share, seconds, 1000 * number), there), daemon=True
        )
        process.start()
        serving.append((process, here))
    opened = [channel.recv() for _, channel in serving]
    for _, channel in serving:
        channel.send(None)
    answers = [channel.recv() for _, channel in serving]
    for process, _ in serving:
        process.join()
    times = [each for answer in answers for each in answer[0]]
    return {
        "questions": milliseconds(times),
        "questions a second": round(len(times) / seconds, 1),
        "CPU ms of a question, without the database's": round(
            sum(answer[1] for answer in answers) * 1000 / len(times), 1
        ),
        "seconds to open": round(max(each[0] for each in opened), 2),
        "seconds until warm": round(max(each[1] for each in opened), 2),
        "RSS of a process, MB": round(max(answer[2] for answer in answers) / 1e6),
        "USS of a process, MB": round(max(answer[3] for answer in answers) / 1e6),
    }


def main() -> int:
    options = _arguments()
    name, _, data = options.index.partition("=")
    folder = index_path(Path(data)).parent
    queries = list(
        dict.fromkeys(each["query"] for file in options.questions for each in json.loads(file.read_text()))
    )
    publication = published(options.store, name, folder)
    figures: Figures = {
        "conditions": run_conditions(),
        "index": name,
        "chunks": publication.all_chunks,
        "queries": len(queries),
        "published, chunks a second": publication.pace,
        "rounds": [],
    }
    print(json.dumps(figures), flush=True)
    places = {"file": Place(folder), "database": Place(folder, options.store, publication.key)}
    for _ in range(options.rounds):
        for clients in options.clients:
            row: dict[str, Any] = {"clients": clients}
            for kind, place in places.items():
                row[kind] = measured(place, queries, clients, options.processes, options.seconds)
            figures["rounds"].append(row)
            print(json.dumps(row), flush=True)
    if options.output:
        options.output.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--index", required=True, metavar="NAME=DATA")
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
