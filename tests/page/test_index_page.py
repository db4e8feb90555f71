"""The page about the index: its content, left-out files, progress, writer, and latency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harbour import write_files
from tests.page.browsing import PHONE, Browsing, wait_until
from tests.page.conftest import Opened
from tests.page.site import Site, clone_of_this_project, harbour_site, own_machine, site
from tests.serving import PATIENCE_SECONDS, serving

COUNTING = "It is being counted…"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose folder and phase the tests change."""
    more = {".gitignore": "*.tmp\n", "wet.tmp": "wet\n"}
    with harbour_site(tmp_path_factory.mktemp("index"), **more) as served:
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


def test_counts_are_those_of_the_status(opened: Opened, project: Site) -> None:
    page = counted(opened("/ui/index"))
    status = project.served.call("status", {})
    assert fact(page, "Files") == f"{status['files']['indexed']:,}"
    assert fact(page, "Passages") == f"{status['chunks']:,}"
    assert fact(page, "Memory").split()[0].replace(",", "").replace(".", "").isdigit()
    expect(page.locator(".state")).to_be_visible()  # Its text depends on the load of the machine.


def test_treemap_shows_collections_and_languages_by_their_size(opened: Opened) -> None:
    page = counted(opened("/ui/index"))
    tree = page.locator("svg.wide").first
    expect(tree).to_be_visible()
    labels = " ".join(tree.locator("text").all_text_contents())
    assert "cairn-ls-source" in labels
    assert "python" in labels
    boxes = tree.locator("rect.leaf").evaluate_all(
        "all => all.map(each => [each.parentElement.querySelector('title').textContent,"
        " each.width.baseVal.value * each.height.baseVal.value])"
    )
    assert max(boxes, key=lambda box: box[1])[0].count("python")
    overlapping = tree.locator("rect.leaf").evaluate_all(
        """all => all.some((a, at) => all.slice(at + 1).some(b => {
            const [p, q] = [a.getBBox(), b.getBBox()];
            return p.x + 0.5 < q.x + q.width && q.x + 0.5 < p.x + p.width
                && p.y + 0.5 < q.y + q.height && q.y + 0.5 < p.y + p.height;
        }))"""
    )
    assert not overlapping


def test_table_of_the_treemap_leads_to_searches(opened: Opened) -> None:
    page = counted(opened("/ui/index"))
    page.get_by_text("The same as a table").click()
    link = page.get_by_role("link", name="Search markdown of cairn-ls-docs")
    expect(link).to_be_visible()
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_be_visible()
    assert "collection=cairn-ls-docs" in page.url
    assert "language=markdown" in page.url


def test_figures_fit_a_phone(opened: Opened) -> None:
    page = counted(opened("/ui/index", size=PHONE))
    shown = page.locator("figure.map svg:visible")
    expect(shown).to_have_count(1)
    box = shown.bounding_box()
    assert box is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]  # noqa: PT018


# --- left-out files ----------------------------------------------------------------------------------


def test_form_explains_a_path(port: Site, context: BrowserContext) -> None:
    page = port.open(context, "/ui/index")
    page.get_by_label("Is this path indexed?").fill("wet.tmp")
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_contain_text("wet.tmp: not indexed")


# --- progress and writer -----------------------------------------------------------------------------


def test_progress_is_shown_while_a_folder_is_indexed(tmp_path: Path, browsing: Browsing) -> None:
    context = browsing.context()
    folder = clone_of_this_project(tmp_path / "cairn", "server/cairn", "docs")
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


# --- latency and restart -----------------------------------------------------------------------------


def test_latency_is_plotted_with_phases_and_the_cache(port: Site, context: BrowserContext) -> None:
    for _ in range(3):
        port.served.call("search", {"query": "where do ships moor"})
    port.served.call("set_phase", {"phase": 2})
    try:
        page = port.open(context, "/ui/index")
        part = page.locator("[data-part=latency]")
        expect(part.locator("svg[role=img]:visible")).to_have_count(1)
        expect(part.locator("svg.wide path.cached")).to_have_count(1)
        expect(part.locator("svg.wide path.answered")).to_have_count(1)
        expect(part.locator("svg.wide path.step.down")).to_have_count(1)
        expect(part.locator(".steps li").first).to_contain_text("3 → 2")
        assert int(fact(page, "From the cache").split()[0]) >= 2
        expect(page.locator(".state.warn")).to_be_visible()
        assert "ships moor" not in page.content(), "queries are not stored"
    finally:
        port.served.call("set_phase", {"phase": None})


def test_page_continues_when_the_server_is_back(tmp_path: Path, browsing: Browsing) -> None:
    browsing.faults.expect("ERR_CONNECTION_REFUSED")
    browsing.faults.allow("ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED")
    quay = write_files(tmp_path / "quay", {"ropes.py": "def coil():\n    return 1\n"})
    with own_machine(tmp_path):
        with site(quay) as before:
            context = browsing.context()
            before.sign_in(context)
            page = counted(before.open(context, "/ui/index"))
        notice = page.get_by_role("status").filter(has_text="The server does not answer")
        expect(notice).to_be_visible()
        write_files(quay, {"knots.py": "def tie():\n    return 1\n"})
        with site(quay, "--port", str(before.served.port)):
            expect(notice).to_be_hidden()
            shows_two = "[...document.querySelectorAll('.facts dd')].some(each => each.textContent === '2')"
            wait_until(page, shows_two)
