"""The rows of the search page, for results that no small project has."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from tests.search_results import search_result

from cairn import protocol
from cairn.protocol.search_messages import FurtherPlaces, Mark, MatchedLine, whole_lines
from cairn.settings.tree import ServeSettings
from cairn.web.rendering import PageRequest, Served
from cairn.web.views import search_page

MATCHED = MatchedLine(42, "kill('🚢', <ship>)", (Mark(0, 4), Mark(12, 16)))
INSIDE = search_result(
    range=whole_lines(41, 44),
    selection_range=whole_lines(11, 12),
    snippet="    ship = 1\n    kill('🚢', <ship>)\n    sink()\n",
    head="def moor_ship(self):",
    matched_terms=("kill", "ship"),
    matched_line=MATCHED,
)


class FixedRunner:
    """Answers every search with the same results."""

    def __init__(
        self, results: tuple[protocol.SearchResult, ...], further: tuple[FurtherPlaces, ...]
    ) -> None:
        verdict = protocol.Verdict("answer", "", (), 1.0, ())
        query = protocol.QueryInfo("q", ("q",), "name", 0.5)
        index = protocol.IndexState(1, True)
        self._answer = protocol.SearchAnswer(results, verdict, query, index, {}, further=further)

    async def answer(self, *_: object, **__: object) -> protocol.SearchAnswer:
        return self._answer


def rows(*results: protocol.SearchResult, further: tuple[FurtherPlaces, ...] = (), **values: str) -> str:
    """Return the page's part with the rows of these results."""

    async def never() -> Any:
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/ui/",
        "query_string": urlencode({"q": "kill ship", **values}).encode(),
        "headers": [(b"cairn-fragment", b"1"), (b"host", b"127.0.0.1")],
    }
    runner: Any = FixedRunner(results, further)
    served = Served(runner, ServeSettings(), has_several=lambda: False)
    response = asyncio.run(search_page.search(PageRequest(Request(scope, never), served)))
    return bytes(response.body).decode()


def numbers(html: str) -> list[str]:
    return re.findall(r'<div class="line[^"]*"><span\s+class="nr">([^<]*)<', html)


def test_second_line_is_the_line_that_matches_best() -> None:
    match = re.search(r'<p class="match">(.*?)</p>', rows(INSIDE), re.S)
    assert match
    assert '<span class="nr">43</span>' in match[1]
    assert re.findall("<mark>([^<]*)</mark>", match[1]) == ["kill", "ship"]
    assert unescape(re.sub("<[^>]*>", "", match[1])).split(maxsplit=1)[1] == MATCHED.text


def test_lines_inside_a_function_are_below_its_head() -> None:
    assert numbers(rows(INSIDE)) == ["12", "…", "42", "43", "44"]


def test_excerpt_of_only_the_matching_line_is_not_shown_again() -> None:
    assert numbers(rows(search_result(snippet="moor()\n", matched_line=MatchedLine(11, "moor()", ())))) == []
    assert numbers(rows(search_result(snippet="moor()\n"))) == ["12"]


def test_reasons_are_only_in_the_details() -> None:
    before, _, details = rows(INSIDE).partition("<summary>Why it is here</summary>")
    assert "defines the symbol" not in before
    assert "<li>defines the symbol</li>" in details


def test_places_that_were_left_out_are_links_that_keep_the_filters() -> None:
    html = rows(INSIDE, further=(FurtherPlaces("kill", 6), FurtherPlaces("ship", 1)), type="code")
    links = re.findall(r'<p class="more"><a\s+href="([^"]*)">([^<]*)</a>', html)
    assert [(unescape(address), " ".join(text.split())) for address, text in links] == [
        ("/ui/?q=kill&type=code", "6 more places hold “kill”"),
        ("/ui/?q=ship&type=code", "1 more place holds “ship”"),
    ]
