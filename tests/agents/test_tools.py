"""The tools that agents are shown: names, manuals, schemas, and how little of a context they take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cairn.agents.manuals import MANUALS
from cairn.agents.tools import DEFAULT, INSTRUCTIONS, TOOLS, Tool, listed, tool_named
from cairn.engine.methods import STAGES
from cairn.errors import InvalidRequestError
from cairn.schema.convert import snake_case
from cairn.settings.tree import AgentTool

each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
STAGE_NAMES = [snake_case(name) for name in STAGES]


def names_of(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools]


def shown(tool: Tool) -> dict[str, Any]:
    """As `tools/list` has it."""
    annotations = {"readOnlyHint": True, "openWorldHint": False}
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": annotations,
    }


def test_there_is_a_tool_for_every_question_and_every_stage() -> None:
    assert [*TOOLS] == [*DEFAULT, "related", *STAGE_NAMES]


def test_the_usual_tools_take_little_of_a_context() -> None:
    assert len(json.dumps([shown(tool) for tool in listed(())])) < 6_000
    assert len(INSTRUCTIONS) <= 900


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ((), [*DEFAULT]),
        (("read", "search"), ["search", "read"]),
        (("cairn_fetch_page",), ["read"]),
        (("stages",), STAGE_NAMES),
        (("related", "stages"), ["related", *STAGE_NAMES]),
        (("all",), [*TOOLS]),
    ],
)
def test_tools_are_listed_by_name_and_by_group(asked: tuple[str, ...], names: list[str]) -> None:
    assert names_of(listed(asked)) == names


def test_settings_name_every_tool_but_the_single_stages() -> None:
    assert [*AgentTool] == [*DEFAULT, "related", "stages", "all"]


@pytest.mark.parametrize(("given", "meant"), [("serch", "search"), ("stage", "stages"), ("al", "all")])
def test_a_slip_among_the_names_to_list_is_named_with_what_is_meant(given: str, meant: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"did you mean {meant}"):
        listed((given,))


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("cairn_search", "search"),
        ("cairn_fetch_page", "read"),
        ("fetchPage", "read"),
        ("cairn_references", "references"),
        ("cairn_build_answer_plan", "build_answer_plan"),
        ("buildAnswerPlan", "build_answer_plan"),
    ],
)
def test_tools_are_called_by_their_former_names(former: str, name: str) -> None:
    assert tool_named(former).name == name


@pytest.mark.parametrize(
    ("given", "meant"), [("cairn_serch", "search"), ("refrences", "references"), ("fetchpages", "read")]
)
def test_a_tool_with_a_slip_in_its_name_is_named_with_the_one_that_is_meant(given: str, meant: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"did you mean {meant}"):
        tool_named(given)


def test_a_name_that_is_nothing_like_a_tool_gets_the_list_of_all() -> None:
    with pytest.raises(InvalidRequestError, match=", ".join(TOOLS)):
        tool_named("zzzzzz")


@each_tool
def test_a_manual_is_short(tool: Tool) -> None:
    # What Azure's OpenAI refuses beyond, and older models everywhere. Claude Code cuts off at 2,048.
    assert len(tool.description) <= 1_024


def test_manuals_say_when_grep_is_better() -> None:
    assert "grep" in TOOLS["search"].description
    assert "grep" in INSTRUCTIONS


@pytest.mark.parametrize("name", [name for name in MANUALS if name != "status"])
def test_a_manual_teaches_by_examples_of_several_kinds(name: str) -> None:
    examples = MANUALS[name].examples
    assert len({tuple(sorted(each)) for each in examples}) >= 2 or len(examples) >= 2
    for arguments in examples:
        assert arguments.keys() <= TOOLS[name].input_schema["properties"].keys()
        assert json.dumps(arguments, ensure_ascii=False) in TOOLS[name].description


def values_of(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The schemas of all values in a schema, each with its place."""
    yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from values_of(inner, f"{place}.{name}")
    if "items" in schema:
        yield from values_of(schema["items"], f"{place}[]")


PLAIN = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "description", "default", "minimum",
    "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format",
}  # fmt: skip
"""What the APIs of the large models and the clients in front of them take, or leave out without harm."""


@each_tool
def test_each_argument_has_one_type_and_no_alternatives(tool: Tool) -> None:
    assert tool.input_schema["additionalProperties"] is False
    for place, schema in values_of(tool.input_schema, tool.name):
        assert isinstance(schema.get("type"), str), place
        assert set(schema) <= PLAIN, place
        assert schema.get("default", "") is not None, place
        assert schema["type"] != "array" or "items" in schema, place


REINDEXING = re.compile(r"cairn index|re-?index|index (?:it|again|anew)", re.IGNORECASE)


@pytest.mark.parametrize("text", [INSTRUCTIONS, *(tool.description for tool in TOOLS.values())])
def test_no_manual_sends_an_agent_to_index(text: str) -> None:
    assert not REINDEXING.search(text)
