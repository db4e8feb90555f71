"""Sessions of browsers, and the one-time links that begin them.

A session stands for a token without being it: a browser's cookie is worth nothing for the API, and less to whoever reads it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, TypeVar

from attrs import define, field, frozen

from cairn.operations.tokens import Token

LINK_SECONDS = 600.0
"""How long a link can be used that nobody has used."""
_MOST_LINKS = 1_000
_MOST_SESSIONS = 10_000
"""The oldest are forgotten first."""

V = TypeVar("V")
Clock = Callable[[], float]
"""Unix seconds."""


class Sessions(Protocol):
    """What turns the value of a cookie back into the token of its session."""

    def begin(self, token: str) -> str:
        """The cookie's value for a new session."""

    def token(self, cookie: str) -> str | None:
        """The token of a session; None for one that is over, or that never was."""

    def end(self, cookie: str) -> None:
        """End a session."""


@define
class SignedSessions:
    """Sessions for the one token of this machine. They outlive the server: the cookie is signed with the token."""

    _token: Token
    _seconds: float
    _now: Clock = time.time
    _ended: OrderedDict[str, None] = field(factory=OrderedDict, init=False)

    def begin(self, token: str) -> str:
        named = f"{int(self._now() + self._seconds)}.{secrets.token_urlsafe(16)}"
        return f"{named}.{self._signature(named)}"

    def token(self, cookie: str) -> str | None:
        named, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(
            signature.encode("utf-8", "surrogatepass"), self._signature(named).encode()
        ):
            return None
        expires = int(named.partition(".")[0])
        return self._token.value if expires > self._now() and cookie not in self._ended else None

    def end(self, cookie: str) -> None:
        if self.token(cookie):
            _put(self._ended, cookie, None, _MOST_SESSIONS)

    def _signature(self, named: str) -> str:
        signed = f"page {named}".encode("utf-8", "surrogatepass")
        return hmac.new(self._token.value.encode(), signed, hashlib.sha256).hexdigest()


@define
class KeptSessions:
    """Sessions for the tokens of a team's readers. They are kept in memory and end with the server."""

    _seconds: float
    _now: Clock = time.time
    _kept: OrderedDict[str, tuple[str, float]] = field(factory=OrderedDict, init=False, repr=False)
    """Token and end by the cookie's value."""

    def begin(self, token: str) -> str:
        cookie = secrets.token_urlsafe(32)
        _put(self._kept, cookie, (token, self._now() + self._seconds), _MOST_SESSIONS)
        return cookie

    def token(self, cookie: str) -> str | None:
        token, ends = self._kept.get(cookie, ("", 0.0))
        return token if ends > self._now() else None

    def end(self, cookie: str) -> None:
        self._kept.pop(cookie, None)


@frozen
class _Link:
    token: str = field(repr=False)
    ends: float
    session: str = field(default="", repr=False)
    """The cookie's value of the session that it began; "" where nobody has used it."""


@define
class Links:
    """One-time links. Of one that is used a second time nobody can tell which user was meant, so the session of the first ends."""

    _sessions: Sessions
    _now: Clock = time.time
    _links: OrderedDict[str, _Link] = field(factory=OrderedDict, init=False, repr=False)

    def make(self, token: str) -> str:
        """The code of a new link."""
        code = secrets.token_urlsafe(32)
        _put(self._links, code, _Link(token, self._now() + LINK_SECONDS), _MOST_LINKS)
        return code

    def use(self, code: str) -> str | None:
        """The cookie's value of a new session; None for a code that was used, is too old, or was never made."""
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


def _put(kept: OrderedDict[str, V], key: str, value: V, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)
