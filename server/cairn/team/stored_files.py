"""Find the files of a commit that the store already has, and their facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.segment import FileFacts
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.team.commit_files import TreeFile


def find_stored(
    connection: Connection[TupleRow],
    pool: int,
    shard: int,
    files: Sequence[TreeFile],
    collections: Sequence[str],
) -> dict[str, int]:
    """Return the ids, by path, of files that the pool already has with the same content and collection."""
    # A file has an empty hash if the worker process that read it died. Such a file is read again.
    rows = connection.execute(
        """SELECT w.path, f.id FROM unnest(%s::text[], %s::bytea[], %s::text[]) AS w(path, blob, collection)
           JOIN cairn.files f ON f.path = w.path AND f.blob = w.blob AND f.collection = w.collection
           WHERE f.shard = %s AND f.pool = %s AND f.version = %s AND f.content_hash <> ''""",
        (
            [file.path for file in files], [file.blob for file in files], list(collections),
            shard, pool, SCHEMA_VERSION,
        ),
    )  # fmt: skip
    return dict(rows.fetchall())


def file_facts(
    connection: Connection[TupleRow], pool: int, shard: int, ids: Iterable[int]
) -> list[FileFacts]:
    rows = connection.execute(
        """SELECT path, size, content_hash, is_text, kind, collection, indexed_at, chunks, imports, sketch
           FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s)""",
        (shard, pool, list(ids)),
    )
    return [FileFacts(*row) for row in rows]
