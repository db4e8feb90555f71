"""A second web server on this machine, whose pages are up to no good."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from attrs import field, frozen

ELSEWHERE = "elsewhere.example"
"""A name that leads to this machine, in the browser of the tests."""
REBOUND = "rebound.example"
"""A name that was made to lead here after its page was loaded, as somebody does who wants to ask our server from his page."""
NAMES = ("127.0.0.1", "localhost", ELSEWHERE)
"""What the other site is called. Cookies and SameSite do not tell ports apart: for them, the first one is the same site as ours."""


@frozen
class Got:
    """A request to the other site."""

    path: str
    headers: Mapping[str, str]


@frozen
class OtherSite:
    """Answers each path with the page that is given for it, and every other one with an empty page."""

    port: int
    pages: dict[str, str] = field(factory=dict)
    requests: list[Got] = field(factory=list)

    def url(self, path: str = "/", name: str = ELSEWHERE) -> str:
        return f"http://{name}:{self.port}{path}"


@contextmanager
def other_site() -> Iterator[OtherSite]:
    """Run it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.requests.append(Got(self.path, dict(self.headers)))
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
