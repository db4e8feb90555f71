"""The HTTP client of a team's server, which answers from a shared index."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from cairn.errors import CairnError, InvalidRequestError, WireError
from cairn.index.remote.wire import dumps, loads
from cairn.text.uris import numeric

PATH = "/team/v1"
_SECONDS = 10.0
_CONNECT_SECONDS = 2.0
_LOST = (http.client.HTTPException, ConnectionError, TimeoutError, OSError)
_MOST_BYTES = 500_000_000
"""The size limit of a response. The largest is a catalogue: that of the Linux kernel takes 30 MB."""


class TeamUnavailableError(CairnError):
    """The team's server cannot be reached, or its response is an error or cannot be read."""


@frozen
class Located:
    """The indexed snapshot of the newest commit that the server knows."""

    snapshot: int
    repository: str
    ref: str
    commit: str
    committed_at: str
    indexed_at: str
    behind: int
    """How many of the requested commits are newer."""


class _Connections(threading.local):
    """The open connection of the current thread, which sends one request at a time."""

    open: http.client.HTTPConnection | None = None


@frozen(eq=False)
class TeamServer:
    """The server at `url`, for the owner of `token`. Several threads may use it at once."""

    url: str
    token: str = field(repr=False)
    _local: _Connections = field(factory=_Connections, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not _is_valid(self.url):
            raise InvalidRequestError(
                "team.url", "must be like https://cairn.example.org, without a name or password"
            )
        if not _is_private(self.url):
            raise InvalidRequestError(
                "team.url",
                "must begin with https:// for another machine, so that your token is sent encrypted",
            )

    def locate(self, commits: Sequence[str]) -> Located | None:
        """Return the snapshot of the first of `commits` (newest first) that is indexed, None if none is."""
        answer = self._request("POST", "/locate", json.dumps({"commits": list(commits)}).encode())
        try:
            found = json.loads(answer)
            return None if found is None else Located(**found)
        except (ValueError, TypeError) as problem:
            raise self._unexpected_answer() from problem

    def catalogue(self, snapshot: int) -> bytes:
        return self._request("GET", f"/catalogue/{snapshot}", b"")

    def read(self, snapshot: int, name: str, given: list[Any]) -> Any:
        answer = self._request("POST", f"/read/{snapshot}", dumps([name, given]))
        try:
            return loads(answer)
        except WireError as problem:
            raise self._unexpected_answer() from problem

    def _unexpected_answer(self) -> TeamUnavailableError:
        return TeamUnavailableError(
            f"{self.url} does not answer as a team's server of the same version would. Correct team.url, or"
            " install the same version of Cairn on this machine and the server."
        )

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        """Return the body of the response. A failed request over a reused connection is sent once more,
        because the server may have closed it. Raise TeamUnavailableError for no response or an error
        response."""
        is_reused = self._local.open is not None
        try:
            return self._send(method, path, body)
        except _LOST as problem:
            self._close()
            if is_reused and not isinstance(problem, TimeoutError):
                try:
                    return self._send(method, path, body)
                except _LOST as again:
                    self._close()
                    problem = again
            raise TeamUnavailableError(
                f"The team's server at {self.url} does not answer ({_reason(problem)})."
            ) from problem

    def _send(self, method: str, path: str, body: bytes) -> bytes:
        connection = self._local.open or self._connect()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, urlsplit(self.url).path.rstrip("/") + PATH + path, body or None, headers)
        response = connection.getresponse()
        answer = response.read(_MOST_BYTES)
        if response.will_close:
            self._close()
        if response.status != 200:
            raise TeamUnavailableError(_refusal(self.url, response.status, answer))
        return answer

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=_CONNECT_SECONDS, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(
                numeric(parts.hostname), parts.port, timeout=_CONNECT_SECONDS
            )
        connection.connect()
        connection.sock.settimeout(_SECONDS)
        self._local.open = connection
        return connection

    def _close(self) -> None:
        if self._local.open is not None:
            self._local.open.close()
            self._local.open = None


def _is_valid(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # The URL has brackets without an address, or a port that is not a number.
        return False
    return named and not (parts.username or parts.password or parts.query or parts.fragment) and url.isascii()


def _is_private(url: str) -> bool:
    """Whether the connection is encrypted or stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


def _reason(problem: BaseException) -> str:
    return (getattr(problem, "strerror", None) or str(problem) or type(problem).__name__)[:200]


def _refusal(url: str, status: int, answer: bytes) -> str:
    if status == 401:
        return (
            f"The team's server at {url} does not know the token. Create one with `cairn team grant`, and put"
            " it into CAIRN_TEAM_TOKEN or the file `team-token` beside Cairn's settings."
        )
    try:
        reason = str(json.loads(answer)["error"]["message"])[:300]
    except (ValueError, KeyError, TypeError):
        reason = f"HTTP status {status}"
    return f"The team's server at {url} refused: {reason}"
