"""The socket at which `cairn serve` listens."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing

import pytest

from cairn.serve.server import PortError, _bound


@pytest.mark.asyncio
async def test_answers_are_sent_at_once_and_not_with_the_next_acknowledgement() -> None:
    """Head and body of an answer are two packets: by Nagle's algorithm the second waits until the client has acknowledged the
    first, which it does 40 ms later. asyncio switches that off only where a socket names its protocol, and one that
    `socket.create_server` makes does not, so connections must have it from the socket that listens.
    """
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


def test_port_that_is_taken_is_refused_with_what_to_do() -> None:
    with closing(_bound("127.0.0.1", 0, "--port")) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            PortError, match=rf"Port {port} of 127\.0\.0\.1 is in use.*--port 0 for a free one"
        ):
            _bound("127.0.0.1", port, "--port")
