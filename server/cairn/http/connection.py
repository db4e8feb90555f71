"""uvicorn's HTTP connection, with what it leaves open closed: nobody holds one for ever by sending, or
reading, nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from cairn.http.errors import error_body

HEAD_BYTES = 16_384
"""Of a request's first line and headers; h11's own limit."""
_HEAD_SECONDS = 10.0
"""From the connection, or the first byte of a further request, until its headers are complete."""
_UNREAD_SECONDS = 30.0
"""A client that takes nothing of an answer for so long is left."""
_KEPT_SECONDS = 30
"""A connection without a request is kept for the next one."""
_CONNECTIONS = 256
"""Far below the 1,024 files that a process may have open on most systems."""


class Web(uvicorn.Server):
    """uvicorn's server as a part of this process, whose signals are another's business."""

    def __init__(self, app: ASGIApp, end_seconds: int) -> None:
        """`end_seconds` is how long answers may take when the server is to end."""
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
            timeout_keep_alive=_KEPT_SECONDS,
            timeout_graceful_shutdown=end_seconds,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
        super().__init__(settings)
        self.listens = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None of them."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does."""
        await super().startup(sockets)
        self.listens.set()


class _Connection(H11Protocol):
    """One connection."""

    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.abort()
        else:
            self._look_at_head()

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # what came cannot be answered in the midst of another answer
            self.transport.abort()
        self._look_at_head()

    def _look_at_head(self) -> None:
        """Wait for a request's head, if none is being answered and what came of one is not all."""
        between = self.cycle is None or self.cycle.response_complete
        # A client may still send the body of a request that is answered already.
        is_sending_on = self.conn.their_state is h11.SEND_BODY
        begun = self.cycle is None or bool(self.conn.trailing_data[0]) or is_sending_on
        if not between or self.transport.is_closing():
            _stop(self._head_timer)
            self._head_timer = None
        elif begun and self._head_timer is None:
            self._head_timer = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """As uvicorn does, but in JSON, and only where nothing else is being answered."""
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
        """Also where the client has not taken the last answer."""
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
