"""Sessions of browsers, and the one-time links that begin them.

A browser's cookie stands for the token but does not contain it, so it does not give access to the API.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from attrs import define, field, frozen

from cairn.operations.tokens import Token

LINK_SECONDS = 600.0
"""How long an unused link is valid, in seconds."""
_MOST_LINKS = 1_000
_MOST_SESSIONS = 10_000

V = TypeVar("V")
Clock = Callable[[], float]
"""Returns Unix seconds."""


@define
class SignedSessions:
    """Sessions for this machine's own token. They survive a restart: the token signs the cookie."""

    _token: Token
    _seconds: float
    _now: Clock = time.time
    _ended: OrderedDict[str, None] = field(factory=OrderedDict, init=False)

    def begin(self, token: str) -> str:
        """Begin a session and return the cookie's value."""
        signed = f"{int(self._now() + self._seconds)}.{secrets.token_urlsafe(16)}"
        return f"{signed}.{self._signature(signed)}"

    def token(self, cookie: str) -> str | None:
        """Return the token of a session; None if it has ended or is unknown."""
        signed, _, signature = cookie.rpartition(".")
        expected = self._signature(signed).encode()
        if not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected):
            return None
        expires = int(signed.partition(".")[0])
        return self._token.value if expires > self._now() and cookie not in self._ended else None

    def end(self, cookie: str) -> None:
        if self.token(cookie):
            _put(self._ended, cookie, None, _MOST_SESSIONS)

    def _signature(self, signed: str) -> str:
        data = f"page {signed}".encode("utf-8", "surrogatepass")
        return hmac.new(self._token.value.encode(), data, hashlib.sha256).hexdigest()


@define
class MemorySessions:
    """Sessions for the tokens of a team's readers, kept in memory. They end with the server."""

    _seconds: float
    _now: Clock = time.time
    _sessions: OrderedDict[str, tuple[str, float]] = field(factory=OrderedDict, init=False, repr=False)
    """The token and the end of each session. The key is the cookie's value."""

    def begin(self, token: str) -> str:
        cookie = secrets.token_urlsafe(32)
        _put(self._sessions, cookie, (token, self._now() + self._seconds), _MOST_SESSIONS)
        return cookie

    def token(self, cookie: str) -> str | None:
        token, ends = self._sessions.get(cookie, ("", 0.0))
        return token if ends > self._now() else None

    def end(self, cookie: str) -> None:
        self._sessions.pop(cookie, None)


Sessions = SignedSessions | MemorySessions


@frozen
class _Link:
    token: str = field(repr=False)
    ends: float
    session: str = field(default="", repr=False)
    """The cookie's value of the session that the link began; "" for an unused link."""


@define
class Links:
    """One-time links. A second use ends the session that the first began: either user may be an intruder."""

    _sessions: Sessions
    _now: Clock = time.time
    _links: OrderedDict[str, _Link] = field(factory=OrderedDict, init=False, repr=False)

    def make(self, token: str) -> str:
        code = secrets.token_urlsafe(32)
        _put(self._links, code, _Link(token, self._now() + LINK_SECONDS), _MOST_LINKS)
        return code

    def use(self, code: str) -> str | None:
        """Return the cookie's value of a new session; None for a code that is used, expired or unknown."""
        link = self._links.get(code)
        if link is None:
            return None
        if link.session:
            self._sessions.end(link.session)
        if link.session or link.ends <= self._now():
            return None
        cookie = self._sessions.begin(link.token)
        self._links[code] = _Link(link.token, link.ends, cookie)
        return cookie


def _put(entries: OrderedDict[str, V], key: str, value: V, most: int) -> None:
    entries[key] = value
    while len(entries) > most:
        entries.popitem(last=False)
