"""Programs of other users at ports of this machine, which keep everything that they receive."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from attrs import define, field

Respond = Callable[[bytes], Iterable[bytes]]
"""Returns the parts of the response to a request."""


@define
class Impostor:
    port: int
    received: list[bytes] = field(factory=list)
    """The requests, in the order of their arrival."""

    @property
    def text(self) -> str:
        return b"".join(self.received).decode("latin-1")


@contextmanager
def impostor(
    respond: Respond, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[Impostor]:
    """Listen at a free port, and answer each request."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as bound:
        running = Impostor(bound.getsockname()[1])

        def accept() -> None:
            with suppress(OSError):  # The end of the test closes the listening socket.
                while True:
                    threading.Thread(target=talk, args=(bound.accept()[0],), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with suppress(OSError):
                if tls:
                    connection = tls.wrap_socket(connection, server_side=True)
                with connection:
                    while request := connection.recv(65_536):
                        running.received.append(request)
                        for part in respond(request):
                            connection.sendall(part)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            with suppress(OSError):
                bound.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def response(body: str = "", status: int = 200, headers: Mapping[str, str] | None = None) -> list[bytes]:
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ["\r\n".join([*lines, "", body]).encode("latin-1")]


def redirects(to: str, status: int) -> Respond:
    return lambda _: response(status=status, headers={"Location": to})


def repeats(request: bytes) -> list[bytes]:
    """Send the client's own nonce back, with a made-up proof."""
    nonce = request.decode("latin-1").partition("cairn-nonce: ")[2].partition("\r\n")[0]
    return response(nonce + "0" * 64)


def trickles(_: bytes) -> Iterator[bytes]:
    while True:
        yield b"H"
        time.sleep(0.02)


def relays_to(port: int) -> Respond:
    """Pass each request on to the server at a port, as if it had been sent there."""

    def relay(request: bytes) -> list[bytes]:
        lines = [line for line in request.split(b"\r\n") if not line.lower().startswith(b"host:")]
        lines[1:1] = [b"Host: 127.0.0.1:%d" % port, b"Connection: close"]
        with socket.create_connection(("127.0.0.1", port)) as real:
            real.sendall(b"\r\n".join(lines))
            return list(iter(lambda: real.recv(65_536), b""))

    return relay
