"""Sessions of browsers, the one-time links that begin them, and the proofs with which `cairn open` gets one.

A browser's cookie stands for the token but does not contain it, so it does not give access to the API.

`cairn open` and a server of the same user prove to each other that they know this machine's token. Another
user's program may listen at an address that the user takes for the server's. So the client first sends a
nonce, and the server answers with a nonce of its own and a proof. The client then sends its proof, and gets a
one-time link. The proofs are bound to the IP address and the port of the connection: a program that passes
the messages on to the server has another address, for which the server makes no proof.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import define, field, frozen
from cachetools import FIFOCache, TTLCache

from cairn.attach.proof import NONCE_LENGTH, PROOF_LENGTH, fresh_nonce, is_equal, proof
from cairn.operations.tokens import Token
from cairn.paths import read_private, write_private

logger = logging.getLogger(__name__)

LINK_SECONDS = 600.0
"""How long an unused link is valid, in seconds."""
_MOST_LINKS = 1_000
_MOST_SESSIONS = 10_000
_MOST_BYTES = 2_000_000
"""The size limit of the file of ended sessions. With the most sessions it has 560,000."""

Clock = Callable[[], float]
"""Returns Unix seconds."""


@define
class SignedSessions:
    """Sessions for this machine's own token. They survive a restart: the token signs the cookie.

    A private file has a salt of the signatures, and the sessions that were ended before their time. Each
    server has its own file, so the cookie of one server opens no other one. Without a readable file, there is
    a new salt, and all former sessions have ended.
    """

    _token: Token
    _seconds: float
    _file: Path
    _now: Clock = time.time
    _salt: str = field(factory=fresh_nonce, init=False, repr=False)
    _ended: dict[str, float] = field(factory=dict, init=False)
    """The Unix seconds until which the cookie of each ended session would be valid."""

    def __attrs_post_init__(self) -> None:
        self._forget_old_servers()
        try:
            kept = json.loads(read_private(self._file, _MOST_BYTES))
            salt, ended = str(kept["salt"]), {str(cookie): float(at) for cookie, at in kept["ended"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return
        self._salt, self._ended = salt, ended

    def begin(self, token: str) -> str:
        """Begin a session and return the cookie's value."""
        self._save()
        signed = f"{int(self._now() + self._seconds)}.{secrets.token_urlsafe(16)}"
        return f"{signed}.{self._signature(signed)}"

    def token(self, cookie: str) -> str | None:
        """Return the token of a session; None if it has ended or is unknown."""
        signed, _, signature = cookie.rpartition(".")
        if not is_equal(signature, self._signature(signed)):
            return None
        return self._token.value if _end_of(signed) > self._now() and signed not in self._ended else None

    def end(self, cookie: str) -> None:
        if not self.token(cookie):
            return
        signed = cookie.rpartition(".")[0]
        self._ended = {each: at for each, at in self._ended.items() if at > self._now()}
        self._ended[signed] = _end_of(signed)
        if len(self._ended) > _MOST_SESSIONS:
            self._salt, self._ended = fresh_nonce(), {}  # This ends all sessions.
        self._save()

    def _signature(self, signed: str) -> str:
        return proof(self._token.value, "session", self._salt, signed)

    def _save(self) -> None:
        try:
            write_private(self._file, json.dumps({"salt": self._salt, "ended": self._ended}))
        except OSError as problem:
            logger.warning(
                "sessions end with this server, since %s cannot be written: %s", self._file, problem
            )
            with suppress(OSError):  # Otherwise a session that has ended could come back.
                self._file.unlink()

    def _forget_old_servers(self) -> None:
        """Delete the files of servers whose last session began so long ago that all have ended."""
        for file in self._file.parent.glob("*.json"):
            with suppress(OSError):
                if file.stat().st_mtime < self._now() - self._seconds:
                    file.unlink()


def _end_of(signed: str) -> int:
    return int(signed.partition(".")[0])


class MemorySessions:
    """Sessions for the tokens of a team's readers, kept in memory. They end with the server."""

    def __init__(self, seconds: float, now: Clock = time.time) -> None:
        self._tokens = TTLCache[str, str](_MOST_SESSIONS, seconds, now)
        """The token of each session, by the cookie's value."""

    def begin(self, token: str) -> str:
        cookie = secrets.token_urlsafe(32)
        self._tokens[cookie] = token
        return cookie

    def token(self, cookie: str) -> str | None:
        return self._tokens.get(cookie)

    def end(self, cookie: str) -> None:
        self._tokens.pop(cookie, None)


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
    _links: FIFOCache[str, _Link] = field(factory=lambda: FIFOCache(_MOST_LINKS), init=False, repr=False)

    def make(self, token: str) -> str:
        code = secrets.token_urlsafe(32)
        self._links[code] = _Link(token, self._now() + LINK_SECONDS)
        return code

    def is_unused(self, code: str) -> bool:
        """Return whether the code can still begin a session."""
        link = self._links.get(code)
        return link is not None and not link.session and link.ends > self._now()

    def use(self, code: str) -> str | None:
        """Return the cookie's value of a new session; None for a code that is used, expired or unknown."""
        link = self._links.get(code)
        if link is None:
            return None
        if link.session:
            self._sessions.end(link.session)
        if not self.is_unused(code):
            return None
        cookie = self._sessions.begin(link.token)
        self._links[code] = _Link(link.token, link.ends, cookie)
        return cookie


# --- proofs of the token -----------------------------------------------------------------------------


SCHEME = "cairn"
"""The scheme of the header `Authorization` with a client's proof, in lower case."""
NONCE = "cairn-nonce"
"""The header with the client's nonce."""
_SERVER, _CLIENT = "page server", "page client"
_MOST_USED = 1_000


@define
class Identity:
    """The server's side."""

    _token: Token
    _nonce: str = field(factory=fresh_nonce, init=False)
    _used: FIFOCache[str, None] = field(factory=lambda: FIFOCache(_MOST_USED), init=False)
    """The client's nonces that were used in a proof, since each proof is valid once."""

    def answer(self, address: Sequence[object], nonce: str) -> str:
        """Return the server's nonce and proof for a client that has connected to the address."""
        bound = _bound(address, nonce, self._nonce)
        return self._nonce + proof(self._token.value, _SERVER, *bound)

    def proved_token(self, address: Sequence[object], credentials: str) -> str | None:
        """Return the token if a client's nonce and proof are valid, and this is their first use."""
        nonce, given = credentials[:NONCE_LENGTH], credentials[NONCE_LENGTH:]
        expected = proof(self._token.value, _CLIENT, *_bound(address, nonce, self._nonce))
        if not is_equal(given, expected) or nonce in self._used:
            return None
        self._used[nonce] = None
        return self._token.value


def credentials(token: str, address: Sequence[object], nonce: str, answer: str) -> str | None:
    """Return the client's credentials; None if the server's answer to the nonce does not prove the server."""
    if len(answer) != NONCE_LENGTH + PROOF_LENGTH:
        return None
    bound = _bound(address, nonce, answer[:NONCE_LENGTH])
    if not is_equal(answer[NONCE_LENGTH:], proof(token, _SERVER, *bound)):
        return None
    return nonce + proof(token, _CLIENT, *bound)


def _bound(address: Sequence[object], nonce: str, server_nonce: str) -> tuple[str, ...]:
    """Return what a proof is bound to: the IP address, the port and the nonces."""
    return str(address[0]), str(address[1]), nonce, server_nonce
