"""A server that stops while the page is open, and starts again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

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


def notice(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text=AWAY)


def test_pages_continue_when_the_server_is_back(harbour_folder: Path, context: BrowserContext) -> None:
    with site(harbour_folder) as before:
        before.sign_in(context)
        answer = before.open(context, answer_path("which ship gets which berth"))
        expect(answer.locator("#copy-prompt")).to_be_visible()
        index = before.open(context, "/ui/index")
        facts = index.locator(".facts div")  # Another one may say that files are being read.
        files = facts.filter(has=index.get_by_text("Files", exact=True)).locator("dd")
        expect(files).to_have_text(str(len(HARBOUR)))
        search = before.open(context)
        search.locator("#q").fill("moor a ship")
        expect(search.locator(".row").first).to_be_visible()
    search.locator("#q").fill("harmonic constituents")
    expect(notice(search)).to_be_visible()
    search.locator("#q").press("End")
    type_into_box(search, " of tides")
    expect(notice(search)).to_be_visible()
    question = "harmonic constituents of tides"
    assert search.locator("#q").input_value() == question
    answer.get_by_label("Budget of the prompt").press("ArrowLeft")
    for page in (answer, index):
        expect(notice(page)).to_be_visible()
    write_files(harbour_folder, {"knots.py": "def tie():\n    return 1\n"})
    with site(*again(before)):
        expect(search.locator(".row .path").first).to_contain_text("src/harbour/tides.py")
        expect(notice(search)).to_be_hidden()
        assert search.locator("#q").input_value() == question
        assert search.url.endswith("?q=harmonic+constituents+of+tides")
        search.reload()
        expect(search.locator(".row .path").first).to_contain_text("src/harbour/tides.py")
        wait_until(answer, "!document.getElementById('found').hasAttribute('aria-busy')")
        expect(answer.locator(".excerpt").first).to_be_visible()
        assert "budget=3500" in answer.url
        expect(files).to_have_text(str(len(HARBOUR) + 1))
        for page in (answer, index):
            expect(notice(page)).to_be_hidden()
