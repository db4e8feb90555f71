"""Sessions and one-time links, at times that the tests choose."""

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


@pytest.fixture(params=["signed", "kept"])
def sessions(request: pytest.FixtureRequest, clock: Clock) -> Sessions:
    return SignedSessions(TOKEN, 60.0, clock) if request.param == "signed" else MemorySessions(60.0, clock)


def test_a_session_stands_for_its_token(sessions: Sessions) -> None:
    cookie = sessions.begin(TOKEN.value)
    assert sessions.token(cookie) == TOKEN.value
    assert TOKEN.value not in cookie


def test_a_session_ends_with_its_time(sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin(TOKEN.value)
    clock.now += 59
    assert sessions.token(cookie)
    clock.now += 2
    assert sessions.token(cookie) is None


def test_an_ended_session_is_over_and_others_are_not(sessions: Sessions) -> None:
    ended, other = sessions.begin(TOKEN.value), sessions.begin(TOKEN.value)
    sessions.end(ended)
    assert sessions.token(ended) is None
    assert sessions.token(other) == TOKEN.value


@pytest.mark.parametrize("cookie", ["", ".", "a.b.c", "9999999999.x.", "\udcff.é.ä", "1" * 5_000])
def test_a_made_up_cookie_is_no_session(sessions: Sessions, cookie: str) -> None:
    sessions.end(cookie)
    assert sessions.token(cookie) is None


def test_a_signed_session_cannot_be_prolonged(clock: Clock) -> None:
    sessions = SignedSessions(TOKEN, 60.0, clock)
    expires, nonce, signature = sessions.begin(TOKEN.value).split(".")
    assert sessions.token(f"{int(expires) + 1}.{nonce}.{signature}") is None


def test_a_signed_session_outlives_the_server_but_not_the_token(clock: Clock) -> None:
    cookie = SignedSessions(TOKEN, 60.0, clock).begin(TOKEN.value)
    assert SignedSessions(TOKEN, 60.0, clock).token(cookie) == TOKEN.value
    assert SignedSessions(Token("B" * 43, TOKEN.path), 60.0, clock).token(cookie) is None


def test_a_link_begins_one_session(sessions: Sessions, clock: Clock) -> None:
    links = Links(sessions, clock)
    cookie = links.use(links.make(TOKEN.value))
    assert cookie is not None
    assert sessions.token(cookie) == TOKEN.value


def test_a_second_use_of_a_link_ends_the_session_of_the_first(sessions: Sessions, clock: Clock) -> None:
    links = Links(sessions, clock)
    code = links.make(TOKEN.value)
    stolen = links.use(code)
    assert stolen is not None
    assert links.use(code) is None
    assert sessions.token(stolen) is None
    assert links.use(code) is None


def test_an_old_or_unknown_link_begins_nothing(sessions: Sessions, clock: Clock) -> None:
    links = Links(sessions, clock)
    code = links.make(TOKEN.value)
    clock.now += LINK_SECONDS
    assert links.use(code) is None
    assert links.use("") is None
    assert links.use(code[:-1]) is None
