"""The tools that agents are shown: names, manuals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("mcp")

from cairn.engine.methods import STAGES
from cairn.errors import InvalidRequestError
from cairn.mcp.tools import INSTRUCTIONS, TOOLS, Tool, unknown
from cairn.schema.convert import structure

each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
CHARS_A_TOKEN = 4


def examples(tool: Tool) -> Iterator[Any]:
    """The JSON objects of a manual that stand as an example."""
    for match in re.finditer(r"^- [^{\n]*|Example: ", tool.description, re.MULTILINE):
        if tool.description[match.end() : match.end() + 1] == "{":
            yield json.JSONDecoder().raw_decode(tool.description, match.end())[0]


def test_there_is_a_tool_for_every_question_and_every_stage() -> None:
    questions = {"search", "fetch_page", "discover", "related", "references", "status"}
    stages = {re.sub(r"(?=[A-Z])", "_", name).lower() for name in STAGES}
    assert set(TOOLS) == {f"cairn_{name}" for name in questions | stages}


@each_tool
def test_a_manual_is_short_and_its_examples_are_taken(tool: Tool) -> None:
    # What Azure's OpenAI refuses beyond, and older models everywhere. Claude Code cuts off at 2,048.
    assert len(tool.description) <= 1_024
    for arguments in examples(tool):
        arguments.pop("workspace", None)
        structure(arguments, tool.method.params_class())


@pytest.mark.parametrize(
    "name", ["cairn_search", "cairn_discover", "cairn_fetch_page", "cairn_related", "cairn_references"]
)
def test_questions_are_taught_by_several_examples_of_different_kinds(name: str) -> None:
    shown = list(examples(TOOLS[name]))
    assert len(shown) >= 2
    assert len({tuple(sorted(arguments)) for arguments in shown}) >= 2


@pytest.mark.parametrize("text", [INSTRUCTIONS, *(tool.description for tool in TOOLS.values())])
def test_tools_that_a_manual_speaks_of_are_there(text: str) -> None:
    assert set(re.findall(r"cairn_\w+", text)) <= set(TOOLS)


@each_tool
def test_a_schema_of_arguments_is_that_of_the_params_and_refers_to_nothing(tool: Tool) -> None:
    takes = tool.input_schema
    assert takes["type"] == "object"
    assert takes["additionalProperties"] is False
    assert "workspace" in takes["properties"]
    assert "$ref" not in json.dumps(takes)


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
    for place, schema in values_of(tool.input_schema, tool.name):
        assert isinstance(schema.get("type"), str), place
        assert set(schema) <= PLAIN, place
        assert schema.get("default", "") is not None, place
        assert schema["type"] != "array" or "items" in schema, place


def test_one_value_is_taken_where_a_list_is_shown() -> None:
    filters = TOOLS["cairn_search"].input_schema["properties"]["filter"]["properties"]
    assert filters["language"]["type"] == "array"
    taken: Any = structure(
        {"query": "x", "filter": {"language": "go"}}, TOOLS["cairn_search"].method.params_class()
    )
    assert taken.filter.language == ("go",)


def test_all_tools_together_take_a_modest_part_of_a_context_window() -> None:
    """What a model is shown is all but the output schemas; 8,000 tokens are 4 % of a window of 200,000."""
    shown = [(tool.name, tool.description, tool.input_schema) for tool in TOOLS.values()]
    assert len(json.dumps(shown)) / CHARS_A_TOKEN < 8_000


def test_an_argument_with_a_slip_is_named_with_the_one_that_is_meant() -> None:
    tool = TOOLS["cairn_search"]
    with pytest.raises(InvalidRequestError) as refused:
        structure({"query": "x", "limitt": 3}, tool.method.params_class())
    text = tool.remedy(refused.value, {"query": "x", "limitt": 3})
    assert "limitt" in text
    assert "Did you mean limit?" in text
    assert "query (required)" in text


@pytest.mark.parametrize(
    ("given", "meant"),
    [("cairn_serch", "cairn_search"), ("search", "cairn_search"), ("cairn_fetchpage", "cairn_fetch_page")],
)
def test_a_tool_with_a_slip_in_its_name_is_named_with_the_one_that_is_meant(given: str, meant: str) -> None:
    assert f"did you mean {meant}?" in unknown(given)


def test_a_name_that_is_nothing_like_a_tool_gets_the_list_of_all() -> None:
    assert all(name in unknown("zzzzzz") for name in TOOLS)
