"""Answers in the browser: streamed excerpts, citations, and the prompt to copy."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.page.browsing import wait_until
from tests.page.conftest import Opened
from tests.page.site import Site, answer_path, citations, search_path

QUESTION = "how does a one-time link begin a session of a browser"
PROMPT_TOKENS = re.compile(r"prompt of ([\d,]+) tokens")


def prompt_tokens(page: Page) -> int:
    """Return the prompt's size on the page, once the answer is complete."""
    expect(page.locator("#copy-prompt")).to_be_visible()
    return int(PROMPT_TOKENS.search(page.locator(".prompt .summary").inner_text())[1].replace(",", ""))


def test_answer_is_streamed_and_complete_at_the_end(opened: Opened) -> None:
    question = "which thread writes the index"  # No other test asks it, since a cached answer has no stages.
    page = opened()
    # The script records each state of the answer.
    page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
            const found = document.getElementById("found");
            if (!found) return;
            window.states = [];
            new MutationObserver(() => states.push({
                excerpts: found.querySelectorAll(".excerpt").length,
                isWhole: Boolean(found.querySelector("#copy-prompt")),
                progress: document.getElementById("progress").textContent,
            })).observe(found, { childList: true });
        });"""
    )
    page.goto(page.url.partition("/ui")[0] + answer_path(question))
    expect(page.locator("#copy-prompt")).to_be_visible()
    states = page.evaluate("states")
    partial = [state for state in states if not state["isWhole"]]
    assert partial, "excerpts appeared before the answer was complete"
    assert partial[-1]["excerpts"]
    assert partial[-1]["progress"]
    assert states[-1]["isWhole"]
    assert states[-1]["excerpts"] == page.locator(".excerpt").count()
    assert page.locator("#progress").inner_text() == ""
    assert page.locator("h1").inner_text() == question


def test_answer_is_reached_from_the_box_and_from_a_search(opened: Opened) -> None:
    page = opened()
    page.locator("#q").fill(QUESTION)
    page.get_by_role("button", name="Answer").click()
    prompt_tokens(page)
    assert page.url.endswith(answer_path(QUESTION))
    page.goto(page.url.replace("/ui/answer", "/ui/"))
    page.get_by_role("link", name=f"Answer “{QUESTION}”").click()
    assert page.url.endswith(answer_path(QUESTION))


def test_excerpts_contain_the_lines_of_their_citations(opened: Opened, project: Site) -> None:
    page = opened(answer_path(QUESTION))
    prompt_tokens(page)
    found = citations(page)
    assert len(found) > 2
    for at, citation in enumerate(found[:5]):
        path, first, last = re.fullmatch(r"(.+)#L(\d+)-L(\d+)", citation).groups()
        lines = (project.folder / path).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
        excerpt = page.locator(".excerpt").nth(at)
        assert excerpt.locator(".line code").all_text_contents() == lines
        assert excerpt.locator(".line .nr").first.inner_text() == first
        shown = first if first == last else f"{first}-{last}"
        assert excerpt.locator(".citation").get_attribute("href") == f"/ui/file/{path}?lines={shown}"
    assert "server/cairn/web/sessions.py" in " ".join(found)


def test_each_file_has_one_heading_above_its_excerpts(opened: Opened) -> None:
    page = opened(answer_path(QUESTION))
    prompt_tokens(page)
    files = page.locator(".file")
    paths = files.locator("h2").all_inner_texts()
    assert len(set(paths)) == len(paths) > 1
    for at, path in enumerate(paths):
        cited = [each for each in citations(page) if each.startswith(f"{path}#")]
        assert files.nth(at).locator("h3 .citation").count() == len(cited) > 0
        assert files.nth(at).locator("h2 a").get_attribute("href") == f"/ui/file/{path}"


def test_named_places_are_links_to_their_lines(opened: Opened, project: Site) -> None:
    page = opened(answer_path(QUESTION))
    prompt_tokens(page)
    named = project.served.call("discover", {"query": QUESTION})["elsewhere"]
    places = page.locator(".more-on-request li")
    assert places.count() == len(named) > 2
    for shown, place in zip(places.all_inner_texts(), named, strict=True):
        assert shown.startswith(f"L{place['range']['start']['line'] + 1}")
        assert f"{place['title']}{place['about']}"[:40] in shown
        assert shown.endswith(place["relation"])
    place = next(
        place for place in named if place["range"]["end"]["line"] - place["range"]["start"]["line"] > 1
    )
    places.nth(named.index(place)).get_by_role("link").click()
    expect(page.locator("#code .line.marked").first).to_be_in_viewport()
    assert page.title().startswith(place["path"])
    first, last = place["range"]["start"]["line"] + 1, place["range"]["end"]["line"]
    assert page.url.endswith(f"?lines={first}-{last}")


def test_prompt_is_copied_with_all_its_excerpts(opened: Opened, project: Site) -> None:
    page = opened(answer_path(QUESTION), permissions=["clipboard-read", "clipboard-write"])
    tokens = prompt_tokens(page)
    page.get_by_role("button", name="Copy prompt").click()
    expect(page.locator("#copy-prompt")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    answer = project.served.call("discover", {"query": QUESTION})
    assert copied == answer["answerPrompt"]
    assert tokens == answer["metrics"]["finalPromptTokens"]
    for path in page.locator(".file h2").all_inner_texts():
        assert f"### {path}\n" in copied
    page.get_by_text("Show the prompt").click()
    assert page.locator("#prompt").text_content() == copied


def test_budget_slider_changes_the_prompt_and_the_address(opened: Opened) -> None:
    page = opened(answer_path(QUESTION))
    usual, excerpts = prompt_tokens(page), page.locator(".excerpt").count()
    slider = page.get_by_label("Budget of the prompt")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#tokens")).to_have_text("1,000 tokens")
    wait_until(page, "count => document.querySelectorAll('.excerpt').length < count", excerpts)
    wait_until(page, "!document.getElementById('found').hasAttribute('aria-busy')")
    small = prompt_tokens(page)
    assert small <= 1_000 < usual
    assert "budget=1000" in page.url
    page.reload()
    assert prompt_tokens(page) == small
    assert slider.input_value() == "1000"


def test_weak_answer_says_so(opened: Opened, project: Site) -> None:
    question = "zzyzx qyjibo brillig"
    page = opened(answer_path(question))
    message = project.served.call("discover", {"query": question})["verdict"]["message"]
    assert message
    expect(page.locator(".verdict")).to_contain_text(message)


def test_answer_keeps_the_filters_of_a_search(opened: Opened) -> None:
    page = opened(search_path("how are sessions signed", path="docs"))
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".excerpt").first).to_be_visible()
    prompt_tokens(page)
    assert all(citation.startswith("docs/") for citation in citations(page))


def test_problem_with_a_question_replaces_the_answer(opened: Opened) -> None:
    page = opened(answer_path("sessions", path="no/such/folder"))
    expect(page.locator("#found").get_by_role("alert")).to_contain_text("no/such/folder")
    assert page.locator("#progress").inner_text() == ""
