"""The HTTP client of a team's server, which answers from a shared index.

The server is not trusted. All that it sends is limited in size and time, and checked before it is used.
"""

from __future__ import annotations

import datetime
import http.client
import json
import ssl
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from cairn.errors import CairnError, InvalidRequestError, WireError
from cairn.index.remote.messages import ANSWERS, MOST_BYTES, check, dumps, loads
from cairn.schema import strict_json
from cairn.startup.timers import ended_after
from cairn.text.uris import numeric

PATH = "/team/v1"
_SECONDS = 10.0
_CONNECT_SECONDS = 2.0
_ANSWER_SECONDS = 300.0
"""The time limit of a whole response, long enough for a catalogue over a slow line. `_SECONDS` is that of a
part of it, with which a server could take for ever."""
_LOST = (http.client.HTTPException, ConnectionError, TimeoutError, OSError)
_MOST_CATALOGUE_BYTES = 64 << 20
"""The size limit of a catalogue: that of the Linux kernel takes 30 MB."""
_MOST_SMALL_BYTES = 10_000
"""The size limit of a located snapshot, and of an error."""
_MOST_LIST_BYTES = 1_000_000
"""The size limit of a list of snapshots."""
_MOST_SHOWN = 300
_HEX = frozenset("0123456789abcdef")


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
        body = json.dumps({"commits": list(commits)}).encode()
        answer = self._request("POST", "/locate", body, _MOST_SMALL_BYTES)
        try:
            found = strict_json.loads(answer)
            return None if found is None else _checked(Located(**found), commits)
        except (ValueError, TypeError, WireError) as problem:
            raise self._unexpected_answer() from problem

    def importing(self, snapshot: int, texts: Sequence[str]) -> list[Located]:
        """Return the snapshots of other repositories with files whose imports, as JSON, have one of the
        texts."""
        body = json.dumps({"texts": list(texts)}).encode()
        answer = self._request("POST", f"/importing/{snapshot}", body, _MOST_LIST_BYTES)
        try:
            found = [Located(**each) for each in strict_json.loads(answer)]
            return [_checked(each, [each.commit]) for each in found]
        except (ValueError, TypeError, LookupError, WireError) as problem:
            raise self._unexpected_answer() from problem

    def catalogue(self, snapshot: int) -> bytes:
        return self._request("GET", f"/catalogue/{snapshot}", b"", _MOST_CATALOGUE_BYTES)

    def read(self, snapshot: int, name: str, given: list[Any]) -> Any:
        answer = self._request("POST", f"/read/{snapshot}", dumps([name, given]), MOST_BYTES)
        try:
            return check(ANSWERS[name], loads(answer))
        except WireError as problem:
            raise self._unexpected_answer() from problem

    def _unexpected_answer(self) -> TeamUnavailableError:
        return TeamUnavailableError(
            f"{self.url} does not answer as a team's server of the same version would. Correct team.url, or"
            " install the same version of Cairn on this machine and the server."
        )

    def _request(self, method: str, path: str, body: bytes, most: int) -> bytes:
        """Return the body of the response, of at most `most` bytes. A failed request over a reused connection
        is sent once more, because the server may have closed it. Raise TeamUnavailableError for no response,
        an error response, or a larger response."""
        is_reused = self._local.open is not None
        try:
            return self._send(method, path, body, most)
        except _LOST as problem:
            self._close()
            if is_reused and not isinstance(problem, TimeoutError):
                try:
                    return self._send(method, path, body, most)
                except _LOST as again:
                    self._close()
                    problem = again
            raise TeamUnavailableError(
                f"The team's server at {self.url} does not answer ({_reason(problem)})."
            ) from problem

    def _send(self, method: str, path: str, body: bytes, most: int) -> bytes:
        connection = self._local.open or self._connect()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        path = urlsplit(self.url).path.rstrip("/") + PATH + path
        with ended_after(connection.sock, _ANSWER_SECONDS):
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            is_answer, will_close = response.status == 200, response.will_close
            most = most if is_answer else _MOST_SMALL_BYTES
            answer = response.read(most + 1)
        is_whole = len(answer) <= most
        if will_close or not is_whole:  # The rest would be taken for the next response.
            self._close()
        if not is_answer:
            raise TeamUnavailableError(_refusal(self.url, response.status, answer))
        if not is_whole:
            raise self._unexpected_answer()
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


def _checked(found: Located, commits: Sequence[str]) -> Located:
    """Return `found`. Raise ValueError or WireError if a server can not mean it for these commits."""
    check(Located, found)
    for time in (found.committed_at, found.indexed_at):
        datetime.datetime.fromisoformat(time)
    names = (found.repository, found.ref)
    are_names = all(0 < len(name) <= _MOST_SHOWN and name.isprintable() for name in names)
    if (
        not are_names
        or not set(found.commit) <= _HEX
        or found.commit not in commits[found.behind : found.behind + 1]
    ):
        raise ValueError("The located snapshot is not one of those asked for.")
    return found


def _reason(problem: BaseException) -> str:
    return _one_line(getattr(problem, "strerror", None) or str(problem) or type(problem).__name__)


def _one_line(text: str) -> str:
    """Return a text of the server in a form that can stand in a sentence."""
    return "".join(each if each.isprintable() else " " for each in text[:_MOST_SHOWN])


def _refusal(url: str, status: int, answer: bytes) -> str:
    if status == 401:
        return (
            f"The team's server at {url} does not know the token. Create one with `cairn team grant`, and put"
            " it into CAIRN_TEAM_TOKEN or the file `team-token` beside Cairn's settings."
        )
    try:
        reason = _one_line(str(strict_json.loads(answer)["error"]["message"]))
    except (ValueError, KeyError, TypeError):
        reason = f"HTTP status {status}"
    return f"The team's server at {url} refused: {reason}"
