"""Hostile addresses: each gets a page or a refusal, and the server never fails."""

from __future__ import annotations

from urllib.parse import quote

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.serving import Served
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign, signed_in

HOSTILE_TEXTS = (
    HOSTILE,
    "../../../../etc/passwd",
    "..\\..\\windows",
    "/etc/passwd",
    "file:///etc/passwd",
    "\0",
    "\udcff",
    "%00",
    "%ff%fe",
    "-1",
    "9" * 40,
    "1-0",
    "{{7*7}}",
    "javascript:alert(1)",
    "//evil.example",
    "a" * 3_000,
    "٣",
    "\r\nSet-Cookie: a=b",
    '"',
)
NAMES = "q type language path collection repository limit lines line budget whole by".split()
PAGES = ("/ui/", "/ui/answer", "/ui/index")
PATHS = (*PAGES, "/ui/answer-events", "/ui/file/", "/ui/file-panel/", "/ui/sign-in", "/ui/x/")

texts = st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=30))


@pytest.fixture(scope="module")
def signed_in_browser(served: Served) -> Browser:
    return signed_in(served)


@hypothesis.given(
    path=st.sampled_from(PATHS),
    below=st.one_of(st.just(""), texts),
    values=st.lists(st.tuples(st.sampled_from(NAMES), texts), max_size=4),
    is_fragment=st.booleans(),
)
@hypothesis.settings(max_examples=300)
def test_addresses_neither_fail_nor_show_files(
    signed_in_browser: Browser, path: str, below: str, values: list[tuple[str, str]], is_fragment: bool
) -> None:
    query = "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name, value in values)
    headers = {"Cairn-Fragment": "1"} if is_fragment else {}
    below = quote(below, errors="surrogatepass")
    answer = signed_in_browser.ask(f"{path}{below}?{query}", headers=headers)
    assert answer.status in (200, 303, 400, 401, 404, 431), answer
    text = answer.body.decode()
    assert "root:" not in text
    assert "set-cookie" not in answer.headers
    assert_nothing_foreign(text)
