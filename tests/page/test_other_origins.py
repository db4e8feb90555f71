"""Pages of other origins in a signed-in browser, which can neither read nor change anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.browsing import Browsing
from tests.page.other_site import NAMES, REBOUND, OtherSite
from tests.page.site import Site, harbour_site, search_path
from tests.serving import wait_for

SECRET = "moor_ship"
"""A word of the code on our server, and of nothing else."""
SEARCH = search_path("moor a ship")
READABLE = (
    "/ui/",
    SEARCH,
    "/ui/answer?q=moor&whole=1",
    "/ui/answer-events?q=moor",
    "/ui/index",
    "/ui/file/README.md",
)
PROGRAMS = ("/api/v1/status", "/metrics", "/openapi.json", "/healthz")

anywhere = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with harbour_site(tmp_path_factory.mktemp("origins")) as served:
        yield served


@pytest.fixture
def context(browsing: Browsing, port: Site) -> BrowserContext:
    """A signed-in context, whose faults are allowed, since hostile pages cause errors."""
    return browsing.shared_context(port.url, port.sign_in, watched=False)


@pytest.fixture
def still_signed_in(context: BrowserContext, port: Site) -> Iterator[None]:
    """Assert after the test that the person still has the session."""
    yield
    page = port.open(context, SEARCH)
    expect(page.locator(".row").first).to_be_visible()


def attack(context: BrowserContext, elsewhere: OtherSite, name: str, html: str = "") -> Page:
    """Open a page of the other site, by one of its names."""
    elsewhere.pages["/attack"] = html
    page = context.new_page()
    page.goto(elsewhere.url("/attack", name))
    return page


# --- reading -----------------------------------------------------------------------------------------

FETCH = """async ({ url, options }) => {
    try {
        const response = await fetch(url, options);
        return { type: response.type, status: response.status, text: await response.text() };
    } catch (problem) {
        return { failed: String(problem) };
    }
}"""


@anywhere
def test_fetch_of_another_origin_reads_nothing(
    port: Site, context: BrowserContext, elsewhere: OtherSite, name: str
) -> None:
    page = attack(context, elsewhere, name)
    for mode in ("cors", "no-cors"):
        for path in (*READABLE, *PROGRAMS):
            got = page.evaluate(
                FETCH, {"url": port.url + path, "options": {"mode": mode, "credentials": "include"}}
            )
            assert not got.get("text"), (path, mode, got)
            assert not got.get("status"), (path, mode, got)


@anywhere
def test_scripts_styles_and_images_of_another_origin_load_nothing(
    port: Site, context: BrowserContext, elsewhere: OtherSite, name: str
) -> None:
    page = attack(context, elsewhere, name)
    load = """([tag, attribute, url, more]) => new Promise(resolve => {
        const element = Object.assign(document.createElement(tag), more);
        element.onload = element.onloadeddata = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        element[attribute] = url;
        document.body.append(element);
    })"""
    for path in (*READABLE, "/ui/static/base.js", "/ui/static/cairn.svg", "/ui/static/base.css"):
        for tag, attribute, more in (
            ("script", "src", {}),
            ("script", "src", {"type": "module"}),
            ("img", "src", {}),
            ("link", "href", {"rel": "stylesheet"}),
            ("video", "src", {"autoplay": False}),
        ):
            assert page.evaluate(load, [tag, attribute, port.url + path, more]) == "refused", (tag, path)


@anywhere
def test_frames_cannot_show_the_page(
    port: Site, context: BrowserContext, elsewhere: OtherSite, name: str
) -> None:
    tags = {"iframe": "src", "object": "data", "embed": "src"}
    frames = (f"<{tag} {source}='{port.url}{SEARCH}'></{tag}>" for tag, source in tags.items())
    page = attack(context, elsewhere, name, "".join(frames))
    page.wait_for_load_state("networkidle")
    for frame in page.frames[1:]:
        assert SECRET not in frame.content()
        assert frame.locator("#q").count() == 0
        assert not frame.url.startswith(port.url)
    assert all(SECRET not in frame.content() for frame in page.frames)


@anywhere
def test_other_page_cannot_reach_a_window_that_it_opens(
    port: Site, context: BrowserContext, elsewhere: OtherSite, name: str, still_signed_in: None
) -> None:
    page = attack(context, elsewhere, name)
    with context.expect_page() as opening:
        page.evaluate("url => { window.opened = open(url); }", port.url + SEARCH)
    shown = opening.value
    expect(shown.locator(".row").first).to_be_visible()
    assert page.evaluate("opened.closed"), "the windows are separate"
    assert page.evaluate(
        "(() => { try { return opened.document.body.innerHTML; } catch (problem) { return ''; } })()"
    ) in ("", None)
    assert shown.evaluate("window.opener") is None
    page.evaluate("opened.postMessage('cairn', '*'); opened.location = 'about:blank'")
    assert shown.url == port.url + SEARCH


@anywhere
def test_event_source_of_another_origin_gets_no_events(
    port: Site, context: BrowserContext, elsewhere: OtherSite, name: str
) -> None:
    page = attack(context, elsewhere, name)
    outcome = page.evaluate(
        """url => new Promise(resolve => {
            const source = new EventSource(url, { withCredentials: true });
            source.onopen = () => resolve("open");
            source.onmessage = () => resolve("message");
            source.addEventListener("answer", () => resolve("answer"));
            source.onerror = () => source.readyState === EventSource.CLOSED && resolve("refused");
        })""",
        f"{port.url}/ui/answer-events?q=moor",
    )
    assert outcome == "refused"


# --- changing ----------------------------------------------------------------------------------------


@anywhere
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/ui/sign-out", {}),
        ("/ui/sign-in", {"token": "no-token", "next": "/ui/"}),
        ("/ui/link", {}),
        ("/api/v1/reindex", {}),
        ("/api/v1/feedback", {"query": "moor", "action": "open"}),
        (SEARCH, {}),
    ],
)
def test_form_of_another_origin_is_refused(
    port: Site,
    context: BrowserContext,
    elsewhere: OtherSite,
    still_signed_in: None,
    name: str,
    path: str,
    fields: dict[str, str],
) -> None:
    inputs = "".join(f"<input name={key} value='{value}'>" for key, value in fields.items())
    before = state(port)
    page = attack(context, elsewhere, name, f"<form method=post action='{port.url}{path}'>{inputs}</form>")
    with page.expect_navigation(url=port.url + path) as answered:
        page.evaluate("document.forms[0].submit()")
    assert answered.value.status in (401, 403, 405)
    assert SECRET not in page.content()
    assert state(port) == before


def state(port: Site) -> Any:
    status = port.served.call("status", {})
    return {key: status[key] for key in ("files", "chunks", "collections")}


@anywhere
def test_form_without_an_origin_is_refused(
    port: Site, context: BrowserContext, elsewhere: OtherSite, still_signed_in: None, name: str
) -> None:
    form = f"<form method=post action='{port.url}/ui/sign-out'></form>"
    script = "<script>document.forms[0].submit()</script>"
    # A sandboxed frame has no origin.
    html = f"<iframe sandbox='allow-scripts allow-forms' srcdoc=\"{form}{script}\"></iframe>"
    before = refusals(port)
    attack(context, elsewhere, name, html)
    wait_for(lambda: refusals(port) > before)


def refusals(port: Site) -> float:
    """Return the number of requests for pages that were refused because of their origin."""
    metrics = port.served.ask("/metrics").body.decode()
    counter = r'^cairn_http_requests_total\{route="/ui",status="403"\} (\S+)'
    return sum(map(float, re.findall(counter, metrics, re.M)))


@anywhere
def test_request_with_another_content_type_changes_nothing(
    port: Site, context: BrowserContext, elsewhere: OtherSite, still_signed_in: None, name: str
) -> None:
    before = state(port)
    page = attack(context, elsewhere, name)
    for path in ("/api/v1/reindex", "/ui/sign-out", "/ui/link", "/mcp"):
        for content in ("text/plain", "application/x-www-form-urlencoded", "application/json"):
            options = {
                "method": "POST",
                "mode": "cors" if content.endswith("json") else "no-cors",
                "credentials": "include",
                "headers": {"Content-Type": content},
                "body": json.dumps({}),
            }
            got = page.evaluate(FETCH, {"url": port.url + path, "options": options})
            assert not got.get("text"), (path, got)
    assert state(port) == before


# --- names -------------------------------------------------------------------------------------------


def test_link_is_invalid_under_another_name(port: Site, browsing: Browsing) -> None:
    context = browsing.context(watched=False)
    page = context.new_page()
    link = port.link()
    answer = page.goto(link.replace("127.0.0.1", REBOUND))
    assert answer is not None
    assert answer.status == 421
    assert not context.cookies()
    page.goto(link)
    expect(page.locator("#q")).to_be_visible()


def test_localhost_needs_another_sign_in(port: Site, browsing: Browsing) -> None:
    browsing.faults.expect("401")
    context = browsing.context()
    port.sign_in(context)
    page = context.new_page()
    page.goto(f"http://localhost:{port.served.port}{SEARCH}")
    assert SECRET not in page.content()
    page.goto(port.link().replace("127.0.0.1", "localhost"))
    expect(page.locator("#q")).to_be_visible()
