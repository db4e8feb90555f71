"""Sessions and one-time links, with a clock that the tests set."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import define

from cairn.operations.tokens import Token
from cairn.web.sessions import LINK_SECONDS, Links, MemorySessions, Sessions, SignedSessions

TOKEN = Token("A" * 43, Path("serve-token"))


@define
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["signed", "memory"])
def sessions(request: pytest.FixtureRequest, clock: Clock) -> Sessions:
    return SignedSessions(TOKEN, 60.0, clock) if request.param == "signed" else MemorySessions(60.0, clock)


def test_session_represents_its_token_for_a_time(sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin(TOKEN.value)
    assert TOKEN.value not in cookie
    clock.now += 59
    assert sessions.token(cookie) == TOKEN.value
    clock.now += 2
    assert sessions.token(cookie) is None


def test_end_ends_only_one_session(sessions: Sessions) -> None:
    ended, other = sessions.begin(TOKEN.value), sessions.begin(TOKEN.value)
    sessions.end(ended)
    assert sessions.token(ended) is None
    assert sessions.token(other) == TOKEN.value


@pytest.mark.parametrize("cookie", ["", ".", "a.b.c", "9999999999.x.", "\udcff.é.ä", "1" * 5_000])
def test_forged_cookie_has_no_session(sessions: Sessions, cookie: str) -> None:
    sessions.end(cookie)
    assert sessions.token(cookie) is None


def test_signed_session_cannot_be_prolonged(clock: Clock) -> None:
    sessions = SignedSessions(TOKEN, 60.0, clock)
    expires, nonce, signature = sessions.begin(TOKEN.value).split(".")
    assert sessions.token(f"{int(expires) + 1}.{nonce}.{signature}") is None


def test_signed_session_outlives_the_server_but_not_the_token(clock: Clock) -> None:
    cookie = SignedSessions(TOKEN, 60.0, clock).begin(TOKEN.value)
    assert SignedSessions(TOKEN, 60.0, clock).token(cookie) == TOKEN.value
    assert SignedSessions(Token("B" * 43, TOKEN.path), 60.0, clock).token(cookie) is None


def test_second_use_of_link_ends_the_first_session(sessions: Sessions, clock: Clock) -> None:
    links = Links(sessions, clock)
    code = links.make(TOKEN.value)
    stolen = links.use(code)
    assert stolen is not None
    assert sessions.token(stolen) == TOKEN.value
    assert links.use(code) is None
    assert sessions.token(stolen) is None
    assert links.use(code) is None


def test_old_or_unknown_link_begins_no_session(sessions: Sessions, clock: Clock) -> None:
    links = Links(sessions, clock)
    code = links.make(TOKEN.value)
    clock.now += LINK_SECONDS
    assert links.use(code) is None
    assert links.use("") is None
    assert links.use(code[:-1]) is None
