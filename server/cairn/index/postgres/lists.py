"""Store, copy and merge the inverted lists of a repository.

Each repository has its own lists, because its readers may not see the other repositories of its pool. The
lists of files that it shares with these are copied from them, without reading the files.
"""

from __future__ import annotations

import datetime
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from cairn.index.postgres.blocks import Block, TermBatch, TermPostings, batched, pack
from cairn.index.postgres.segment import NAMES, OPERATORS, WORDS, SegmentColumns, merged, renumbered

KINDS = (WORDS, OPERATORS, NAMES)
MOST_SEGMENTS = 16
"""The maximum number of segments before they are merged: each lookup of a word reads all segments."""
MOST_DEAD = 0.3
"""The maximum share of dead chunks, which no snapshot contains, before the lists are merged without them."""
_BLOCKS_AT_ONCE = 200
"""The number of blocks read or written at once; they take about 1.5 MB."""


@frozen
class Home:
    repository: int
    pool: int
    shard: int


@frozen(eq=False)
class _Source:
    """A segment of any repository, with the columns of the chunks to copy from it."""

    repository: int
    segment: int
    columns: SegmentColumns


def put_segment(
    connection: Connection[TupleRow],
    home: Home,
    columns: SegmentColumns,
    terms: Iterable[tuple[int, Iterable[TermBatch]]],
) -> int:
    """Store columns and the inverted lists of each kind as a new segment. Return the segment's id."""
    place = (home.shard, home.repository)
    row = connection.execute(
        "SELECT coalesce(max(id), 0) + 1 FROM cairn.segments WHERE shard = %s AND repository = %s", place
    ).fetchone()
    assert row is not None
    number = int(row[0])
    connection.execute(
        "INSERT INTO cairn.segments(shard, repository, id, pool, columns) VALUES (%s, %s, %s, %s, %s)",
        (*place, number, home.pool, columns.packed()),
    )
    statement = sql.SQL(
        "COPY cairn.terms(shard, repository, segment, kind, first, dictionary, lists) FROM STDIN"
    )
    for kind, batches in terms:
        blocks = pack(batches)
        # Packing may read from the same connection, so it cannot happen during the copy.
        while batch := list(itertools.islice(blocks, _BLOCKS_AT_ONCE)):
            with connection.cursor().copy(statement) as copy:
                for block in batch:
                    copy.write_row((*place, number, kind, block.terms[0], block.dictionary, block.lists))
    return number


def copy_shared_lists(connection: Connection[TupleRow], home: Home, files: NDArray[np.int32]) -> int:
    """Copy lists of `files` that only other repositories of the pool have. Return the number of chunks."""
    listed = [source.columns.files for source in _segments(connection, home, own=True)]
    missing = _with_chunks(connection, home, np.setdiff1d(files, np.concatenate([files[:0], *listed])))
    sources = []
    for source in _segments(connection, home, own=False) if len(missing) else ():
        wanted = np.isin(source.columns.files, missing)
        if wanted.any():
            # Several repositories may have lists of the same file. Only the lists of the first are copied.
            missing = np.setdiff1d(missing, source.columns.files)
            sources.append(_Source(source.repository, source.segment, source.columns.at(wanted)))
    return _merge(connection, home, sources) if sources else 0


def compact(connection: Connection[TupleRow], home: Home) -> bool:
    """Merge the repository's segments into one without dead chunks. Return false if they need no merge yet.

    The old lists are kept as retired lists for running requests. The snapshots get new ids, by which new
    requests find the new lists.
    """
    with connection.transaction():
        connection.execute("SELECT 1 FROM cairn.pools WHERE id = %s FOR UPDATE", (home.pool,))
        sources = list(_segments(connection, home, own=True))
        files = files_of_snapshots(connection, home.repository)
        kept = [np.isin(source.columns.files, files) for source in sources]
        alive = sum(int(np.count_nonzero(each)) for each in kept)
        dead = sum(len(each) for each in kept) - alive
        if len(sources) <= MOST_SEGMENTS and dead <= MOST_DEAD * (alive + dead):
            return False
        wanted = [
            _Source(source.repository, source.segment, source.columns.at(each))
            for source, each in zip(sources, kept, strict=True)
        ]
        _merge(connection, home, wanted)
        numbers = [source.segment for source in sources]
        connection.execute(
            "INSERT INTO cairn.retired_lists(shard, repository, segment) SELECT %s, %s, unnest(%s::int[])",
            (home.shard, home.repository, numbers),
        )
        connection.execute(
            "DELETE FROM cairn.segments WHERE shard = %s AND repository = %s AND id = ANY(%s)",
            (home.shard, home.repository, numbers),
        )
        connection.execute(
            "UPDATE cairn.snapshots SET id = DEFAULT WHERE repository = %s", (home.repository,)
        )
    return True


def drop_retired(connection: Connection[TupleRow], home: Home, older_than: datetime.timedelta) -> int:
    """Delete lists that were retired at least `older_than` ago. Return the number of deleted segments."""
    with connection.transaction():
        rows = connection.execute(
            """DELETE FROM cairn.retired_lists
               WHERE shard = %s AND repository = %s AND retired_at <= now() - %s RETURNING segment""",
            (home.shard, home.repository, older_than),
        )
        numbers = [number for (number,) in rows]
        connection.execute(
            "DELETE FROM cairn.terms WHERE shard = %s AND repository = %s AND segment = ANY(%s)",
            (home.shard, home.repository, numbers),
        )
    return len(numbers)


def files_of_snapshots(connection: Connection[TupleRow], repository: int) -> NDArray[np.int32]:
    """Return int32[n], ascending: the ids of all files in snapshots of the repository."""
    rows = connection.execute("SELECT files FROM cairn.snapshots WHERE repository = %s", (repository,))
    found = [np.frombuffer(packed, np.int32) for (packed,) in rows]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int32)


def _with_chunks(connection: Connection[TupleRow], home: Home, files: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the files that have chunks. Files without chunks have no lists."""
    rows = connection.execute(
        "SELECT id FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s) AND chunks > 0",
        (home.shard, home.pool, files.tolist()),
    )
    return np.array([number for (number,) in rows], np.int32)


def _segments(connection: Connection[TupleRow], home: Home, own: bool) -> Iterator[_Source]:
    """Yield the segments of the repository, or of its pool's other repositories if `own` is false."""
    rows = connection.execute(
        """SELECT repository, id, columns FROM cairn.segments
           WHERE shard = %s AND pool = %s AND (repository = %s) = %s ORDER BY repository, id""",
        (home.shard, home.pool, home.repository, own),
    )
    for repository, segment, packed in rows:
        yield _Source(repository, segment, SegmentColumns.unpack(packed))


def _merge(connection: Connection[TupleRow], home: Home, sources: Sequence[_Source]) -> int:
    """Store the chunks of all sources as one segment. Return the number of chunks."""
    columns = SegmentColumns.joined(source.columns for source in sources)
    columns = columns.at(np.argsort(columns.ids, kind="stable"))
    terms = ((kind, batched(_merged_terms(connection, home, sources, kind))) for kind in KINDS)
    put_segment(connection, home, columns, terms)
    return len(columns.ids)


def _merged_terms(
    connection: Connection[TupleRow], home: Home, sources: Sequence[_Source], kind: int
) -> Iterator[TermPostings]:
    every = [_terms(connection, home.shard, source, kind) for source in sources]
    in_order = heapq.merge(*every, key=attrgetter("term"))
    for term, found in itertools.groupby(in_order, key=attrgetter("term")):
        yield TermPostings(term, merged([each.postings for each in found]))


def _terms(
    connection: Connection[TupleRow], shard: int, source: _Source, kind: int
) -> Iterator[TermPostings]:
    """Yield the lists of a segment in the order of their terms, with only the wanted chunks."""
    wanted = source.columns.files if kind == NAMES else source.columns.ids
    same = np.zeros(int(wanted.max(initial=0)) + 1, np.int32)
    same[wanted] = wanted
    name = f"terms_{source.repository}_{source.segment}_{kind}"
    with connection.cursor(name) as cursor:
        cursor.itersize = _BLOCKS_AT_ONCE
        cursor.execute(
            """SELECT dictionary, lists FROM cairn.terms
               WHERE shard = %s AND repository = %s AND segment = %s AND kind = %s ORDER BY first""",
            (shard, source.repository, source.segment, kind),
        )
        for dictionary, lists in cast("Iterable[tuple[bytes, bytes]]", cursor):
            block = Block(bytes(dictionary), bytes(lists))
            for place, term in enumerate(block.terms):
                yield TermPostings(term, renumbered(block.postings(place), same))
