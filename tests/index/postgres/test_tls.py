"""Encrypted connections to the database.

The PostgreSQL of the wheel is built without TLS, so a proxy speaks TLS for it, as a connection pooler does.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.index.postgres.store_rows import TeamStore

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.transactions import Store

TLS = Path(__file__).parents[2] / "data" / "tls"
TRUSTED, OTHER = TLS / "localhost.pem", TLS / "other.pem"
"""Certificates that expire in 2126: that of the server `localhost` with its key, and an unrelated one."""
_REQUEST_BYTES = 8
_REQUEST_FOR_TLS = (80877103).to_bytes(4, "big")


@pytest.fixture
def tls_port(team: TeamStore) -> Iterator[int]:
    """The port of a proxy before the store's server that speaks only TLS."""
    behind = int(str(conninfo_to_dict(team.server_url)["port"]))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TRUSTED)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):  # The end of the test closes the listener.
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=_relay, args=(client, context, behind), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def _relay(client: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with contextlib.suppress(OSError), client:
        while client.recv(_REQUEST_BYTES, socket.MSG_WAITALL)[4:] != _REQUEST_FOR_TLS:
            client.sendall(b"N")  # The client asked for another kind of encryption.
        client.sendall(b"S")
        with (
            context.wrap_socket(client, server_side=True) as spoken,
            socket.create_connection(("127.0.0.1", port)) as server,
        ):
            # One thread does both, since a TLS connection may not be read and written at the same time.
            while True:
                ready = [spoken] if spoken.pending() else select.select([spoken, server], [], [])[0]
                for one in ready:
                    if not (data := one.recv(65_536)):
                        return
                    (server if one is spoken else spoken).sendall(data)


def _url(team: TeamStore, host: str, port: int, trusted: Path) -> str:
    given = {"host": host, "port": port, "sslmode": "verify-full", "sslrootcert": str(trusted)}
    return make_conninfo(team.server_url, **given)


def test_connection_to_a_trusted_server_is_encrypted(team: TeamStore, tls_port: int) -> None:
    store = Store([_url(team, "localhost", tls_port, TRUSTED)])
    found = store.read("ann", lambda db: (db.pgconn.ssl_in_use, db.execute("SELECT 1").fetchone()))
    assert found == (True, (1,))
    store.close()


@pytest.mark.parametrize(("host", "trusted"), [("localhost", OTHER), ("127.0.0.1", TRUSTED)])
def test_server_of_another_certificate_is_refused(
    team: TeamStore, tls_port: int, host: str, trusted: Path
) -> None:
    store = Store([_url(team, host, tls_port, trusted)])
    with pytest.raises(StoreUnavailableError, match="certificate that is not trusted") as refused:
        store.read("ann", lambda _: None)
    assert str(conninfo_to_dict(team.server_url)["password"]) not in str(refused.value)


def test_server_without_tls_is_refused_where_that_is_required(team: TeamStore) -> None:
    store = Store([make_conninfo(team.server_url, sslmode="require")])
    with pytest.raises(StoreUnavailableError, match="has no TLS"):
        store.read("ann", lambda _: None)
