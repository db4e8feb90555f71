"""Arguments in the forms that models write, and the errors for wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.agents.discover_tool import DiscoverArguments
from cairn.agents.place_text import Place, place_named
from cairn.agents.search_tools import SearchArguments
from cairn.agents.tool_call import arguments_of, cursor_of, error_with_usage, steps_of
from cairn.agents.tools import TOOLS
from cairn.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"limit": "3"}, "limit", 3),
        ({"limit": None}, "limit", None),
        ({"max_tokens": 500}, "max_tokens", 500),
        ({"maxTokens": "500"}, "max_tokens", 500),
        ({"path": "src"}, "path", ("src",)),
        ({"path": '["src", "docs/*.md"]'}, "path", ("src", "docs/*.md")),
        ({"path": "[slug].tsx"}, "path", ("[slug].tsx",)),
        ({"explain": "true"}, "explain", True),
        ({"caseSensitive": True}, "case_sensitive", True),
    ],
)
def test_arguments_are_accepted_in_any_form(given: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(arguments_of({"query": "x", **given}, SearchArguments), name) == value


def test_filter_of_the_protocol_limits_a_search() -> None:
    given = {"query": "x", "filter": {"type": ["code"], "path": ["src"], "language": "go"}}
    wanted = arguments_of(given, SearchArguments).wanted
    assert (wanted.type, wanted.path, wanted.language) == (("code",), ("src",), ("go",))


def test_config_of_the_protocol_limits_a_discovery() -> None:
    given = {"query": "x", "config": {"render": {"maxPromptTokens": 1500}}}
    assert arguments_of(given, DiscoverArguments).tokens_wanted() == 1_500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query: is required"),
        ({"query": " "}, "query: is empty"),
        ({"query": "x", "limitt": 3}, "Did you mean limit?"),
        ({"query": "x", "maxTokns": 3}, "Did you mean max_tokens?"),
        ({"query": "x", "max_tokens": 5}, "max_tokens: expected 100 to 50,000, got 5"),
        ({"query": "x", "limit": "many"}, "limit: expected a whole number"),
        ({"query": "x", "type": ["novel"]}, "type: expected one of prose, code"),
        ({"query": "x", "filter": {"type": ["novel"]}}, "type: expected one of prose, code"),
        ({"query": "x", "cursor": "next"}, "cursor: 'next' is not a cursor; copy it from the line `more:`"),
    ],
)
def test_error_names_the_mistake_and_gives_an_example(arguments: dict[str, Any], message: str) -> None:
    tool = TOOLS["search"]
    with pytest.raises(InvalidRequestError) as refused:
        steps_of(arguments_of(arguments, SearchArguments).cursor)
    text = str(error_with_usage(refused.value, tool.name, tool.input_schema, arguments, tool.example))
    assert [part for part in (message, "query (required)", tool.example) if part not in text] == []


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("src/a.py", Place("src/a.py")),
        ("src/a.py:12", Place("src/a.py", 12, 12)),
        ("src/a.py:10-40", Place("src/a.py", 10, 40)),
        ("src/a.py:12:5", Place("src/a.py", 12, 12, 5)),
        ("src/a.py#L10-L40", Place("src/a.py", 10, 40)),
        ("src/a.py#L10", Place("src/a.py", 10, 10)),
        ("[src/a.py#L10-40]", Place("src/a.py", 10, 40)),
        ("`src/a.py:10`", Place("src/a.py", 10, 10)),
        ("file:///work/a.py:3", Place("file:///work/a.py", 3, 3)),
        ("Berth.moor_ship", Place("Berth.moor_ship")),
    ],
)
def test_places_are_parsed_in_all_usual_forms(given: str, place: Place) -> None:
    assert place_named(given) == place


@pytest.mark.parametrize("given", ["src/a.py:0", "src/a.py:40-10"])
def test_impossible_lines_are_refused(given: str) -> None:
    with pytest.raises(InvalidRequestError, match="lines count from 1"):
        place_named(given)


def test_cursor_is_short_and_valid_for_one_question() -> None:
    cursor = cursor_of(((1500, 9), (3000, 0)), "how", ["src"])
    assert len(cursor) < 20
    assert steps_of(cursor, "how", ["src"]) == ((1500, 9), (3000, 0))
    assert steps_of(f"cursor={cursor}", "how", ["src"])
    with pytest.raises(InvalidRequestError, match="another question"):
        steps_of(cursor, "why", ["src"])
