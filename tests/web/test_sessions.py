"""Sessions and one-time links, with a clock that the tests set."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from attrs import define

from cairn.operations.tokens import Token
from cairn.serve.page_records import sessions_file
from cairn.web import sessions as sessions_module
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "server.json"


@pytest.fixture(params=["signed", "memory"])
def sessions(request: pytest.FixtureRequest, file: Path, clock: Clock) -> Sessions:
    is_signed = request.param == "signed"
    return SignedSessions(TOKEN, 60.0, file, clock) if is_signed else MemorySessions(60.0, clock)


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


def test_signed_session_cannot_be_prolonged(file: Path, clock: Clock) -> None:
    sessions = SignedSessions(TOKEN, 60.0, file, clock)
    expires, nonce, signature = sessions.begin(TOKEN.value).split(".")
    assert sessions.token(f"{int(expires) + 1}.{nonce}.{signature}") is None


def test_signed_session_outlives_the_server_but_not_the_token(file: Path, clock: Clock) -> None:
    cookie = SignedSessions(TOKEN, 60.0, file, clock).begin(TOKEN.value)
    assert SignedSessions(TOKEN, 60.0, file, clock).token(cookie) == TOKEN.value
    assert SignedSessions(Token("B" * 43, TOKEN.path), 60.0, file, clock).token(cookie) is None


def test_ended_session_stays_ended_in_a_restarted_server(file: Path, clock: Clock) -> None:
    before = SignedSessions(TOKEN, 60.0, file, clock)
    ended, other = before.begin(TOKEN.value), before.begin(TOKEN.value)
    before.end(ended)
    assert ended not in file.read_text()
    assert sys.platform == "win32" or stat.S_IMODE(file.stat().st_mode) == 0o600
    for _ in range(2):
        after = SignedSessions(TOKEN, 60.0, file, clock)
        assert after.token(ended) is None
        assert after.token(other) == TOKEN.value
        after.end(after.begin(TOKEN.value))


def test_each_server_and_each_set_of_folders_has_its_own_file() -> None:
    folders = (["/a"], ["/b"], ["/a", "/b"], ["/a\udcff"])
    urls = ("http://127.0.0.1:7420", "http://127.0.0.1:7421", "http://[::1]:7420")
    files = {sessions_file(url, map(Path, each)) for url in urls for each in folders}
    assert len(files) == len(urls) * len(folders)
    assert sessions_file(urls[0], [Path("/b"), Path("/a")]) == sessions_file(
        urls[0], [Path("/a"), Path("/b")]
    )


def test_session_is_valid_on_one_server(file: Path, clock: Clock) -> None:
    cookie = SignedSessions(TOKEN, 60.0, file, clock).begin(TOKEN.value)
    other = SignedSessions(TOKEN, 60.0, file.with_name("other.json"), clock)
    other.begin(TOKEN.value)
    assert other.token(cookie) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"salt": "a"}', b"\xff", b'{"salt": "a", "ended": {"b": []}}']
)
def test_lost_record_of_ended_sessions_ends_all(file: Path, clock: Clock, content: bytes) -> None:
    before = SignedSessions(TOKEN, 60.0, file, clock)
    cookies = [before.begin(TOKEN.value) for _ in range(2)]
    before.end(cookies[0])
    file.write_bytes(content)
    after = SignedSessions(TOKEN, 60.0, file, clock)
    assert [after.token(cookie) for cookie in cookies] == [None, None]
    assert after.token(after.begin(TOKEN.value)) == TOKEN.value


def test_session_does_not_come_back_if_its_end_cannot_be_written(file: Path, clock: Clock) -> None:
    before = SignedSessions(TOKEN, 60.0, file, clock)
    cookie = before.begin(TOKEN.value)
    with mock.patch.object(sessions_module, "write_private", side_effect=OSError("the disk is full")):
        before.end(cookie)
    assert before.token(cookie) is None
    assert SignedSessions(TOKEN, 60.0, file, clock).token(cookie) is None


def test_record_of_ended_sessions_is_bounded(
    file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_module, "_MOST_SESSIONS", 3)
    sessions = SignedSessions(TOKEN, 60.0, file, clock)
    old = [sessions.begin(TOKEN.value) for _ in range(3)]
    for cookie in old:
        sessions.end(cookie)
    size = file.stat().st_size
    clock.now += 61  # The sessions would have ended by now, so they are forgotten.
    ended = [sessions.begin(TOKEN.value) for _ in range(4)]
    for cookie in ended[:3]:
        sessions.end(cookie)
    assert file.stat().st_size <= size
    assert sessions.token(ended[3]) == TOKEN.value
    sessions.end(ended[3])
    assert [sessions.token(cookie) for cookie in (*old, *ended)] == [None] * 7, "none comes back"
    assert file.stat().st_size < size


def test_files_of_servers_without_sessions_are_deleted(file: Path) -> None:
    for name, age in (("old.json", 61), ("new.json", 30)):
        SignedSessions(TOKEN, 60.0, file.with_name(name)).begin(TOKEN.value)
        os.utime(file.with_name(name), (time.time() - age,) * 2)
    SignedSessions(TOKEN, 60.0, file).begin(TOKEN.value)
    assert {each.name for each in file.parent.iterdir()} == {"new.json", file.name}


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
