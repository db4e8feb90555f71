"""Search in the browser: results while typing, filters, reasons, keys, addresses, and links."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.browsing import places, type_into_box, wait_until
from tests.page.conftest import Opened
from tests.page.site import search_path

QUESTION = "how are sessions of browsers signed"
FOUND = "server/cairn/web/sessions.py"


def titles(page: Page) -> list[str]:
    return page.locator(".row .title").all_inner_texts()


def wait_for_rows(page: Page, question: str) -> None:
    """Wait until the rows are those of the question."""
    wait_until(
        page,
        """question => document.title === `${question} · Cairn`
            && !document.getElementById("results").classList.contains("waiting")""",
        question,
    )


def query_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def focused(page: Page) -> str:
    """Return the label of the row with the focus, or the id of another element with it."""
    return page.evaluate("document.activeElement.dataset.label ?? document.activeElement.id")


# --- typing ------------------------------------------------------------------------------------------


def test_typing_shows_rows(opened: Opened) -> None:
    page = opened()
    type_into_box(page, QUESTION)
    expect(page.locator(".row .where .path").filter(has_text=FOUND)).not_to_have_count(0)
    assert query_of(page) == {"q": [QUESTION]}
    assert QUESTION in page.title()


def test_last_keystroke_wins_over_an_earlier_answer(opened: Opened) -> None:
    page = opened()
    delayed: list[Route] = []
    page.route(re.compile(r"q=moor$"), lambda route: delayed.append(route))
    type_into_box(page, "moor")
    wait_until(page, "location.search.endsWith('q=moor')")
    type_into_box(page, " links")
    wait_for_rows(page, "moor links")
    rows = titles(page)
    assert delayed
    for route in delayed:
        route.fulfill(body="<p id=late>late</p>", content_type="text/html")
    page.evaluate("fetch('/ui/static/base.js')")  # The late answer arrives before this one.
    assert page.locator("#late").count() == 0
    assert titles(page) == rows


def test_address_contains_the_whole_question(opened: Opened) -> None:
    page = opened("/ui/?language=python&path=server/cairn/web")
    page.locator("#q").fill(QUESTION)
    wait_for_rows(page, QUESTION)
    before = places(page)
    assert query_of(page) == {"q": [QUESTION], "language": ["python"], "path": ["server/cairn/web"]}
    assert all(place.startswith("server/cairn/web/") for place in before)
    page.reload()
    assert places(page) == before
    assert page.locator("#q").input_value() == QUESTION
    other = opened(page.url[page.url.index("/ui/") :])
    assert places(other) == before


def test_back_and_forward_move_through_entered_questions(opened: Opened) -> None:
    page = opened()
    for question in ("one time link", "session cookie"):
        page.locator("#q").fill(question)
        page.keyboard.press("Enter")
        wait_for_rows(page, question)
    later = places(page)
    page.go_back()
    wait_for_rows(page, "one time link")
    assert page.locator("#q").input_value() == "one time link"
    assert places(page) != later
    page.go_forward()
    wait_for_rows(page, "session cookie")
    assert places(page) == later


# --- content of a row --------------------------------------------------------------------------------


# --- filters -----------------------------------------------------------------------------------------


def test_chip_adds_and_removes_a_filter(opened: Opened) -> None:
    both = "browser session cookie of the page"
    page = opened(search_path(both))
    before = places(page)
    assert not all(".py:" in place for place in before)
    page.get_by_role("link", name=re.compile("^Language: python")).click()
    assert query_of(page) == {"q": [both], "language": ["python"]}
    assert places(page)
    assert all(".py:" in place for place in places(page))
    page.locator("#q").press("End")
    type_into_box(page, " signed")
    wait_for_rows(page, f"{both} signed")
    assert places(page)
    assert all(".py:" in place for place in places(page))
    page.locator("#q").fill(both)
    wait_for_rows(page, both)
    page.get_by_role("link", name="Remove the filter Language: python").click()
    assert query_of(page) == {"q": [both]}
    assert places(page) == before


# --- keys --------------------------------------------------------------------------------------------


def test_keys_move_between_box_and_rows(opened: Opened) -> None:
    page = opened(search_path(QUESTION))
    labels = [title.get_attribute("data-label") for title in page.locator(".row .title").all()]
    page.keyboard.press("/")
    assert focused(page) == "q"
    page.keyboard.press("ArrowDown")
    assert focused(page) == labels[0]
    page.keyboard.press("ArrowDown")
    assert focused(page) == labels[1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert focused(page) == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert focused(page) == "q"
    assert page.locator("#q").input_value() == QUESTION
    page.keyboard.press("Escape")
    assert page.locator("#q").input_value() == ""
    expect(page.locator(".row")).to_have_count(0)
    assert query_of(page) == {}
    page.keyboard.type("a/b")
    assert page.locator("#q").input_value() == "a/b"


def test_enter_opens_the_row_that_has_the_focus(opened: Opened) -> None:
    page = opened(search_path(QUESTION))
    page.locator("#q").press("ArrowDown")
    wanted = page.locator(".row .title").first.get_attribute("href")
    with page.expect_navigation(url=re.compile("/ui/file/")):
        page.keyboard.press("Enter")
    assert page.url.endswith(wanted)


# --- links of a row ----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["button", "key"])
def test_place_of_a_row_is_copied(opened: Opened, by: str) -> None:
    page = opened(search_path(QUESTION), permissions=["clipboard-read", "clipboard-write"])
    label = page.locator(".row .title").first.get_attribute("data-label")
    if by == "button":
        page.get_by_role("button", name=f"Copy {label}", exact=True).click()
    else:
        page.locator("#q").press("ArrowDown")
        page.keyboard.press("c")
    wait_until(page, "text => navigator.clipboard.readText().then(found => found === text)", label)


def test_more_results_are_shown_by_their_own_address(opened: Opened) -> None:
    page = opened("/ui/?q=session")
    few = places(page)
    page.get_by_role("link", name="Show more").click()
    assert query_of(page)["limit"] == ["40"]
    assert places(page)[: len(few)] == few
    assert len(places(page)) > len(few)
