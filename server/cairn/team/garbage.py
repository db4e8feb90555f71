"""Delete unnamed snapshots, unused files, and removed repositories from the team store.

Servers continue to answer: rows that a running request may still read are kept for an hour.
"""

from __future__ import annotations

import datetime
import re

from attrs import asdict, frozen
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from cairn.errors import CairnError, InvalidRequestError
from cairn.index.postgres.lists import Home, compact, drop_retired, files_of_snapshots
from cairn.index.postgres.publishing import note_unnamed
from cairn.team.git_source import read_address, remote_refs
from cairn.team.runs import Progress, locked, owner_connection, pool_lock, repository_lock

AN_HOUR = datetime.timedelta(hours=1)
_NO_BRANCH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}|HEAD|refs/.*")
_WAITING = "Another run is writing a repository that is to be cleaned. This run waits for it to end."


@frozen
class Collected:
    refs: int = 0
    snapshots: int = 0
    files: int = 0
    chunks: int = 0
    repositories_compacted: int = 0
    """The number of repositories whose inverted lists were merged without deleted chunks."""
    segments: int = 0
    pools: int = 0
    problems: tuple[str, ...] = ()
    """The repositories whose branches could not be listed, each with the reason."""

    def __add__(self, other: Collected) -> Collected:
        mine, theirs = asdict(self), asdict(other)
        return Collected(**{name: mine[name] + theirs[name] for name in mine})


def collect_garbage(
    url: str,
    older_than: datetime.timedelta = AN_HOUR,
    gone_refs: bool = False,
    progress: Progress = lambda text: None,
) -> Collected:
    """Delete everything that no ref of the store needs, pool by pool. `url` must be the store owner's.

    A snapshot is deleted when no ref has named it for `older_than`. With `gone_refs`, first delete refs whose
    branch or tag no longer exists at the repository's URL; a repository that cannot be reached keeps its
    refs.
    """
    with owner_connection(url, "cairn gc") as connection:
        every = Collected()
        for pool, shard in connection.execute("SELECT id, shard FROM cairn.pools ORDER BY id").fetchall():
            with locked(connection, [pool_lock(pool)], _WAITING, progress):
                every += _collect(connection, pool, shard, older_than, gone_refs)
        return every


def remove_repository(
    url: str,
    name: str,
    progress: Progress = lambda text: None,
    older_than: datetime.timedelta = AN_HOUR,
) -> Collected:
    """Remove a repository, and files that no other has. Raise InvalidRequestError for an unknown one."""
    with (
        owner_connection(url, "cairn gc") as connection,
        locked(connection, [repository_lock(name)], _WAITING, progress),
    ):
        row = connection.execute(
            """SELECT r.id, p.id, p.shard FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool
               WHERE r.name = %s""",
            (name,),
        ).fetchone()
        if row is None:
            raise InvalidRequestError("repository", f"{name} is not in the store")
        repository, pool, shard = row
        with locked(connection, [pool_lock(pool)], _WAITING, progress):
            # From here on, requests do not see the repository. `_collect` deletes its other rows.
            gone = connection.execute(
                """WITH gone AS (DELETE FROM cairn.repositories WHERE id = %s)
                   SELECT count(*) FROM cairn.snapshots WHERE repository = %s""",
                (repository, repository),
            ).fetchone()
            assert gone is not None
            rest = _collect(connection, pool, shard, older_than, gone_refs=False)
            return Collected(snapshots=gone[0]) + rest


def _collect(
    connection: Connection[TupleRow], pool: int, shard: int, older_than: datetime.timedelta, gone_refs: bool
) -> Collected:
    homes = [
        Home(number, pool, shard)
        for (number,) in connection.execute("SELECT id FROM cairn.repositories WHERE pool = %s", (pool,))
    ]
    found = _delete_gone_refs(connection, pool) if gone_refs else Collected()
    place = (shard, pool)
    with connection.transaction():
        connection.execute("SELECT 1 FROM cairn.pools WHERE id = %s FOR UPDATE", (pool,))
        _sweep_departed(connection, pool, shard)
        snapshots = 0
        for home in homes:
            note_unnamed(connection, home.repository)
            snapshots += connection.execute(
                "DELETE FROM cairn.snapshots WHERE repository = %s AND unnamed_since <= now() - %s",
                (home.repository, older_than),
            ).rowcount
            connection.execute(
                """DELETE FROM cairn.holdings
                   WHERE shard = %s AND pool = %s AND repository = %s AND file <> ALL(%s)""",
                (*place, home.repository, files_of_snapshots(connection, home.repository).tolist()),
            )
        files, chunks = _delete_files(connection, pool, shard)
    found += Collected(snapshots=snapshots, files=files, chunks=chunks)
    # Changes of grants wait for this statement, so it is a separate, short transaction. The mark stays if
    # another repository has left the pool in the meantime.
    connection.execute(
        """UPDATE cairn.pools SET unswept = false WHERE id = %s AND unswept AND NOT EXISTS (
               SELECT FROM cairn.holdings h WHERE h.shard = pools.shard AND h.pool = pools.id AND NOT EXISTS (
                   SELECT FROM cairn.repositories r WHERE r.id = h.repository AND r.pool = h.pool))""",
        (pool,),
    )
    compacted = sum(compact(connection, home) for home in homes)
    segments = sum(drop_retired(connection, home, older_than) for home in homes)
    pools = 0
    if not homes:
        pools = connection.execute(
            """DELETE FROM cairn.pools WHERE id = %s
               AND NOT EXISTS (SELECT FROM cairn.repositories WHERE repositories.pool = pools.id)
               AND NOT EXISTS (SELECT FROM cairn.files f WHERE f.shard = pools.shard AND f.pool = pools.id)
           """,
            (pool,),
        ).rowcount
    return found + Collected(repositories_compacted=compacted, segments=segments, pools=pools)


def _delete_gone_refs(connection: Connection[TupleRow], pool: int) -> Collected:
    """Delete refs whose branch or tag is gone. This run locks the pool, so no other run adds refs."""
    refs, problems = 0, []
    rows = connection.execute("SELECT id, name, url FROM cairn.repositories WHERE pool = %s", (pool,))
    for number, name, url in rows.fetchall():
        try:
            there = remote_refs(read_address(url))
        except CairnError as problem:
            problems.append(f"{name}: {problem}")
            continue
        if not there:
            problems.append(f"{name}: {url} has no branches. Its refs are kept.")
            continue
        named = connection.execute("SELECT ref FROM cairn.refs WHERE repository = %s", (number,)).fetchall()
        gone = [ref for (ref,) in named if ref not in there and not _NO_BRANCH.fullmatch(ref)]
        refs += connection.execute(
            "DELETE FROM cairn.refs WHERE repository = %s AND ref = ANY(%s)", (number, gone)
        ).rowcount
    return Collected(refs=refs, problems=tuple(problems))


def _sweep_departed(connection: Connection[TupleRow], pool: int, shard: int) -> None:
    departed = [
        number
        for (number,) in connection.execute(
            """SELECT repository FROM (
                   SELECT repository FROM cairn.holdings WHERE shard = %(shard)s AND pool = %(pool)s
                   UNION SELECT repository FROM cairn.segments WHERE shard = %(shard)s AND pool = %(pool)s
               ) AS had WHERE repository NOT IN (SELECT id FROM cairn.repositories WHERE pool = %(pool)s)""",
            {"pool": pool, "shard": shard},
        )
    ]
    if not departed:
        return
    # Inverted lists have no pool. If a repository moved to another pool of the shard, keep its lists there.
    connection.execute(
        """DELETE FROM cairn.terms t WHERE t.shard = %s AND t.repository = ANY(%s) AND NOT EXISTS (
               SELECT FROM cairn.segments s WHERE s.shard = t.shard AND s.repository = t.repository
               AND s.id = t.segment AND s.pool <> %s)""",
        (shard, departed, pool),
    )
    for table in ("segments", "holdings"):
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE shard = %s AND pool = %s AND repository = ANY(%s)").format(
                sql.Identifier("cairn", table)
            ),
            (shard, pool, departed),
        )
    connection.execute(
        "DELETE FROM cairn.retired_lists WHERE shard = %s AND repository = ANY(%s)", (shard, departed)
    )


def _delete_files(connection: Connection[TupleRow], pool: int, shard: int) -> tuple[int, int]:
    """Delete files that no repository has, and their chunks. Return the numbers of files and chunks."""
    place = (shard, pool)
    rows = connection.execute(
        """SELECT id FROM cairn.files f WHERE shard = %s AND pool = %s AND NOT EXISTS (
               SELECT FROM cairn.holdings h WHERE h.shard = f.shard AND h.pool = f.pool AND h.file = f.id)""",
        place,
    )
    dead = [number for (number,) in rows]
    if not dead:
        return 0, 0
    rows = connection.execute(
        "SELECT id FROM cairn.chunks WHERE shard = %s AND pool = %s AND file = ANY(%s)", (*place, dead)
    )
    chunks = [number for (number,) in rows]
    for table, column, ids in (
        ("definitions", "chunk", chunks),
        ("vectors", "chunk", chunks),
        ("chunks", "id", chunks),
        ("files", "id", dead),
    ):
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE shard = %s AND pool = %s AND {} = ANY(%s)").format(
                sql.Identifier("cairn", table), sql.Identifier(column)
            ),
            (*place, ids),
        )
    connection.execute(
        "UPDATE cairn.shards SET chunks = greatest(0, chunks - %s) WHERE id = %s", (len(chunks), shard)
    )
    return len(dead), len(chunks)
