"""Sign-in with one-time links and tokens, and sessions in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from cairn.serve.open_page import _page as page_of
from cairn.serve.open_page import is_unused
from tests.harbour import write_files
from tests.page.browsing import Browsing
from tests.page.other_site import NAMES, OtherSite
from tests.page.site import Site, answer_path, own_machine, search_path, site

SIGN_IN_HEADING = "Sign in"


@pytest.fixture(scope="module")
def estuary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over a small folder, for tests that end its sessions."""
    folder = tmp_path_factory.mktemp("signing-in")
    with own_machine(folder), site(small_folder(folder)) as served:
        yield served


def small_folder(parent: Path) -> Path:
    return write_files(parent / "estuary", {"tides.py": "def high_water():\n    return 12\n"})


def session_of(context: BrowserContext) -> dict:
    (cookie,) = [each for each in context.cookies() if each["name"].startswith("cairn_session")]
    return cookie


# --- links -------------------------------------------------------------------------------------------


def test_private_file_leads_to_the_page(estuary: Site, browsing: Browsing) -> None:
    # The browser sends no strict cookie to the page that follows, since a file begins the navigation.
    context = browsing.context()
    link = estuary.link()
    with page_of(link) as file:
        page = context.new_page()
        page.goto("about:blank")
        page.goto(file.as_uri())
        expect(page.locator("#q")).to_be_visible()
    assert page.url == f"{estuary.url}/ui/"
    assert session_of(context)["sameSite"] == "Strict"
    page.go_back()
    assert page.url == "about:blank"
    assert is_unused(link) is False


# --- the token ---------------------------------------------------------------------------------------


# --- traces in the browser ---------------------------------------------------------------------------


def test_secrets_are_in_no_address_page_or_storage(
    estuary: Site, browsing: Browsing, elsewhere: OtherSite
) -> None:
    context = browsing.context()
    sent: list[str] = []
    context.on("request", lambda request: sent.append(f"{request.url} {request.headers.get('referer', '')}"))
    page = context.new_page()
    page.goto(estuary.link())
    code = re.search(r"code=([\w-]+)", sent[0])[1]
    secrets = (estuary.served.token, session_of(context)["value"], code)
    shown = []
    for path in ("/ui/", search_path("high water"), answer_path("high water", whole="1")):
        page.goto(estuary.url + path)
        shown.append(page.content() + page.url)
    page.goto(elsewhere.url("/landing"))
    (landing,) = [each for each in elsewhere.requests if each.path == "/landing"]
    shown.append(str(dict(landing.headers)))
    page.go_back()
    shown.append(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])"))
    # Only the first request, for the link, contains the code.
    for secret in secrets:
        assert all(secret not in text for text in (*shown, *sent[1:]))
    assert page.evaluate("history.length") <= 7


def test_browser_does_not_cache_pages_of_an_ended_session(estuary: Site, browsing: Browsing) -> None:
    browsing.faults.expect("401")
    context = browsing.context()
    estuary.sign_in(context)
    page = estuary.open(context, search_path("high water"))
    expect(page.locator(".row").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name=SIGN_IN_HEADING)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name=SIGN_IN_HEADING)).to_be_visible()
    assert "high_water" not in page.content()


# --- links on other sites ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_link_on_another_site_leads_to_the_page(
    estuary: Site, browsing: Browsing, elsewhere: OtherSite, name: str
) -> None:
    # Browsers do not send a strict cookie when they follow such a link.
    context = browsing.context()
    estuary.sign_in(context)
    wanted = estuary.url + search_path("high water")
    elsewhere.pages["/mail"] = f'<a href="{wanted.replace("&", "&amp;")}">look at this</a>'
    page = context.new_page()
    page.goto(elsewhere.url("/mail", name))
    page.get_by_role("link", name="look at this").click()
    expect(page.locator(".row").first).to_be_visible()
    assert page.url == wanted


def test_link_on_another_site_leads_to_the_sign_in(
    estuary: Site, browsing: Browsing, elsewhere: OtherSite
) -> None:
    browsing.faults.expect("401")
    wanted = estuary.url + search_path("high water")
    elsewhere.pages["/mail"] = f'<a href="{wanted}">look at this</a>'
    page = browsing.context().new_page()
    page.goto(elsewhere.url("/mail"))
    page.get_by_role("link", name="look at this").click()
    expect(page.get_by_role("heading", name=SIGN_IN_HEADING)).to_be_visible()


# --- the end of a session ----------------------------------------------------------------------------


def test_open_page_reports_an_ended_session_and_keeps_the_text(estuary: Site, browsing: Browsing) -> None:
    browsing.faults.expect("401")
    context = browsing.context()
    estuary.sign_in(context)
    page = estuary.open(context)
    context.clear_cookies()
    page.locator("#q").fill("high water")
    notice = page.get_by_role("status").filter(has_text="Your session has ended")
    expect(notice).to_be_visible()
    assert page.locator("#q").input_value() == "high water"
    notice.get_by_role("link", name="sign in again").click()
    page.get_by_label("Token").fill(estuary.served.token)
    page.keyboard.press("Enter")
    expect(page.locator(".row").first).to_be_visible()
    assert page.locator("#q").input_value() == "high water"
