"""What holds for every view: both themes, a phone's width, no mouse, no motion, and what axe-core finds."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.browsing import PHONE, SCHEMES, WIDE, Browsing, grave_violations, overhang
from tests.page.conftest import Opened
from tests.page.site import Site, answer_path, search_path

QUESTION = "how are sessions of browsers signed"
VIEWS = {
    "first": ("/ui/", "h1"),
    "search": (search_path(QUESTION), ".row"),
    "nothing": (search_path("session", language="haskell"), ".empty"),
    "answer": (answer_path(QUESTION), "#copy-prompt"),
    "file": ("/ui/file/server/cairn/web/sessions.py?lines=60-64", "#around h2"),
    "index": ("/ui/index?path=docs/design.md", "[data-part=left-out] .rules"),
}
"""The address of each view, and what is there when it is whole."""


def view(opened: Opened, name: str, **options: object) -> Page:
    path, whole = VIEWS[name]
    page = opened(path, **options)
    expect(page.locator(whole).first).to_be_visible()
    return page


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", VIEWS)
def test_axe_finds_nothing_grave(opened: Opened, name: str, size: tuple[int, int]) -> None:
    page = view(opened, name, size=size)
    for details in page.locator("details").all()[:2]:
        details.evaluate("each => { each.open = true; }")
    for scheme in SCHEMES if size == WIDE else SCHEMES[:1]:  # The colours are the same on a phone.
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == [], scheme


@pytest.mark.parametrize("name", VIEWS)
def test_page_is_no_wider_than_its_window(opened: Opened, name: str) -> None:
    page = view(opened, name, size=PHONE)
    for width in (360, 480, 640, 1_000, 2_560):
        page.set_viewport_size({"width": width, "height": 740})
        assert overhang(page) == 0, width


@pytest.mark.parametrize("name", ["search", "file"])
def test_theme_follows_the_system_and_can_be_changed(opened: Opened, name: str) -> None:
    page = view(opened, name, scheme="dark")
    dark = background(page)
    page.emulate_media(color_scheme="light")
    light = background(page)
    assert dark != light
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == dark
    page.reload()
    assert background(page) == dark, "the choice is kept"
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Change between light and dark").click()
    assert background(page) == light


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("name", VIEWS)
def test_everything_is_reached_with_the_tab_key_and_is_seen_to_have_the_focus(
    opened: Opened, name: str
) -> None:
    page = view(opened, name)
    wanted = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), summary, select")];
            const shown = all.filter(each => each.checkVisibility() && each.tabIndex >= 0 && !each.disabled);
            shown.forEach((each, at) => { each.dataset.at = at; });
            return shown.length;
        }"""
    )
    page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges()")
    reached, unseen = set(), []
    for _ in range(wanted + 40):
        page.keyboard.press("Tab")
        found = page.evaluate(
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


@pytest.mark.parametrize("name", ["search", "file"])
def test_skip_link_leads_past_the_bar(opened: Opened, name: str) -> None:
    page = view(opened, name)
    skip = page.get_by_role("link", name="Skip to the content")
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_moves_for_who_wants_no_motion(opened: Opened, name: str) -> None:
    page = view(opened, name, reduced_motion="reduce")
    moving = page.evaluate(
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


@pytest.mark.parametrize("name", VIEWS)
def test_all_that_a_view_loads_is_from_here(browsing: Browsing, project: Site, name: str) -> None:
    context = browsing.context()
    project.sign_in(context)
    loaded: list[str] = []
    context.on("request", lambda request: loaded.append(request.url))
    page = project.open(context, VIEWS[name][0])
    expect(page.locator(VIEWS[name][1]).first).to_be_visible()
    assert loaded
    assert all(url.startswith(f"{project.url}/ui/") for url in loaded), loaded
    assert page.locator("[style], style, script:not([src]), iframe, base").count() == 0


def test_sign_in_page_is_accessible_in_both_themes_on_a_phone(browsing: Browsing, project: Site) -> None:
    browsing.faults.expect("401")
    page = project.open(browsing.context(size=PHONE))
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == []
    assert overhang(page) == 0


def test_unknown_page_says_so_in_words(opened: Opened, browsing: Browsing) -> None:
    browsing.faults.expect("404")
    page = opened("/ui/no-such-page")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert grave_violations(page) == []
