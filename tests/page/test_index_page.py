"""The page about the index: its content, left-out files, progress, writer, and latency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.browsing import PHONE, Browsing, wait_until
from tests.page.conftest import Opened
from tests.page.site import Site, clone_of_this_project, harbour_site, own_machine
from tests.serving import PATIENCE_SECONDS, serving

COUNTING = "It is being counted…"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose folder a test changes."""
    with harbour_site(tmp_path_factory.mktemp("index")) as served:
        yield served


@pytest.fixture
def context(browsing: Browsing, port: Site) -> BrowserContext:
    return browsing.shared_context(port.url, port.sign_in)


def counted(page: Page) -> Page:
    """Return the page, once everything is counted."""
    expect(page.get_by_text(COUNTING)).to_have_count(0)
    return page


def fact(page: Page, name: str) -> str:
    return page.locator(".facts div").filter(has_text=name).locator("dd").first.inner_text()


# --- content -----------------------------------------------------------------------------------------


def test_figures_fit_a_phone(opened: Opened) -> None:
    page = counted(opened("/ui/index", size=PHONE))
    shown = page.locator("figure.map svg:visible")
    expect(shown).to_have_count(1)
    box = shown.bounding_box()
    assert box is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]  # noqa: PT018


# --- progress and writer -----------------------------------------------------------------------------


def test_progress_is_shown_while_a_folder_is_indexed(tmp_path: Path, browsing: Browsing) -> None:
    context = browsing.context()
    folder = clone_of_this_project(tmp_path / "cairn", "server/cairn/index", "server/cairn/engine")
    with own_machine(tmp_path), serving(str(folder)) as served:
        young = Site(served, folder)
        young.sign_in(context)
        page = young.open(context, "/ui/index")
        expect(page.locator(".state.busy")).to_be_visible()
        # The page updates itself.
        expect(page.locator(".state.good")).to_be_visible(timeout=1_000 * PATIENCE_SECONDS)
        counted(page)
        assert fact(page, "Files") == f"{served.call('status', {})['files']['total']:,}"


def test_page_updates_itself_and_keeps_open_details(port: Site, context: BrowserContext) -> None:
    page = counted(port.open(context, "/ui/index"))
    table = page.locator("details[data-key=shares]")
    table.locator("summary").click()
    before = fact(page, "Files")
    table.locator("summary").focus()
    (port.folder / "src" / "harbour" / "pilots.py").write_text("def bring_in_pilot():\n    return 1\n")
    wait_until(
        page,
        """before => [...document.querySelectorAll(".facts div")].some(
            each => each.textContent.startsWith("Files") && !each.textContent.endsWith(before))""",
        before,
    )
    assert table.evaluate("each => each.open")
    assert page.evaluate("document.activeElement.localName") == "summary"
