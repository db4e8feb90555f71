"""Sign-in, sessions and access control of the pages, as browsers use them with a real server."""

from __future__ import annotations

import gzip
import re
from unittest.mock import Mock
from urllib.parse import urljoin

import pytest
from starlette.types import Message
from tests.serving import Served
from tests.web.conftest import Browser, one_time_link, signed_in

from cairn.attach.proof import fresh_nonce
from cairn.web.app import pages_app
from cairn.web.sessions import credentials

SECRET = "/ui/?q=berth"


def test_link_signs_in_with_cookie_hidden_from_scripts_and_sites(served: Served) -> None:
    answer = Browser(served).ask(one_time_link(served))
    assert answer.status == 303
    assert answer.headers["location"] == "/ui/"
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/ui", "max-age=604800"} <= attributes
    assert served.token not in str(answer)


@pytest.mark.parametrize("code", ["guessed", "A" * 43, "../link", "%00"])
def test_guessed_link_is_refused(served: Served, code: str) -> None:
    answer = Browser(served).ask(f"/ui/sign-in?code={code}")
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_second_use_of_link_ends_its_session(served: Served) -> None:
    link = one_time_link(served)
    thief, owner = Browser(served), Browser(served)
    assert thief.ask(link).status == 303
    assert thief.ask(SECRET).status == 200
    refused = owner.ask(link)
    assert refused.status == 401
    assert "used already" in refused.body.decode()
    assert "set-cookie" not in refused.headers
    assert thief.ask(SECRET).status == 401


@pytest.mark.parametrize("token", ["", "wrong", "Bearer"])
def test_link_requires_token(served: Served, token: str) -> None:
    assert served.ask("/ui/link", method="POST", body=b"", token=token).status == 401


def test_proof_of_a_client_is_valid_once_and_for_one_address(served: Served) -> None:
    def proved(address: tuple[str, int]) -> str | None:
        nonce = fresh_nonce()
        answer = served.ask("/ui/identity", method="POST", body=b"", token="", headers={"Cairn-Nonce": nonce})
        assert served.token not in str(answer)
        return credentials(served.token, address, nonce, answer.body.decode())

    def status(given: str) -> int:
        sent = {"Authorization": f"Cairn {given}"}
        return served.ask("/ui/link", method="POST", body=b"", headers=sent).status

    given = proved(("127.0.0.1", served.port))
    assert given is not None
    assert status(f"{given[:-1]}{'0' if given[-1] != '0' else '1'}") == 401
    assert [status(given), status(given)] == [201, 401]
    assert proved(("::1", served.port)) is None
    assert proved(("127.0.0.1", served.port + 1)) is None
    for wrong in ("", "A" * 96, f"{fresh_nonce()}{'0' * 64}", "\xe4" * 96):
        assert status(wrong) == 401


def test_server_answers_no_request_for_a_proof_of_another_origin(served: Served) -> None:
    for headers in ({}, {"Cairn-Nonce": ""}, {"Cairn-Nonce": "a", "Origin": "http://127.0.0.1:1"}):
        answer = served.ask("/ui/identity", method="POST", body=b"", headers=headers)
        assert answer.status in (403, 404)


def test_state_of_a_link_needs_its_code(served: Served) -> None:
    code = one_time_link(served).partition("code=")[2]
    for given, state in ((code, b"unused"), (code[:-1], b"over"), ("", b"over"), ("\xff", b"over")):
        assert served.ask("/ui/link-state", method="POST", body=given.encode("latin-1")).body == state
    assert served.ask("/ui/link-state", method="POST", body=b"A" * 9_999).status == 413


def test_person_signs_in_with_token_and_out_again(served: Served) -> None:
    browser = Browser(served)
    refused = browser.ask("/ui/sign-in", method="POST", body="token=guess")
    assert refused.status == 401
    assert "does not know this token" in refused.body.decode()
    assert not browser.cookie
    entered = browser.ask("/ui/sign-in", method="POST", body=f"token={served.token}&next=%2Fui%2F%3Fq%3Da")
    assert (entered.status, entered.headers["location"]) == (303, "/ui/?q=a")
    cookie = browser.cookie
    assert browser.ask(SECRET).status == 200
    browser.ask("/ui/sign-out", method="POST", body="")
    browser.cookie = cookie
    assert browser.ask(SECRET).status == 401


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/ui/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/api",
        "//[",
        "/ui/%2e%2e/api",
        "/ui/../../elsewhere",
        "\\\\evil.example",
        '"><script>canary()</script>',
    ],
)
def test_sign_in_leads_to_no_other_site(served: Served, wanted: str) -> None:
    entered = Browser(served).ask("/ui/sign-in", method="POST", body=f"token={served.token}&next={wanted}")
    assert (entered.status, entered.headers["location"]) == (303, "/ui/")


@pytest.mark.parametrize("path", [SECRET, "/ui/answer?q=berth", "/ui/answer-events?q=berth"])
def test_nothing_is_shown_without_a_session(served: Served, path: str) -> None:
    for cookie in ("", "made.up.cookie"):
        answer = Browser(served, cookie).ask(path)
        assert answer.status == 401
        assert b"moor" not in answer.body
        assert b"harbour" not in answer.body
    part = Browser(served).ask(path, headers={"Cairn-Fragment": "1"})
    assert part.status == 401
    assert b"session has ended" in part.body


def test_session_gives_no_access_to_api(served: Served) -> None:
    cookie = signed_in(served).cookie
    for headers in (
        {"Cookie": f"cairn_session_{served.port}={cookie}"},
        {"Authorization": f"Bearer {cookie}"},
    ):
        for path in ("/api/v1/search", "/api/v1/reindex", "/mcp"):
            assert served.ask(path, {"query": "moor"}, token="", headers=headers).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
    ],
)
def test_page_of_another_origin_gets_nothing(browser: Browser, headers: dict[str, str]) -> None:
    answer = browser.ask(SECRET, headers=headers)
    assert answer.status == 403
    assert b"moor" not in answer.body


def test_page_with_rebound_host_name_gets_nothing(browser: Browser) -> None:
    answer = browser.ask(SECRET, headers={"Host": f"evil.example:{browser.served.port}"})
    assert answer.status == 421
    assert b"moor" not in answer.body


def test_link_of_another_site_is_reloaded_to_send_the_cookie(served: Served) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    reloaded = Browser(served).ask(SECRET, headers=elsewhere)
    assert reloaded.status == 200
    assert b'http-equiv="refresh"' in reloaded.body
    assert b"moor" not in reloaded.body
    assert Browser(served).ask(SECRET).status == 401
    assert signed_in(served).ask(SECRET, headers=elsewhere).status == 200


@pytest.mark.parametrize("path", ["/ui/", SECRET, "/ui/sign-in", "/ui/nowhere", "/ui/static/base.js"])
def test_headers_forbid_other_sites_and_inline_scripts(browser: Browser, path: str) -> None:
    headers = browser.ask(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "same-origin"


def test_browsers_cache_scripts_but_not_pages(browser: Browser) -> None:
    page = browser.ask(SECRET)
    assert page.headers["cache-control"] == "no-store"
    script = page.body.decode().partition('type="module" src="')[2].partition('"')[0]
    assert "immutable" in browser.ask(script).headers["cache-control"]
    assert browser.ask("/ui/static/base.js").headers["cache-control"] == "no-store"


def test_static_files_are_sent_compressed(browser: Browser) -> None:
    plain, answer = (
        browser.ask("/ui/static/base.js", headers={"Accept-Encoding": encoding})
        for encoding in ("identity", "gzip")
    )
    assert answer.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert answer.headers["vary"] == "accept-encoding"
    assert gzip.decompress(answer.body) == plain.body


@pytest.mark.asyncio
async def test_static_files_are_compressed_once() -> None:
    app, bodies = pages_app(Mock(), Mock()), list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            bodies.append(message["body"])

    scope = {"type": "http", "method": "GET", "path": "/static/base.js"}
    for _ in range(2):
        await app({**scope, "headers": [(b"accept-encoding", b"gzip")]}, receive, send)
    first, second = bodies
    assert first is second


@pytest.mark.parametrize("path", ["/ui/static/../app.py", "/ui/static/%2e%2e%2fapp.py", "/ui/static/no.js"])
def test_unknown_static_files_are_not_served(browser: Browser, path: str) -> None:
    assert browser.ask(path).status == 404


def test_malformed_cookie_of_another_server_does_not_end_the_session(served: Served) -> None:
    cookie = f'a[b]={{"c": 1}}; cairn_session_{served.port}={signed_in(served).cookie}'
    assert Browser(served).ask(SECRET, headers={"Cookie": cookie}).status == 200


def test_root_leads_to_the_page(served: Served) -> None:
    for path in ("/", "/ui"):
        answer = Browser(served).ask(path)
        assert (answer.status, answer.headers["location"]) == (307, "/ui/")


def test_imported_scripts_have_the_address_of_the_page(browser: Browser) -> None:
    # Browsers would run a module with two addresses twice, and handle each click twice.
    base, search = re.findall(r'type="module" src="([^"]+)"', browser.page(SECRET))
    imported = re.search(r'from "\./(\w+\.js)"', browser.ask(search).body.decode())
    assert imported is not None
    assert urljoin(search, imported[1]) == base
