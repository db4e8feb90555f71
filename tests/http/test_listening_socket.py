"""The socket at which `cairn serve` listens."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing

import pytest

from cairn.serve.serving import _OTHER_LOOPBACK, PortError, _bound, _listening


@pytest.mark.asyncio
async def test_connections_do_not_delay_packets() -> None:
    # With Nagle's algorithm, the second packet of an answer waits 40 ms for the acknowledgement of the first.
    # asyncio does not disable it for sockets of `socket.create_server`, so the listening socket must.
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with closing(_bound("127.0.0.1", 0, "--port")) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        async with await asyncio.start_server(look, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            assert await asyncio.wait_for(accepted, 60)
            writer.close()


def test_port_in_use_is_an_error_with_a_remedy() -> None:
    with closing(_bound("127.0.0.1", 0, "--port")) as taken:
        port = taken.getsockname()[1]
        message = rf"Port {port} of 127\.0\.0\.1 is in use.*--port 0 for a free one"
        with pytest.raises(PortError, match=message):
            _bound("127.0.0.1", port, "--port")


@pytest.mark.parametrize(("address", "other"), [("127.0.0.1", "::1"), ("::1", "127.0.0.1")])
def test_server_takes_both_addresses_of_localhost(address: str, other: str) -> None:
    bound = _listening(address, 0, "--port")
    with closing(bound[0]), closing(bound[1]):
        assert [each.getsockname()[0] for each in bound] == [address, other]
        (port,) = {each.getsockname()[1] for each in bound}
        with socket.create_connection(("localhost", port), timeout=60):
            pass


def test_server_refuses_a_port_that_another_program_has_for_localhost() -> None:
    with closing(_bound("::1", 0, "--lsp-port")) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=rf"Port {port} of ::1 is in use.*--lsp-port 0 for a free one"):
            _listening("127.0.0.1", port, "--lsp-port")
        _bound("127.0.0.1", port, "--lsp-port").close()


def test_machine_without_the_other_address_serves_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_OTHER_LOOPBACK, "127.0.0.1", "2001:db8::1")  # No machine has this address.
    (bound,) = _listening("127.0.0.1", 0, "--port")
    bound.close()
