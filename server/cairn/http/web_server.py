"""Closes HTTP connections of uvicorn whose clients stop sending or reading, and limits their number."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from cairn.http.refusals import error_body

HEAD_BYTES = 16_384
"""The maximum size of a request's first line and headers together; this is h11's own limit."""
_HEAD_SECONDS = 10.0
"""The timeout for headers, from the connection on, or from the first byte of a later request."""
_UNREAD_SECONDS = 30.0
"""Timeout for a client that does not read the answer."""
_KEEP_ALIVE_SECONDS = 30
_CONNECTIONS = 256
"""The maximum number of connections: far below the 1,024 open files that most systems allow a process."""


class Web(uvicorn.Server):
    """A uvicorn server that does not handle signals, since it is only one part of the process."""

    def __init__(self, app: ASGIApp, end_seconds: int) -> None:
        """Create a server. When it stops, running requests have `end_seconds` to finish."""
        settings = uvicorn.Config(
            app,
            http=_Connection,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=end_seconds,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
        super().__init__(settings)
        self.listens = asyncio.Event()
        """Set once the server accepts connections."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()


class _Connection(H11Protocol):
    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.abort()
        else:
            self._update_head_timer()

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        # The data is malformed, and the response to an earlier request has begun.
        except h11.LocalProtocolError:
            self.transport.abort()
        self._update_head_timer()

    def _update_head_timer(self) -> None:
        """Start the timer for a request whose head is incomplete; stop it while a request is answered."""
        between = self.cycle is None or self.cycle.response_complete
        # The client may still be sending the body of the request that is answered.
        sends_body = self.conn.their_state is h11.SEND_BODY
        begun = self.cycle is None or bool(self.conn.trailing_data[0]) or sends_body
        if not between or self.transport.is_closing():
            _stop(self._head_timer)
            self._head_timer = None
        elif begun and self._head_timer is None:
            self._head_timer = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Answer as uvicorn does, but in JSON, and only if no other response has begun."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or (
            self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        ):
            self.transport.abort()
            return
        body = error_body("invalidRequest", msg)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection even if the client has not read the last answer."""
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread_timer is None:
            self._unread_timer = self.loop.call_later(_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._unread_timer)
        self._unread_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._head_timer)
        _stop(self._unread_timer)
        super().connection_lost(exc)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
