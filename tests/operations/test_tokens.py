"""The token of `cairn serve` is made once, only its owner can read it, and otherwise it is refused."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cairn.operations.tokens import TokenError, serve_token, token_path

pytestmark = pytest.mark.usefixtures("bare_data_dir")

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def test_the_token_changes_only_on_request() -> None:
    first = serve_token()
    assert serve_token().value == first.value
    assert len(first.value) == 43
    assert serve_token(new=True).value != first.value
    assert [*token_path().parent.glob("serve-token*")] == [token_path()]


def test_simultaneous_starts_agree_on_one_token() -> None:
    with ThreadPoolExecutor(8) as threads:
        tokens = set(threads.map(lambda _: serve_token().value, range(40)))
    assert len(tokens) == 1
    assert [*token_path().parent.glob("serve-token*")] == [token_path()]


@posix_only
def test_only_the_owner_can_read_it() -> None:
    serve_token()
    assert stat.S_IMODE(token_path().stat().st_mode) == 0o600


@posix_only
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o620])
def test_a_token_that_others_may_read_or_write_is_refused(mode: int) -> None:
    serve_token()
    token_path().chmod(mode)
    with pytest.raises(TokenError, match=r"Others may read or write .*--new-token"):
        serve_token()
    serve_token(new=True)
    serve_token()


@posix_only
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("A" * 43)
    elsewhere.chmod(0o600)
    token_path().symlink_to(elsewhere)
    with pytest.raises(TokenError):
        serve_token()


@posix_only
def test_a_pipe_in_place_of_the_file_does_not_block() -> None:
    os.mkfifo(token_path(), 0o600)
    with pytest.raises(TokenError, match="is not a regular file"):
        serve_token()


@pytest.mark.parametrize("text", ["", "short", "A" * 44, "ä" * 43, "A" * 42 + "!"])
def test_a_file_without_a_token_is_refused(text: str) -> None:
    serve_token()
    token_path().write_text(text, encoding="utf-8")
    with pytest.raises(TokenError, match="does not contain a token"):
        serve_token()


def test_only_the_whole_token_matches_and_its_repr_is_hidden() -> None:
    token = serve_token()
    assert token.matches(token.value)
    for wrong in ("", token.value[:-1], token.value + "A", token.value.swapcase(), "ä\udc80"):
        assert not token.matches(wrong)
    assert token.value not in repr(token)
