"""The pages of search and answers, from a real server."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign


def titles(text: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'class="path" href="[^"]*"[^>]*>([^<]+)<', text)]


def test_results_show_the_lines_that_match(browser: Browser) -> None:
    page = browser.page("/ui/", q="moor a ship")
    assert titles(page)[0].startswith("src/harbour/berths.py:")
    assert "<mark>moor" in page.lower()
    assert 'href="/ui/file/src/harbour/berths.py?lines=' in page
    place = re.search(r'vscode://file(/[^"]*/src/harbour/berths\.py):(\d+)"', page)
    assert place
    assert Path(place[1]).exists()
    assert int(place[2]) > 1
    assert f'data-label="src/harbour/berths.py:{place[2]}"' in page
    assert re.search(r'<code>.*<span class="k">', page)


def test_page_without_results_says_so(browser: Browser) -> None:
    assert "Nothing found." in browser.page("/ui/", q="berth", language="haskell")


def test_script_gets_only_the_results(browser: Browser) -> None:
    part = browser.fragment("/ui/", q="moor a ship")
    assert "<html" not in part
    assert titles(part)[0].startswith("src/harbour/berths.py:")


@pytest.mark.parametrize(
    ("typed", "name", "value", "begin"),
    [
        ("type:prose", "type", "prose", "README.md"),
        ("lang:python", "language", "python", ""),
        ('in:"src"', "path", "src", "src/"),
        ("collection:harbour-tests", "collection", "harbour-tests", "tests/"),
    ],
)
def test_filters_are_in_the_address_or_in_the_question(
    browser: Browser, typed: str, name: str, value: str, begin: str
) -> None:
    by_address = browser.page("/ui/", q="berth", **{name: value})
    page = browser.page("/ui/", q=f"berth {typed}")
    assert titles(by_address) == titles(page)
    assert titles(page)
    assert all(each.startswith(begin) for each in titles(page))
    assert 'href="/ui/?q=berth"' in page, "a chip removes the filter"


def test_offered_filters_have_their_number_of_results(browser: Browser) -> None:
    page = browser.page("/ui/", q="berth")
    chip = r'<a class="chip" href="([^"]*path=tests[^"]*)"[^>]*>tests\s+<span class="amount">(\d+)'
    offered = re.search(chip, page)
    assert offered, page
    filtered = titles(browser.page(unescape(offered[1])))
    assert len(filtered) >= int(offered[2])
    assert all(each.startswith("tests/") for each in filtered)


def test_results_have_reasons(browser: Browser) -> None:
    page = browser.page("/ui/", q="moor a ship")
    assert "<summary>Why it is here</summary>" in page
    assert re.search(r"<details class=\"why\">.*?<li>.+?</li>", page, re.S)


@pytest.mark.parametrize(
    "question", [HOSTILE, "<script>alert(2)</script>", '"><svg onload=alert(3)>', "{{ 7 * 7 }}"]
)
def test_questions_and_results_are_escaped(browser: Browser, question: str) -> None:
    for path in ("/ui/", "/ui/answer"):
        for text in (question, "lighthouse keeper"):
            assert_nothing_foreign(browser.page(path, q=text, whole="1"))
    assert "lighthouse_keeper" in browser.page("/ui/", q="lighthouse_keeper")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"q": "berth", "type": "poem"}, "<p>'poem' is not a type of passage; the types are prose"),
        ({"q": "berth", "path": "no/such/place"}, "<p>There is no 'no/such/place' in the workspace; at"),
        ({"q": "berth", "path": "[z"}, "<p>'[z' can match no file"),
        ({"q": "berth", "repository": "elsewhere"}, "<p>'elsewhere' is not open; the open folders are"),
        ({"q": "berth", "language": "pyton"}, "<p>Unknown language 'pyton'; did you mean python?</p>"),
    ],
)
def test_wrong_filter_gets_a_plain_sentence(browser: Browser, values: dict[str, str], says: str) -> None:
    for headers in ({}, {"Cairn-Fragment": "1"}):
        answer = browser.ask(f"/ui/?{urlencode(values)}", headers=headers)
        assert answer.status == 400, answer
        text = unescape(answer.body.decode()).replace('<p class="problem" role="alert">', "<p>")
        assert says in text
        assert "param" not in text


def test_question_that_is_too_long_gets_a_plain_sentence(browser: Browser) -> None:
    answer = browser.ask(f"/ui/?q={'berth+' * 4_000}")
    assert answer.status == 431
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.body.decode() == "The address and the headers have more than 16,384 bytes."


def test_answer_has_excerpts_with_citations_and_a_prompt(browser: Browser) -> None:
    page = browser.page("/ui/answer", q="when does moor_ship raise?", whole="1")
    assert re.search(r'href="/ui/file/src/harbour/berths\.py">src/harbour/berths\.py</a>\s*</h2>', page)
    assert re.search(r'aria-label="src/harbour/berths\.py#(L\d+-L\d+)">\1</a>', page)
    assert "berth is taken" in page
    assert re.search(r"prompt of [\d,]+ tokens", page)
    assert '<pre id="prompt"' in page


def test_answer_streams_its_stages(browser: Browser) -> None:
    body = browser.ask("/ui/answer-events?q=how+are+berths+assigned", headers={"Accept": "text/event-stream"})
    events = re.findall(r"^event: (\w+)$", body.body.decode(), re.M)
    assert events[0] == "filter_collections"
    assert events[-1] == "answer"
    assert "src/harbour/schedule.py#L" in body.body.decode()
    for stage in ("compress_evidence", "answer"):
        assert events.count(stage) == 1
        (event,) = re.findall(rf"^event: {stage}\n(?:data: .*\n)+", body.body.decode(), re.M)
        assert "<h2>More on request</h2>" in event
        assert re.search(r'href="/ui/file/[^"]+\?lines=\d+(-\d+)?">L\d+', event.partition("<h2>More")[2])


def test_refusal_shows_the_nearest_places(browser: Browser) -> None:
    page = browser.page("/ui/answer", q="quarterly unicorn sausages", whole="1")
    assert "Nothing here clearly matches." in page
    assert "More on request" not in page
    assert re.search(
        r'<h2>Nearest places</h2>\s*<ol class="places"><li><a class="path"\s+href="/ui/file/', page
    )


def test_smaller_budget_makes_smaller_prompt(browser: Browser) -> None:
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
