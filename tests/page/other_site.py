"""A second web server on this machine, with hostile pages."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from attrs import field, frozen

ELSEWHERE = "elsewhere.example"
"""A name of this machine, in the browser of the tests."""
REBOUND = "rebound.example"
"""A name that an attacker has redirected to our server (DNS rebinding)."""
NAMES = ("127.0.0.1", "localhost", ELSEWHERE)
"""The names of the other site. For cookies, which ignore ports, the first is the same site as ours."""


@frozen
class Received:
    """A request to the other site."""

    path: str
    headers: Mapping[str, str]


@frozen
class OtherSite:
    """A site that answers each path with its page in `pages`, or an empty page."""

    port: int
    pages: dict[str, str] = field(factory=dict)
    requests: list[Received] = field(factory=list)

    def url(self, path: str = "/", name: str = ELSEWHERE) -> str:
        return f"http://{name}:{self.port}{path}"


@contextmanager
def other_site() -> Iterator[OtherSite]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.requests.append(Received(self.path, dict(self.headers)))
            body = f"<!doctype html><meta charset=utf-8>{own.pages.get(self.path, '')}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        own = OtherSite(server.server_address[1])
        running = threading.Thread(target=server.serve_forever, daemon=True)
        running.start()
        try:
            yield own
        finally:
            server.shutdown()
            running.join()
