"""Choose where a repository is stored. Forks have most files in common, so they share a pool of stored
files, unless one of them shall be apart.
"""

from __future__ import annotations

from contextlib import ExitStack

from attrs import evolve, frozen
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError
from cairn.index.postgres.lists import Home
from cairn.index.postgres.snapshot_catalogue import project_of
from cairn.team.git_source import Address, Ref, Repository, place_of
from cairn.team.runs import Progress, locked, root_lock

WAITING = "Another run is writing this repository or a fork of it. This run waits for it to end."


@frozen
class StoragePlace:
    name: str
    url: str
    home: Home | None
    """Where the repository is stored; None if it is new."""
    pool: tuple[int, int] | None
    """The ids of the pool and its shard; None for a new repository without forks in the store."""
    roots: tuple[str, ...]
    project: str
    apart: bool
    """Whether the pool is for this repository alone."""


def find_place(
    connection: Connection[TupleRow],
    stack: ExitStack,
    address: Address,
    repository: Repository,
    name: str,
    ref: Ref,
    server: str,
    progress: Progress,
    *,
    apart: bool = False,
) -> StoragePlace:
    """Return where the repository is stored. A new one will be on `server`, and runs for its forks wait until
    `stack` is closed. With `apart`, it shares nothing with forks, now and later.

    Raise InvalidRequestError if `name` belongs to another repository, if the repository or a fork of it is on
    a server other than `server`, or if the repository shall be apart but shares a pool already.
    """
    url = address.url if address.folder is None else repository.origin() or address.url
    known = _known(connection, name)
    if known is not None:
        _check_same(connection, known, url, repository, ref)
        _check_server(connection, known.pool, server, name)
        if known.roots and known.project and (known.apart or not apart):
            return known
    roots = tuple(repository.roots(ref.commit))
    stack.enter_context(locked(connection, map(root_lock, roots), WAITING, progress))
    # Passages of documents are embedded with the project's name. It must not be that of another repository.
    project = project_of(Address(None, url).name)
    if known is not None:
        if apart and not known.apart:
            _set_apart(connection, name)
        return evolve(known, roots=known.roots or roots, project=known.project or project)
    pool = None
    if not apart:
        pool = connection.execute(
            """SELECT p.id, p.shard FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool
               WHERE r.roots && %s::text[] AND NOT p.apart ORDER BY r.id LIMIT 1""",
            (list(roots),),
        ).fetchone()
        _check_server(connection, pool, server, name)
    return StoragePlace(name, url, None, pool, roots, project, apart)


def _set_apart(connection: Connection[TupleRow], name: str) -> None:
    """Keep later forks out of the repository's pool. Raise InvalidRequestError if it has, or had, forks."""
    changed = connection.execute(
        """UPDATE cairn.pools SET apart = true
           WHERE id = (SELECT pool FROM cairn.repositories WHERE name = %s) AND NOT unswept
           AND NOT EXISTS (SELECT FROM cairn.repositories WHERE pool = pools.id AND name <> %s)""",
        (name, name),
    )
    if not changed.rowcount:
        raise InvalidRequestError(
            "apart",
            f"cannot separate {name} from the forks that share its rows. Remove it with"
            f" `cairn team remove {name}`, and index it again with --apart",
        )


def _check_server(
    connection: Connection[TupleRow], pool: tuple[int, int] | None, server: str, name: str
) -> None:
    """Raise InvalidRequestError if the user names a server other than the pool's."""
    if not server or pool is None:
        return
    row = connection.execute("SELECT server FROM cairn.shards WHERE id = %s", (pool[1],)).fetchone()
    actual = row[0] if row else None
    if server != actual:
        where = f"the server {actual}" if actual else "the store's own server"
        raise InvalidRequestError(
            "server",
            f"{name}, or a fork of it, is already on {where}. Leave out --on, or remove it from there first"
            " with `cairn team remove`",
        )


def _known(connection: Connection[TupleRow], name: str) -> StoragePlace | None:
    row = connection.execute(
        """SELECT r.id, r.pool, p.shard, r.url, r.roots, r.project, p.apart
           FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool WHERE r.name = %s""",
        (name,),
    ).fetchone()
    if row is None:
        return None
    number, pool, shard, url, roots, project, apart = row
    return StoragePlace(name, url, Home(number, pool, shard), (pool, shard), tuple(roots), project, apart)


def _check_same(
    connection: Connection[TupleRow], known: StoragePlace, url: str, repository: Repository, ref: Ref
) -> None:
    """Raise InvalidRequestError if the name belongs to another repository."""
    before, now = place_of(known.url), place_of(url)
    differs = bool(before and now and before != now)
    if not differs and known.roots:
        latest = connection.execute(
            """SELECT s.commit FROM cairn.snapshots s JOIN cairn.repositories r ON r.id = s.repository
               WHERE r.name = %s ORDER BY s.indexed_at DESC LIMIT 1""",
            (known.name,),
        ).fetchone()
        if latest is None or not repository.has(latest[0]):
            roots = repository.roots(ref.commit)
            differs = bool(roots) and not set(roots) & set(known.roots)
    if differs:
        raise InvalidRequestError(
            "name",
            f"{known.name} is the name of another repository, {known.url}. Choose another name with --name",
        )
