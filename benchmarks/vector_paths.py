#!/usr/bin/env python3
"""Measure the speed and recall of each way to find the nearest static vectors.

    python benchmarks/vector_paths.py DATA --questions SETS [--subjects REPOSITORY ...]
      [--rows 10000 100000 500000]

DATA is a complete index with static vectors, which is only read. The vectors come from it: a sample for fewer
rows, and for more, mixtures of two of its rows (0.6 to 0.95 of the one) with noise, of the same length.
Queries are those of the sets and the subjects of commits, embedded by the same static table. All paths answer
one query before any answers the next, so that other load on the machine affects all of them alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from engine.figures import Figures, percentile, run_conditions
from engine.index_file import index_path
from numpy.typing import NDArray

from cairn.embedding.shared import SharedModel
from cairn.embedding.static import StaticTable
from cairn.index.reader.filters import ChunkFilter
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import _connect
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors import static_matrix
from cairn.index.vectors.codes import Codes
from cairn.index.vectors.static_rows import StaticRows
from cairn.index.vectors.vector_store import VectorStore
from cairn.settings.tree import EmbeddingSettings

_LIMIT = 200
_RECALLED = (50, 200)
_COMPARED = 400
"""The number of chunks whose model vectors a search compares: the results of two legs."""
_FILTERS = {
    "most chunks (code)": ChunkFilter(types=("code",)),
    "a fifth (prose)": ChunkFilter(types=("prose",)),
    "few (yaml)": ChunkFilter(languages=("yaml",)),
    "all but one file": ChunkFilter(hidden=("django/db/models/query.py",)),
}

Int8 = NDArray[np.int8]
Path_ = Callable[[Int8], NDArray[np.int64]]
"""A function from a query to the ids of the nearest rows, best first."""


def main() -> None:
    options = _arguments()
    db = _opened(index_path(options.data))
    table = _static_table(db)
    questions = table.embed_queries_int8(_questions(options)[: options.count])
    vectors = np.stack(
        [np.frombuffer(r[0], np.int8) for r in db.execute(f"SELECT embedding FROM {STATIC_TABLE}")]
    )
    record: Figures = {
        "conditions": {
            **run_conditions(),
            "questions": len(questions),
            "rows_in_index": len(vectors),
            "limit": _LIMIT,
        },
        "paths": {},
    }
    for rows in options.rows:
        record["paths"][str(rows)] = _compare(_resized(vectors, rows), questions, table)
        print(json.dumps({rows: record["paths"][str(rows)]}, indent=2))
    record["index"] = _real_index(options.data, questions)
    print(json.dumps(record["index"], indent=2))
    options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


# --- one number of rows ---------------------------------------------------------------------------


def _compare(vectors: Int8, questions: Int8, table: StaticTable) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        writer = IndexWriter(Path(folder))
        VectorStore(writer.db).use_static(table.id, table.dimension)
        VectorStore(writer.db).store_static(range(1, len(vectors) + 1), vectors, queued=0)
        bits = _bit_table(writer.db, vectors)
        reader = SqliteReader(Path(folder))
        with _in_memory():
            figures = _matrix_costs(reader, writer, questions[0])
        rows = _rows(reader)
        paths: dict[str, Path_] = {
            "sqlite-vec int8": lambda query: _by_sqlite_vec(reader, query),
            "sqlite-vec bits": bits,
            "float32 matrix": _float32(vectors),
            "int8 matrix": _uncoded(rows),
            **{
                f"signs of {words * 64} bits, {count} candidates": _signs(vectors, words, count)
                for words, count in ((2, 2_000), (2, 8_000), (4, 2_000), (4, 8_000), (4, 24_000))
                if count < len(vectors)
            },
        }
        if figures["codes"]:
            paths["int8 matrix with codes"] = lambda query: rows.nearest(query, _LIMIT)[0]
        with _in_memory():
            paths["IndexReader.nearest_static"] = lambda query: _ids(
                reader.nearest_static(query, _LIMIT, ChunkFilter(), _never)
            )
            figures["paths"] = _measured(paths, questions, paths["float32 matrix"])
        reader.memory.forget_vectors()
        writer.close()
    return figures


def _measured(paths: dict[str, Path_], questions: Int8, exact: Path_) -> Figures:
    """Return milliseconds and recall of each path, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in paths}
    recall: dict[str, list[list[float]]] = {name: [] for name in paths}
    for query in questions[:2]:
        for find in paths.values():
            find(query)
    for query in questions:
        right = exact(query)
        for name, find in paths.items():
            began = time.perf_counter()
            found = find(query)
            seconds[name].append(time.perf_counter() - began)
            recall[name].append([np.isin(right[:k], found[:k]).mean() for k in _RECALLED])
    slowest = percentile(seconds["sqlite-vec int8"], 50)
    return {
        name: {
            "p50_ms": round(percentile(taken, 50) * 1000, 2),
            "p95_ms": round(percentile(taken, 95) * 1000, 2),
            "of_sqlite_vec": round(percentile(taken, 50) / slowest, 3),
            **{
                f"recall_{k}": round(float(np.mean([r[i] for r in recall[name]])), 4)
                for i, k in enumerate(_RECALLED)
            },
        }
        for name, taken in seconds.items()
    }


def _matrix_costs(reader: SqliteReader, writer: IndexWriter, query: Int8) -> Figures:
    """Measure the matrix: the time to read it, to apply a save, and to encode it, and its memory."""

    def ask() -> float:
        began = time.perf_counter()
        reader.nearest_static(query, 1, ChunkFilter(), _never)
        return round((time.perf_counter() - began) * 1000, 1)

    first = ask()
    reader.memory.forget_vectors()
    again, known = ask(), ask()
    began = time.perf_counter()
    codes = _rows(reader).store.count >= static_matrix._CODED_FROM
    while codes and _rows(reader).store.codes is None:
        time.sleep(0.001)
    coded = round((time.perf_counter() - began) * 1000, 1)
    resident = _bytes_in_memory(_rows(reader))
    new = 10**7
    VectorStore(writer.db).store_static(range(new, new + 5), np.repeat(query[None], 5, axis=0), queued=0)
    added = ask()
    with writer.db:
        writer.db.execute(f"DELETE FROM {STATIC_TABLE} WHERE rowid >= {new}")
        writer.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    deleted = ask()
    return {
        "first_question_ms": first,
        "read_again_ms": again,
        "question_ms": known,
        "question_after_5_rows_came_ms": added,
        "question_after_5_rows_went_ms": deleted,
        "codes": codes,
        "coded_after_ms": coded if codes else None,
        "held_mb": round(resident / 1e6, 1),
    }


def _by_sqlite_vec(reader: SqliteReader, query: Int8, only: ChunkFilter | None = None) -> NDArray[np.int64]:
    with _set("FEWEST_ROWS", 10**9):
        matrix, reader.memory.matrix = reader.memory.matrix, None
        hits = reader.nearest_static(query, _LIMIT, only or ChunkFilter(), _never)
        reader.memory.matrix = matrix
    return _ids(hits)


def _bit_table(db: apsw.Connection, vectors: Int8) -> Path_:
    """Make a table of sqlite-vec's own bit vectors, without the mean."""
    mean = vectors.mean(axis=0, dtype=np.float32)
    db.execute(f"CREATE VIRTUAL TABLE temp.bits USING vec0(embedding bit[{vectors.shape[1]}])")
    packed = np.packbits(vectors > mean, axis=1)
    with db:
        db.executemany(
            "INSERT INTO temp.bits(rowid, embedding) VALUES (?, vec_bit(?))",
            ((row + 1, bits.tobytes()) for row, bits in enumerate(packed)),
        )

    def find(query: Int8) -> NDArray[np.int64]:
        wanted = np.packbits(query > mean).tobytes()
        rows = db.execute(
            "SELECT rowid FROM temp.bits WHERE embedding MATCH vec_bit(?) AND k = ? ORDER BY distance",
            (wanted, _LIMIT),
        )
        return np.array([row[0] for row in rows], np.int64)

    return find


def _float32(vectors: Int8) -> Path_:
    matrix = vectors.astype(np.float32)
    squares = np.einsum("ij,ij->i", matrix, matrix)

    def find(query: Int8) -> NDArray[np.int64]:
        return _best(squares - 2 * (matrix @ query.astype(np.float32))) + 1

    return find


def _signs(vectors: Int8, words: int, candidates: int) -> Path_:
    """Search by the first words of the product's own code: two are the signs of the numbers, four also those
    after a rotation."""
    codes = Codes(vectors[::16].mean(axis=0, dtype=np.float32), len(vectors))
    codes.add(0, vectors)
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32)

    def find(query: Int8) -> NDArray[np.int64]:
        own = np.empty((len(codes.words), 1), np.uint64)
        codes.encode(query[None], own)
        differing = np.zeros(len(vectors), np.uint16)
        for word, code in zip(codes.words[:words], own[:, 0], strict=False):
            differing += np.bitwise_count(word ^ code)
        most = int(np.searchsorted(np.bincount(differing[::8]).cumsum(), candidates / 8))
        places = np.flatnonzero(differing <= most)
        near = np.vecdot(vectors[places].astype(np.float32), query.astype(np.float32))
        return places[_best(squares[places] - 2 * near)] + 1

    return find


def _best(distances: NDArray[np.float32]) -> NDArray[np.intp]:
    wanted = min(_LIMIT, len(distances))
    found = np.flatnonzero(distances <= np.partition(distances, wanted - 1)[wanted - 1])
    return found[np.argsort(distances[found], kind="stable")][:wanted]


# --- the index itself -----------------------------------------------------------------------------


class _AnyVersion(SqliteReader):
    """Reads an index of any version: all versions have the tables that are read here."""

    def _connection(self) -> apsw.Connection:
        local = self.memory.local
        if local.db is None:
            local.db = _opened(self.folder / "index.db")
        return local.db


def _real_index(data: Path, questions: Int8) -> Figures:
    """Measure filters."""
    reader = _AnyVersion(index_path(data).parent)
    figures: Figures = {"filters": {}}
    for name, only in _FILTERS.items():
        began = time.perf_counter()
        reader.nearest_static(questions[0], _LIMIT, only, _never)
        first = time.perf_counter() - began
        figures["filters"][name] = {
            "sqlite_vec_ms": _p50(
                questions[:20], lambda query, only=only: _by_sqlite_vec(reader, query, only)
            ),
            "first_ms": round(first * 1000, 2),
            "known_ms": _p50(
                questions, lambda query, only=only: reader.nearest_static(query, _LIMIT, only, _never)
            ),
        }
    reader.memory.forget_vectors()
    return figures


# --- shared functions -----------------------------------------------------------------------------


def _resized(vectors: Int8, rows: int) -> Int8:
    rng = np.random.default_rng(0)
    if rows <= len(vectors):
        return vectors[np.sort(rng.choice(len(vectors), rows, replace=False))]
    more = rows - len(vectors)
    one, other = (vectors[rng.integers(0, len(vectors), more)].astype(np.float32) for _ in range(2))
    share = rng.uniform(0.6, 0.95, (more, 1)).astype(np.float32)
    mixed = share * one + (1 - share) * other + rng.normal(0, 1.5, one.shape).astype(np.float32)
    mixed *= 127 / np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.concatenate([vectors, np.rint(mixed).astype(np.int8)])


def _opened(path: Path) -> apsw.Connection:
    """Open a file that no process writes meanwhile, without touching the files beside it."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return _connect(f"{path.absolute().as_uri()}?immutable=1", flags)


def _rows(reader: SqliteReader) -> StaticRows:
    with _in_memory(), reader.reading() as db:
        rows = reader._static_rows(db, read_facts(db))
    assert rows is not None
    return rows


def _bytes_in_memory(rows: StaticRows) -> int:
    """Return the bytes without the room for rows to come, which is not resident."""
    store = rows.store
    row = store.vectors.itemsize * store.vectors.shape[1] + store.ids.itemsize + store.squares.itemsize
    if store.codes is not None:
        row += store.codes.words.itemsize * len(store.codes.words)
    others = (rows.present, rows.sorter)
    return rows.count * row + sum(each.nbytes for each in others if each is not None)


def _uncoded(rows: StaticRows) -> Path_:
    """Return the distances to all rows, encoded or not."""

    def find(query: Int8) -> NDArray[np.int64]:
        codes, rows.store.codes = rows.store.codes, None
        found = rows.nearest(query, _LIMIT)[0]
        rows.store.codes = codes
        return found

    return find


def _ids(hits: Sequence[Any]) -> NDArray[np.int64]:
    return np.array([hit.chunk_id for hit in hits], np.int64)


def _p50(questions: Int8, ask: Callable[[Int8], object]) -> float:
    seconds = []
    for query in questions:
        began = time.perf_counter()
        ask(query)
        seconds.append(time.perf_counter() - began)
    return round(percentile(seconds, 50) * 1000, 2)


def _in_memory() -> Any:
    """Patch the choice of the path, which depends on the number of chunks: the tables made here have vectors
    and no chunks."""
    return _set("FEWEST_ROWS", 0)


@contextmanager
def _set(name: str, value: int) -> Iterator[None]:
    before = getattr(static_matrix, name)
    setattr(static_matrix, name, value)
    try:
        yield
    finally:
        setattr(static_matrix, name, before)


def _never() -> bool:
    return False


def _static_table(db: apsw.Connection) -> StaticTable:
    table = SharedModel(EmbeddingSettings()).static_table()
    used = str(db.execute("SELECT value FROM meta WHERE key = 'static_table'").get)
    if table is None or used.split(" ")[0] != table.id:
        sys.exit(f"the index was made with the static table {used}, not with this Cairn's")
    return table


def _questions(options: argparse.Namespace) -> list[str]:
    sets = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(options.questions.glob("*.json"))]
    found = [entry["query"] for entries in sets for entry in entries]
    for repository in options.subjects:
        command = ("git", "-C", str(repository), "log", "--format=%s", "-n", "200")
        found += subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    np.random.default_rng(0).shuffle(found)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="data folder with one complete index")
    parser.add_argument(
        "--questions", type=Path, required=True, help="folder of NAME.json, each a list of {query}"
    )
    parser.add_argument(
        "--subjects", type=Path, nargs="*", default=[], help="repositories whose commit subjects are queries"
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 500_000])
    parser.add_argument("--count", type=int, default=100, help="questions")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "vector-paths.json"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
