"""Search and answers, asked of a real server."""

from __future__ import annotations

import re
from html import unescape

import pytest
from tests.serving import Served
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign


def titles(text: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'class="path" href="[^"]*"[^>]*>([^<]+)<', text)]


def test_results_show_the_lines_that_match(browser: Browser) -> None:
    page = browser.page("/ui/", q="moor a ship")
    assert titles(page)[0].startswith("src/harbour/berths.py:")
    assert "<mark>moor" in page.lower()
    assert 'href="/ui/file/src/harbour/berths.py?lines=' in page
    assert "vscode://file/" in page


def test_a_script_gets_the_results_alone(browser: Browser) -> None:
    part = browser.fragment("/ui/", q="moor a ship")
    assert "<html" not in part
    assert titles(part)[0].startswith("src/harbour/berths.py:")


def test_filters_stand_in_the_address_or_in_the_question(browser: Browser) -> None:
    by_address = browser.page("/ui/", q="berth", type="prose")
    typed = browser.page("/ui/", q="berth type:prose")
    assert titles(by_address) == titles(typed)
    assert all(each.startswith("README.md") for each in titles(typed))
    assert 'href="/ui/?q=berth"' in typed, "a chip leaves the filter out"


def test_offered_filters_keep_what_they_say(browser: Browser) -> None:
    page = browser.page("/ui/", q="berth")
    offered = re.search(
        r'<a class="chip" href="([^"]*path=tests[^"]*)"[^>]*>tests <span class="amount">(\d+)', page
    )
    assert offered, page
    kept = browser.page(unescape(offered[1]))
    assert len(titles(kept)) >= int(offered[2])
    assert all(each.startswith("tests/") for each in titles(kept))


def test_reasons_are_there_on_demand(browser: Browser) -> None:
    page = browser.page("/ui/", q="moor a ship")
    assert "Why it is here" in page
    assert re.search(r"<details class=\"why\">.*?<li>.+?</li>", page, re.S)


@pytest.mark.parametrize(
    "question", [HOSTILE, "<script>alert(2)</script>", '"><svg onload=alert(3)>', "{{ 7 * 7 }}"]
)
def test_what_is_asked_and_found_is_text(browser: Browser, question: str) -> None:
    for path in ("/ui/", "/ui/answer"):
        for page in (
            browser.page(path, q=question, whole="1"),
            browser.page(path, q="lighthouse keeper", whole="1"),
        ):
            assert_nothing_foreign(page)
    assert "lighthouse_keeper" in browser.page("/ui/", q="lighthouse_keeper")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"q": "berth", "type": "poem"}, "is not a type of passage"),
        ({"q": "berth", "path": "no/such/place"}, "no/such/place"),
        ({"q": "berth", "repository": "elsewhere"}, "is not open"),
        ({"q": "berth", "language": "klingon"}, "klingon"),
    ],
)
def test_a_wrong_filter_is_explained(browser: Browser, values: dict[str, str], says: str) -> None:
    from urllib.parse import urlencode

    for headers in ({}, {"Cairn-Fragment": "1"}):
        answer = browser.ask(f"/ui/?{urlencode(values)}", headers=headers)
        assert answer.status == 400, answer
        assert says in unescape(answer.body.decode())


def test_an_answer_holds_excerpts_with_citations_and_a_prompt(browser: Browser) -> None:
    page = browser.page("/ui/answer", q="when does moor_ship raise?", whole="1")
    assert re.search(r"src/harbour/berths\.py#L\d+-L\d+</a>", page)
    assert "berth is taken" in page
    assert re.search(r"prompt of [\d,]+ tokens", page)
    assert '<pre id="prompt"' in page


def test_an_answer_streams_its_stages(browser: Browser, served: Served) -> None:
    body = browser.ask("/ui/answer-events?q=how+are+berths+assigned", headers={"Accept": "text/event-stream"})
    events = re.findall(r"^event: (\w+)$", body.body.decode(), re.M)
    assert events[0] == "filter_collections"
    assert events[-1] == "answer"
    assert "src/harbour/schedule.py#L" in body.body.decode()


def test_a_smaller_budget_makes_a_smaller_prompt(browser: Browser) -> None:
    def tokens(budget: str) -> int:
        page = browser.page("/ui/answer", q="what is a berth", whole="1", budget=budget)
        found = re.search(r"prompt of ([\d,]+) token", page)
        assert found
        return int(found[1].replace(",", ""))

    assert tokens("500") <= 500
    assert tokens("nonsense") <= 4_000
    assert tokens("500") < tokens("4000")


def test_lines_with_several_words_of_the_question_are_marked(browser: Browser) -> None:
    page = browser.page("/ui/", q="moor ship", path="src")
    marked = re.findall(r'<div class="line marked">.*?<code>(.*?)</code>', page)
    assert marked
    assert any("moor" in line.lower() and "ship" in line.lower() for line in marked)
