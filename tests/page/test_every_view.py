"""Properties of every view: both themes, a phone's width, keyboard use, reduced motion, and accessibility."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.page.browsing import PHONE, SCHEMES, WIDE, Browsing, Scheme, Shared, grave_violations, overhang
from tests.page.conftest import Opened
from tests.page.site import Site, answer_path, search_path

QUESTION = "how are sessions of browsers signed"
VIEWS = {
    "first": ("/ui/", "h1"),
    "search": (search_path(QUESTION), ".row"),
    "nothing": (search_path("session", language="haskell"), ".empty"),
    "answer": (answer_path(QUESTION), "#copy-prompt"),
    "file": ("/ui/file/server/cairn/web/sessions.py?lines=60-64", "#around h2"),
    "change": ("/ui/change", ".hunk .beside"),
    "unchanged": ("/ui/change?file=docs/page.md", ".empty"),
    "index": ("/ui/index?path=docs/design.md", "[data-part=left-out] .rules"),
}
"""The address of each view, and an element of the complete view."""


@pytest.fixture(scope="module", params=VIEWS)
def loaded(request: pytest.FixtureRequest, shared: Shared, project: Site) -> Iterator[Page]:
    """Each view, loaded once for all tests that do not change it."""
    own = Browsing(shared)
    context = own.context()
    project.sign_in(context)
    path, element = VIEWS[request.param]
    page = project.open(context, path)
    expect(page.locator(element).first).to_be_visible()
    own.faults.check()
    yield page
    own.close()


@pytest.fixture
def view(loaded: Page, shared: Shared) -> Iterator[Page]:
    """A view, restored after each test."""
    shared.faults.begin()
    yield loaded
    loaded.emulate_media(color_scheme="light", reduced_motion="no-preference")
    loaded.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    shared.faults.check()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_grave(view: Page, scheme: Scheme) -> None:
    for details in view.locator("details").all()[:2]:
        details.evaluate("each => { each.open = true; }")
    view.emulate_media(color_scheme=scheme)
    assert grave_violations(view) == []


def test_axe_finds_nothing_grave_on_a_phone(view: Page) -> None:
    view.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert grave_violations(view) == []


def test_page_fits_its_window(view: Page) -> None:
    for width in (360, 480, 640, 1_000, 2_560):
        view.set_viewport_size({"width": width, "height": 740})
        assert overhang(view) == 0, width


@pytest.mark.parametrize("name", ["search", "file"])
def test_theme_follows_the_system_and_can_be_changed(browsing: Browsing, project: Site, name: str) -> None:
    context = browsing.context(scheme="dark")
    project.sign_in(context)
    page = project.open(context, VIEWS[name][0])
    dark = background(page)
    page.emulate_media(color_scheme="light")
    light = background(page)
    assert dark != light
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == dark
    page.reload()
    assert background(page) == dark, "the browser stores the choice"
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == light


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_tab_key_reaches_everything_and_shows_the_focus(view: Page) -> None:
    wanted = view.evaluate(
        """() => {
            const elements = "a[href], button, input:not([type=hidden]), textarea, summary, select";
            const shown = [...document.querySelectorAll(elements)].filter(
                each => each.checkVisibility() && each.tabIndex >= 0 && !each.disabled);
            shown.forEach((each, at) => { each.dataset.at = at; });
            return shown.length;
        }"""
    )
    view.evaluate("document.activeElement.blur(); getSelection().removeAllRanges()")
    reached, unseen = set(), []
    for _ in range(wanted + 40):
        view.keyboard.press("Tab")
        found = view.evaluate(
            """() => {
                const each = document.activeElement, style = getComputedStyle(each);
                const box = each.getBoundingClientRect();
                return [each.dataset.at, style.outlineStyle !== "none" || each.id === "budget",
                    box.width > 0 && box.bottom > 0 && box.top < innerHeight, each.outerHTML.slice(0, 200)];
            }"""
        )
        if found[0] in reached:
            break
        if found[0] is not None:
            reached.add(found[0])
            if not (found[1] and found[2]):
                unseen.append(found[3])
    assert len(reached) == wanted
    assert unseen == []


def test_skip_link_leads_to_the_content(view: Page) -> None:
    skip = view.get_by_role("link", name="Skip to the content")
    skip.focus()
    expect(skip).to_be_in_viewport()
    view.keyboard.press("Enter")
    assert view.evaluate("document.activeElement.id") == "main"


def test_nothing_moves_with_reduced_motion(view: Page) -> None:
    view.emulate_media(reduced_motion="reduce")
    moving = view.evaluate(
        """() => [...document.querySelectorAll("*")].filter(each => {
            const style = getComputedStyle(each);
            return style.animationName !== "none"
                || style.transitionDuration.split(", ").some(part => parseFloat(part) > 0)
                || style.scrollBehavior === "smooth";
        }).map(each => each.outerHTML.slice(0, 200))"""
    )
    assert moving == []


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_shown_without_script(opened: Opened, name: str) -> None:
    page = opened(VIEWS[name][0], java_script_enabled=False)
    expect(page.get_by_role("main")).not_to_be_empty()
    assert page.get_by_role("searchbox").is_enabled()


def test_view_loads_only_from_its_own_server(view: Page, project: Site) -> None:
    names: list[str] = view.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    assert names
    assert all(name.startswith(f"{project.url}/ui/") for name in names), names
    assert view.locator("[style], style, script:not([src]), iframe, base").count() == 0


def test_sign_in_page_is_accessible_in_both_themes_on_a_phone(browsing: Browsing, project: Site) -> None:
    browsing.faults.expect("401")
    page = project.open(browsing.context(size=PHONE))
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == []
    assert overhang(page) == 0


def test_unknown_page_has_a_heading(opened: Opened, browsing: Browsing) -> None:
    browsing.faults.expect("404")
    page = opened("/ui/no-such-page")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert grave_violations(page) == []
