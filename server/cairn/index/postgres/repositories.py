"""The repositories of a team store, the pools and shards of their rows, and their frequent words.

By the frequent words of each repository, a query selects a few among thousands of repositories.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from cairn.index.postgres.blocks import Block
from cairn.index.postgres.lists import Home
from cairn.index.postgres.segment import WORDS
from cairn.index.postgres.shards import OtherServer, add_shard, known_server, servers_of

_MOST_WORDS = 3_000
"""The maximum number of words stored per repository, 150 kB. Words of a repository's topic are frequent."""
_SMOOTHING = 100.0
"""The smoothing in chunks, the same value as in `cairn.retrieval.packages`."""
_MOST_TERMS = 200
_MOST_DEFINITIONS = 5_000
"""The maximum number of definitions by which a name selects repositories."""
_LONGEST_LOOK_MS = 1_000
"""The time limit for reading the imports of all files. With all cores busy, 200,000 files took 0.3 s for one
text, and 0.2 s more for each further one."""


def keep_frequent_words(connection: Connection[TupleRow], shard: int, repository: int) -> None:
    """Recount the words of a repository from its inverted lists, and store the most frequent ones."""
    rows = connection.execute(
        f"SELECT dictionary FROM cairn.terms WHERE shard = %s AND repository = %s AND kind = {WORDS}",
        (shard, repository),
    )
    counts: Counter[str] = Counter()
    for (packed,) in rows:
        words = Block(bytes(packed))
        for term, documents in zip(words.terms, words.documents.tolist(), strict=True):
            counts[term] += documents
    connection.execute("DELETE FROM cairn.repository_words WHERE repository = %s", (repository,))
    with connection.cursor().copy("COPY cairn.repository_words(repository, term, chunks) FROM STDIN") as copy:
        # The order of equally frequent words must not depend on the order in which lists were stored.
        for term, chunks in heapq.nsmallest(
            _MOST_WORDS, counts.items(), key=lambda item: (-item[1], item[0])
        ):
            copy.write_row((repository, term, chunks))


def likely_repositories(
    connection: Connection[TupleRow],
    terms: Iterable[str],
    names: Iterable[str],
    shards: Iterable[int],
    most: int,
) -> list[int]:
    """Return the ids of the visible repositories that likeliest contain the stems `terms`, best first.

    Repositories of `shards` that define any of `names` come before all others. Raise PartUnavailableError if
    the server of a shard does not answer.
    """
    wanted = list(dict.fromkeys(terms))[:_MOST_TERMS]
    sizes: dict[int, int] = dict(
        connection.execute(
            """SELECT DISTINCT ON (s.repository) s.repository, coalesce((s.facts->>'chunks')::int, 0)
               FROM cairn.snapshots s ORDER BY s.repository, s.indexed_at DESC"""
        ).fetchall()
    )
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for term, repository, chunks in connection.execute(
        "SELECT term, repository, chunks FROM cairn.repository_words WHERE term = ANY(%s)", (wanted,)
    ):
        counts[term][repository] = chunks
    every = sum(sizes.values())
    scores = dict.fromkeys(sizes, 0.0)
    for of_term in counts.values():
        usual = (sum(of_term.values()) + 0.5) / (every + 1.0)
        for repository, size in sizes.items():
            found = of_term.get(repository, 0)
            scores[repository] += math.log((found + _SMOOTHING * usual) / (size + _SMOOTHING))
    defining = _defining(connection, names, shards)
    return sorted(scores, key=lambda each: (-defining[each], -scores[each], each))[:most]


def _defining(connection: Connection[TupleRow], names: Iterable[str], shards: Iterable[int]) -> Counter[int]:
    folded = [name.lower() for name in names]
    found = Counter[int]()
    for repository, count in _rows_of_shards(connection, _SELECT_DEFINING, folded, shards):
        found[repository] += count
    return found


def _rows_of_shards(
    connection: Connection[TupleRow], select: str, given: Sequence[str], shards: Iterable[int]
) -> list[TupleRow]:
    """Return the rows of a statement whose parameter is `given`, in which `{}` stands for the shards, from
    all servers that have any of them. Without `given`, there are none."""
    if not given:
        return []
    wanted = set(shards)
    elsewhere = servers_of(connection, wanted)

    def of_server(server: OtherServer | None) -> Callable[[Connection[TupleRow]], list[TupleRow]]:
        there = [shard for shard in wanted if elsewhere.get(shard) is server]
        # The shard numbers are literals in the statement: PostgreSQL connects to the servers of all
        # partitions that it cannot rule out while planning.
        statement = sql.SQL(select).format(sql.SQL(", ").join(map(sql.Literal, there)))
        return lambda db: db.execute(statement, (given,)).fetchall() if there else []

    found = of_server(None)(connection)
    for server in set(elsewhere.values()):
        found += server.watched(of_server(server))(connection)
    return found


def importing_pools(
    connection: Connection[TupleRow], texts: Iterable[str], shards: Iterable[int]
) -> frozenset[int]:
    """Return the pools of `shards` with visible files whose imports, as JSON, have any of the texts."""
    connection.execute(f"SET LOCAL statement_timeout = {_LONGEST_LOOK_MS}")
    patterns = ["%" + re.sub(r"([%_\\])", r"\\\1", text) + "%" for text in texts]
    return frozenset(pool for (pool,) in _rows_of_shards(connection, _SELECT_IMPORTING, patterns, shards))


# A name with too many definitions counts nowhere: the first of them depend on the order of storing.
_SELECT_DEFINING = f"""
    SELECT r.id, count(DISTINCT d.folded) FROM unnest(%s::text[]) AS n(name)
    CROSS JOIN LATERAL (
        SELECT folded, pool, count(*) OVER () AS many FROM (
            SELECT folded, pool FROM cairn.definitions WHERE folded = n.name AND shard IN ({{}})
            LIMIT {_MOST_DEFINITIONS + 1}) AS first) AS d
    JOIN cairn.repositories r ON r.pool = d.pool WHERE d.many <= {_MOST_DEFINITIONS} GROUP BY r.id"""


_SELECT_IMPORTING = """
    SELECT DISTINCT pool FROM cairn.files WHERE shard IN ({}) AND imports LIKE ANY (%s::text[])"""

_FULL = 200_000
"""The number of chunks from which a shard gets no new pools."""


def find_home(
    connection: Connection[TupleRow],
    name: str,
    url: str,
    pool: int | None = None,
    server: str = "",
    *,
    apart: bool = False,
) -> Home:
    """Return where the repository `name` is stored. Register a new one in `pool`, or else in a new pool.

    `server` names the database server for a new pool; "" means the store's own server. With `apart`, forks
    may not share the new pool. Raise
    InvalidRequestError for an unknown server.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('cairn.repositories', 0))")
        row = connection.execute(
            """SELECT r.id, r.pool, p.shard FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool
               WHERE r.name = %s""",
            (name,),
        ).fetchone()
        if row is not None:
            return Home(*row)
        if pool is None:
            pool = _new_pool(connection, server, apart)
        row = connection.execute(
            "INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, %s, %s) RETURNING id",
            (pool, name, url),
        ).fetchone()
        assert row is not None
        shard = connection.execute("SELECT shard FROM cairn.pools WHERE id = %s", (pool,)).fetchone()
        assert shard is not None
    return Home(int(row[0]), pool, int(shard[0]))


def _new_pool(connection: Connection[TupleRow], server: str, apart: bool) -> int:
    """Create a pool in the fullest shard of the server that still has room, or in a new shard."""
    row = connection.execute(
        """SELECT id FROM cairn.shards WHERE server IS NOT DISTINCT FROM %s AND chunks < %s
           ORDER BY chunks DESC, id LIMIT 1""",
        (server or None, _FULL),
    ).fetchone()
    shard = int(row[0]) if row else add_shard(connection, known_server(connection, server))
    made = connection.execute(
        "INSERT INTO cairn.pools(shard, apart) VALUES (%s, %s) RETURNING id", (shard, apart)
    ).fetchone()
    assert made is not None
    return int(made[0])
