"""Connections to the servers of a team store: replicas, the primary, failures, and timeouts."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from tests.index.postgres.store_rows import TeamStore, fill_store, open_owner, open_store, server_login
from tests.killable_server import KillableServer
from tests.postgres import QUICK_SETTINGS, execute

from cairn.errors import CairnError, InvalidRequestError, StoreUnavailableError
from cairn.index.postgres.access import grant, issue_token, role_of
from cairn.index.postgres.failures import explain
from cairn.index.postgres.postgres_server import store_urls
from cairn.index.postgres.transactions import Store

SECRET = "s3cret-pass/word"
WITHIN = 20.0
"""Seconds within which reads must reach a server that answers. One attempt at a silent server takes 2 s."""
FILES = [(1,), (2,)]
"""The files that ann sees."""


def files(connection: Connection[TupleRow]) -> list[TupleRow]:
    return connection.execute("SELECT id FROM cairn.files ORDER BY id").fetchall()


@pytest.fixture
def store(team: TeamStore) -> Iterator[Store]:
    opened = Store([team.server_url])
    yield opened
    opened.close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port whose listener never accepts and has a full queue, so that new connections get no answer."""
    with socket.socket() as listener, ExitStack() as queued:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = queued.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_reading_shows_what_the_reader_may_see_and_writes_nothing(store: Store) -> None:
    def ask(connection: Connection[TupleRow]) -> list[TupleRow]:
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("on",)
        connection.execute("SELECT vector <-> vector FROM cairn.vectors")
        return files(connection)

    assert store.read("ann", ask) == FILES
    with pytest.raises(StoreUnavailableError, match="primary"):
        store.read("ann", lambda db: db.execute("CREATE TEMPORARY TABLE own(id int)"))


def test_connections_that_are_used_again_forget_the_reader(team: TeamStore) -> None:
    store = Store([team.server_url], connections=1)
    for reader, expected in (("ann", FILES), ("bob", [(4,)]), ("ann", FILES)):
        assert store.read(reader, files) == expected
    with pytest.raises(StoreUnavailableError):
        store.read(None, files)
    store.close()


def test_login_itself_looks_up_tokens(team: TeamStore, store: Store) -> None:
    token = issue_token(team.owner, "ann")
    assert store.read(None, lambda db: role_of(db, token)) == "ann"


def test_reading_refuses_an_unknown_reader(store: Store) -> None:
    with pytest.raises(InvalidRequestError, match="unknown is not a reader"):
        store.read("unknown", files)


def test_mistakes_in_sql_are_not_disguised(store: Store) -> None:
    with pytest.raises(errors.UndefinedColumn):
        store.read("ann", lambda db: db.execute("SELECT nothing FROM cairn.files"))


def test_read_is_repeated_when_its_connection_breaks(team: TeamStore, store: Store) -> None:
    reads = []

    def ask(connection: Connection[TupleRow]) -> list[TupleRow]:
        reads.append(1)
        if len(reads) == 1:
            _end_sessions(team, connection.info.backend_pid)
        return files(connection)

    assert store.read("ann", ask) == FILES
    assert len(reads) == 2


def test_broken_idle_connections_are_replaced(team: TeamStore, store: Store) -> None:
    begun = [store.begin("ann") for _ in range(3)]
    for server, connection in begun:
        server.give_back(connection)
    _end_sessions(team, *(connection.info.backend_pid for _, connection in begun))
    for _ in range(3):
        assert store.read("ann", files) == FILES


def test_busy_pool_says_so(team: TeamStore) -> None:
    store = Store([team.server_url], connections=1)
    server, connection = store.begin("ann")
    with pytest.raises(StoreUnavailableError, match=r"connections to .* are in use"):
        store.read("ann", files)
    server.give_back(connection)
    store.close()


def test_read_goes_on_to_a_server_that_answers(team: TeamStore, silent_port: int) -> None:
    gone = make_conninfo(team.server_url, port=_free_port())
    silent = make_conninfo(team.server_url, port=silent_port)
    store = Store([gone, silent, team.server_url])
    for reads in (1, 20):
        started = time.monotonic()
        for _ in range(reads):
            assert store.read("ann", files) == FILES
        assert time.monotonic() - started < WITHIN
    store.close()


def test_replica_answers_first_and_the_primary_when_it_is_gone(server_folder: Path) -> None:
    primary = KillableServer(server_folder / "primary", settings=QUICK_SETTINGS)
    primary.start()
    execute(primary.url(), "CREATE EXTENSION vector")
    with open_store(primary.url(), fill_store(primary.url())) as team:
        grant(team.owner, "ann", [team.main.id])
        replica = primary.make_replica(server_folder / "replica")
        replica.start()
        _wait_until_equal(primary, replica)
        replica_url = make_conninfo(team.server_url, port=replica.port)
        store = Store([team.server_url, replica_url])
        for _ in range(2):
            store.read("ann", files)
        for _ in range(3):
            assert store.read("ann", lambda db: (db.info.port, files(db))) == (replica.port, FILES)
        with psycopg.connect(make_conninfo(team.url, port=replica.port)) as connection:
            with pytest.raises(errors.ReadOnlySqlTransaction) as refused:
                connection.execute("DELETE FROM cairn.refs")
            assert "primary" in str(explain(refused.value, "here"))
        replica.kill()
        started = time.monotonic()
        for _ in range(3):
            assert store.read("ann", lambda db: db.info.port) == primary.port
        assert time.monotonic() - started < WITHIN
        store.close()


def test_errors_say_what_to_do_and_never_the_password(team: TeamStore, silent_port: int) -> None:
    good = team.server_url
    real = str(conninfo_to_dict(good)["password"])
    for expected, url in (
        ("refuses the password", make_conninfo(good, password=SECRET)),
        ("not known", make_conninfo(good, host="no-such-host.invalid", password=SECRET)),
        ("refuses connections", make_conninfo(good, port=_free_port(), password=SECRET)),
        ("does not answer", make_conninfo(good, port=silent_port, password=SECRET)),
        ("not a database", make_conninfo(good, dbname="gone")),
        ("URL is not valid", f"postgresql://user:{SECRET}@host/database"),
        ("URL is not valid", f"host=x password={SECRET} nonsense"),
        ("URL is not valid", "postgresql://user:s3cret@word@host/database"),
        ("URL is not valid", "postgresql://user:12/s3cret@host/database"),
    ):
        with pytest.raises(StoreUnavailableError, match=expected) as raised:
            Store([url]).read("ann", files)
        shown = _everything_shown(raised.value)
        assert not [secret for secret in (SECRET, real, "s3cret") if secret in shown], expected
        assert str(raised.value).endswith(".")


def test_store_of_another_version_or_without_admission_is_refused(prepared_postgres: str) -> None:
    with open_owner(prepared_postgres) as owner, server_login(owner, prepared_postgres) as server_url:
        login = conninfo_to_dict(server_url)["user"]
        for change, problem in (
            ("UPDATE cairn.meta SET value = '99' WHERE key = 'schema'", "Update Cairn"),
            (f'REVOKE cairn_server FROM "{login}"', "admit"),
        ):
            owner.execute(change.encode())
            with pytest.raises(StoreUnavailableError, match=problem):
                Store([server_url]).read(None, files)


def test_store_does_not_show_its_password(team: TeamStore, store: Store) -> None:
    password = str(conninfo_to_dict(team.server_url)["password"])
    store.read("ann", files)
    assert password not in repr(store)
    assert password not in repr(store._servers)


def test_urls_come_from_the_environment_or_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "store-url"
    file.write_text("# replicas first\npostgresql://a\n\n  postgresql://b\n")
    monkeypatch.delenv("CAIRN_STORE_URL", raising=False)
    if os.name == "posix":
        file.chmod(0o640)
        with pytest.raises(StoreUnavailableError, match="chmod 600"):
            store_urls(file)
    file.chmod(0o600)
    assert store_urls(file) == ("postgresql://a", "postgresql://b")
    monkeypatch.setenv("CAIRN_STORE_URL", " postgresql://c  postgresql://d ")
    assert store_urls() == ("postgresql://c", "postgresql://d")
    assert store_urls(file) == ("postgresql://a", "postgresql://b")
    monkeypatch.setenv("CAIRN_STORE_URL", "")
    with pytest.raises(StoreUnavailableError, match="cannot be read"):
        store_urls(tmp_path / "missing")
    with pytest.raises(StoreUnavailableError, match="CAIRN_STORE_URL"):
        store_urls()


def _end_sessions(team: TeamStore, *sessions: int) -> None:
    """End sessions of the server and wait until they are gone."""
    for session in sessions:
        team.owner.execute("SELECT pg_terminate_backend(%s, 5000)", (session,))


def _everything_shown(error: CairnError) -> str:
    """The messages of an error and of those that a traceback shows with it."""
    shown, each = [], error
    while each is not None:
        shown.append(f"{each!r} {each}")
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)  # type: ignore[assignment]
    return "\n".join(shown)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_until_equal(primary: KillableServer, replica: KillableServer) -> None:
    position = execute(primary.url(), "SELECT pg_current_wal_lsn()::text")[0][0]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if execute(replica.url(), f"SELECT pg_last_wal_replay_lsn() >= '{position}'") == [(True,)]:
            return
    pytest.fail("The replica did not catch up.")
