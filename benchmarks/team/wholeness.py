"""Checks, straight from the tables, that everything that refs of a store name is complete."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import psycopg
from attrs import frozen

from cairn.index.postgres.access import grant
from cairn.index.postgres.blocks import Block
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.segment import NAMES, OPERATORS, WORDS, SegmentColumns
from cairn.index.postgres.snapshot_catalogue import SnapshotKey, read_snapshot
from cairn.index.postgres.transactions import Store
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import ColumnWeights

READER = "wholeness"
_ALL = 1_000_000
_PARTS = {"imports", "copies", "history", "subjects", "commits"}
_ORPHANS = {
    "chunks without a file": """SELECT count(*) FROM cairn.chunks c WHERE NOT EXISTS (SELECT FROM cairn.files f
        WHERE f.shard = c.shard AND f.pool = c.pool AND f.id = c.file)""",  # noqa: E501
    "vectors without a chunk": """SELECT count(*) FROM cairn.vectors v WHERE NOT EXISTS (SELECT FROM cairn.chunks c
        WHERE c.shard = v.shard AND c.pool = v.pool AND c.id = v.chunk)""",  # noqa: E501
    "chunks without a vector": """SELECT count(*) FROM cairn.chunks c WHERE NOT EXISTS (SELECT FROM cairn.vectors v
        WHERE c.shard = v.shard AND c.pool = v.pool AND c.id = v.chunk)""",  # noqa: E501
    "definitions without a chunk": """SELECT count(*) FROM cairn.definitions d WHERE NOT EXISTS (SELECT FROM cairn.chunks c
        WHERE c.shard = d.shard AND c.pool = d.pool AND c.id = d.chunk)""",  # noqa: E501
    "terms of no segment": """SELECT count(*) FROM cairn.terms t WHERE NOT EXISTS (SELECT FROM cairn.segments s
        WHERE s.shard = t.shard AND s.repository = t.repository AND s.id = t.segment) AND NOT EXISTS (SELECT FROM
        cairn.retired_lists r WHERE r.shard = t.shard AND r.repository = t.repository AND r.segment = t.segment)""",  # noqa: E501
    "files of no repository": """SELECT count(*) FROM cairn.files f WHERE NOT EXISTS (SELECT FROM cairn.holdings h
        WHERE h.shard = f.shard AND h.pool = f.pool AND h.file = f.id)""",  # noqa: E501
    "parts of no snapshot": """SELECT count(*) FROM cairn.snapshot_parts p WHERE NOT EXISTS (SELECT FROM cairn.snapshots s
        WHERE s.id = p.snapshot)""",  # noqa: E501
    "chunks that their file does not count": """SELECT count(*) FROM cairn.files f WHERE f.chunks <> (SELECT count(*)
        FROM cairn.chunks c WHERE c.shard = f.shard AND c.pool = f.pool AND c.file = f.id)""",  # noqa: E501
    "shards whose chunks are miscounted": """SELECT count(*) FROM cairn.shards s WHERE s.chunks <> (SELECT count(*)
        FROM cairn.chunks c WHERE c.shard = s.id)""",  # noqa: E501
}


@frozen
class Whole:
    """The findings about a store."""

    problems: tuple[str, ...]
    answers: dict[str, Any]
    """A reader's answers from the snapshot, by repository, ref and commit."""


def look(url: str, words: Iterable[str]) -> Whole:
    """Check everything that refs name. `url` is that of the store's owner."""
    problems: list[str] = []
    answers: dict[str, Any] = {}
    with psycopg.connect(url, autocommit=True) as owner:
        grant(owner, READER, "all")
        owner.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        refs = owner.execute(
            """SELECT r.name, f.ref, s.commit, s.id, s.repository, s.pool, s.shard, s.files FROM cairn.refs f
               JOIN cairn.snapshots s ON s.id = f.snapshot JOIN cairn.repositories r ON r.id = s.repository ORDER BY 1, 2"""  # noqa: E501
        ).fetchall()
        for name, ref, commit, *key, packed in refs:
            files = np.frombuffer(packed, np.int32).tolist()
            found = _snapshot_problems(owner, SnapshotKey(*key), files)
            problems += [f"{name} {ref} {commit[:8]}: {each}" for each in found]
        for what, query in _ORPHANS.items():
            row = owner.execute(query.encode()).fetchone()
            if row is None or row[0]:
                problems.append(f"{row and row[0]} {what}")
    store = Store([url], connections=2)
    try:
        for name, ref, commit, *key, _ in refs:
            answers[f"{name} {ref} {commit}"] = reader_answers(store, SnapshotKey(*key), words)
    finally:
        store.close()
    return Whole(tuple(problems), answers)


def _snapshot_problems(owner: psycopg.Connection[Any], key: SnapshotKey, files: list[int]) -> list[str]:
    place = (key.shard, key.pool, files)
    of_files = "WHERE shard = %s AND pool = %s AND"
    rows = owner.execute(
        f"SELECT id, chunks FROM cairn.files {of_files} id = ANY(%s)".encode(), place
    ).fetchall()
    chunks = owner.execute(
        f"SELECT id, defines FROM cairn.chunks {of_files} file = ANY(%s)".encode(), place
    ).fetchall()
    counts = {
        table: owner.execute(
            f"SELECT count(*) FROM cairn.{table} {of_files} file = ANY(%s)".encode(), place
        ).fetchone()
        for table in ("vectors", "definitions", "holdings")
    }
    found = []
    if len(rows) != len(files):
        found.append(f"{len(rows)} of {len(files)} files are there")
    if len(chunks) != sum(count for _, count in rows):
        found.append(f"{len(chunks)} of {sum(count for _, count in rows)} chunks are there")
    if counts["vectors"] != (len(chunks),):
        found.append(f"{counts['vectors']} vectors of {len(chunks)} chunks")
    counted = owner.execute(
        "SELECT count(*) FROM cairn.holdings WHERE shard = %s AND pool = %s AND file = ANY(%s) AND "
        "repository = %s",
        (*place, key.repository),
    ).fetchone()
    if counted != (len(files),):
        found.append(f"{counted} of {len(files)} files are counted")
    parts = {
        name
        for (name,) in owner.execute("SELECT name FROM cairn.snapshot_parts WHERE snapshot = %s", (key.id,))
    }
    if parts != _PARTS:
        found.append(f"parts {sorted(parts)}")
    return found + _list_problems(owner, key, {each for each, _ in chunks}, set(files))


def _list_problems(
    owner: psycopg.Connection[Any], key: SnapshotKey, chunks: set[int], files: set[int]
) -> list[str]:
    """Return whether the inverted lists have all chunks of the snapshot, each once, and no others."""
    listed: Counter[int] = Counter()
    found = []
    for number, packed in owner.execute(
        "SELECT id, columns FROM cairn.segments WHERE shard = %s AND repository = %s",
        (key.shard, key.repository),
    ).fetchall():
        columns = SegmentColumns.unpack(packed)
        ids, of_files = set(columns.ids.tolist()), set(columns.files.tolist())
        listed.update(columns.ids[np.isin(columns.files, np.array(sorted(files), np.int32))].tolist())
        standing: set[int] = set()
        for kind, dictionary, lists in owner.execute(
            "SELECT kind, dictionary, lists FROM cairn.terms WHERE shard = %s AND repository = %s AND "
            "segment = %s",
            (key.shard, key.repository, number),
        ):
            block = Block(bytes(dictionary), bytes(lists))
            for place in range(len(block.terms)):
                here = set(block.postings(place).ids.tolist())
                if here - (of_files if kind == NAMES else ids):
                    found.append(f"segment {number} lists missing chunks")
                if kind in (WORDS, OPERATORS):
                    standing |= here
        worded = set(columns.ids[columns.tokens > 0].tolist())
        if worded - standing:
            found.append(f"segment {number} has {len(worded - standing)} chunks without words")
    if set(listed) != chunks or any(count > 1 for count in listed.values()):
        found.append(f"{len(listed)} chunks are listed, {len(chunks)} are there")
    return list(dict.fromkeys(found))


def reader_answers(store: Store, key: SnapshotKey, words: Iterable[str]) -> dict[str, Any]:
    """Return a reader's answers from a snapshot, without the ids that differ between two stores."""
    memory = store.read(READER, lambda db: read_snapshot(db, key))
    assert memory is not None
    reader = PostgresReader.of(store.single_reads(READER), memory)
    paths = sorted(each.path for each in memory.files.values())
    pages = {path: reader.page(path) for path in paths}
    place = {stored.id: (path, stored.chunk.position) for path, page in pages.items() for stored in page}

    def hits(found: Any) -> list[Any]:
        return [(place[hit.chunk_id], round(hit.score, 4)) for hit in found]

    every = sorted(place)
    ids, vectors = reader.static_vectors(every)
    texts = list(words)
    return {
        "pages": {
            path: [(each.chunk.text, each.chunk.symbol, each.collection) for each in page]
            for path, page in pages.items()
        },
        "postings": {
            word: sorted(
                (place[number], int(count))
                for number, count in zip(found.ids.tolist(), found.counts, strict=True)
            )
            for word, found in reader.postings(dict.fromkeys(texts, 0)).items()
        },
        "keywords": sorted(hits(reader.keywords(texts, ColumnWeights(1.0, 2.0), _ALL, ChunkFilter()))),
        "vectors": sorted(
            (place[number], vector.tobytes().hex()[:32])
            for number, vector in zip(ids.tolist(), vectors, strict=True)
        ),
        "defining": sorted(hits(reader.defining(texts, _ALL, ChunkFilter()))),
        "history": sorted(reader.select("SELECT path, count, last_time FROM file_history")),
        "imports": sorted(reader.select("SELECT path, in_degree FROM file_imports")),
    }


AN_AGE = datetime.timedelta(0)
"""The age for garbage collection that removes everything unreferenced at once."""
