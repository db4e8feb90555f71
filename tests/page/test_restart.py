"""A server that stops while the page is open, and starts again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.harbour import HARBOUR, write_files
from tests.page.browsing import Browsing, type_into_box, wait_until
from tests.page.site import Site, answer_path, own_machine, site

AWAY = "The server does not answer"
REFUSED = "ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED|CONNECTION_RESET|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)"


@pytest.fixture
def harbour_folder(tmp_path: Path) -> Iterator[Path]:
    """A small project, and an environment for its servers."""
    with own_machine(tmp_path):
        yield write_files(tmp_path / "harbour", HARBOUR)


@pytest.fixture
def context(browsing: Browsing) -> BrowserContext:
    browsing.faults.expect(REFUSED)
    return browsing.context()


def again(before: Site) -> tuple[Path, str, str]:
    """Return the arguments of a server with the folder and the port of an earlier one."""
    return before.folder, "--port", str(before.served.port)


def test_search_continues_when_the_server_is_back(harbour_folder: Path, context: BrowserContext) -> None:
    with site(harbour_folder) as before:
        before.sign_in(context)
        page = before.open(context)
        page.locator("#q").fill("moor a ship")
        expect(page.locator(".row").first).to_be_visible()
    page.locator("#q").fill("harmonic constituents")
    notice = page.get_by_role("status").filter(has_text=AWAY)
    expect(notice).to_be_visible()
    page.locator("#q").press("End")
    type_into_box(page, " of tides")
    expect(notice).to_be_visible()
    assert page.locator("#q").input_value() == "harmonic constituents of tides"
    with site(*again(before)):
        expect(page.locator(".row .path").first).to_contain_text("src/harbour/tides.py")
        expect(notice).to_be_hidden()
        assert page.locator("#q").input_value() == "harmonic constituents of tides"
        assert page.url.endswith("?q=harmonic+constituents+of+tides")
        page.reload()
        expect(page.locator(".row .path").first).to_contain_text("src/harbour/tides.py")


def test_answer_continues_when_the_server_is_back(harbour_folder: Path, context: BrowserContext) -> None:
    with site(harbour_folder) as before:
        before.sign_in(context)
        page = before.open(context, answer_path("which ship gets which berth"))
        expect(page.locator("#copy-prompt")).to_be_visible()
    page.get_by_label("Budget of the prompt").press("ArrowLeft")
    expect(page.get_by_role("status").filter(has_text=AWAY)).to_be_visible()
    with site(*again(before)):
        wait_until(page, "!document.getElementById('found').hasAttribute('aria-busy')")
        expect(page.locator(".excerpt").first).to_be_visible()
        expect(page.get_by_role("status").filter(has_text=AWAY)).to_be_hidden()
        assert "budget=3500" in page.url
