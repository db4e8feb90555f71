"""The listed tools: names, manuals, schemas, and how few tokens they take in a context."""

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


def as_listed(tool: Tool) -> dict[str, Any]:
    """Return the tool as in `tools/list`."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {"readOnlyHint": True},
    }


def test_tools_cover_every_question_and_stage() -> None:
    assert [*TOOLS] == [*DEFAULT, "related", *STAGE_NAMES]
    assert [*AgentTool] == [*DEFAULT, "related", "stages", "all"]


def test_default_tools_and_instructions_are_short() -> None:
    assert len(json.dumps([as_listed(tool) for tool in listed(())])) < 4_050
    assert len(INSTRUCTIONS) <= 500


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ((), [*DEFAULT]),
        (("read", "search"), ["search", "read"]),
        (("stages",), STAGE_NAMES),
        (("related", "stages"), ["related", *STAGE_NAMES]),
        (("all",), [*TOOLS]),
    ],
)
def test_tools_are_listed_by_name_and_group(given: tuple[str, ...], names: list[str]) -> None:
    assert [tool.name for tool in listed(given)] == names


@pytest.mark.parametrize(("given", "meant"), [("serch", "search"), ("stage", "stages"), ("alls", "all")])
def test_listing_suggests_the_nearest_name(given: str, meant: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"did you mean {meant}"):
        listed((given,))


@pytest.mark.parametrize("spelled", ["build_answer_plan", "buildAnswerPlan", "build-answer-plan"])
def test_tools_can_be_called_in_other_spellings(spelled: str) -> None:
    assert tool_named(spelled).name == "build_answer_plan"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("serch", "did you mean search"),
        ("refrences", "did you mean references"),
        ("zzzzzz", ", ".join(TOOLS)),
    ],
)
def test_call_suggests_the_nearest_name_or_all(given: str, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        tool_named(given)


@each_tool
def test_manual_is_short(tool: Tool) -> None:
    # Azure's OpenAI and older models refuse longer ones. Claude Code cuts off at 2,048.
    assert len(tool.description) <= 1_024


def test_instructions_say_how_to_ask_and_when_to_use_grep() -> None:
    assert "one discover" in INSTRUCTIONS
    assert "all of them in one call" in INSTRUCTIONS
    assert "grep" in INSTRUCTIONS


@pytest.mark.parametrize("name", [name for name in MANUALS if name != "status"])
def test_manual_has_examples_of_several_kinds(name: str) -> None:
    examples = MANUALS[name].examples
    # The only example of `read` has places of several kinds.
    assert len(examples) >= 2 or len(examples[0]["path"]) >= 2
    for arguments in examples:
        assert arguments.keys() <= TOOLS[name].input_schema["properties"].keys()
        assert json.dumps(arguments, ensure_ascii=False) in TOOLS[name].description


def values_of(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the schemas of all values in a schema, each with its place."""
    yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from values_of(inner, f"{place}.{name}")
    if "items" in schema:
        yield from values_of(schema["items"], f"{place}[]")


PLAIN = set(
    "type properties required additionalProperties items enum description default minimum maximum minItems "
    "maxItems minLength maxLength pattern format".split()
)
"""Keywords that the APIs of the large models and the clients before them accept, or ignore without harm."""


@each_tool
def test_arguments_have_one_type_and_no_alternatives(tool: Tool) -> None:
    for place, schema in values_of(tool.input_schema, tool.name):
        assert isinstance(schema.get("type"), str), place
        assert set(schema) <= PLAIN, place
        assert schema.get("default", "") is not None, place
        assert schema["type"] != "array" or "items" in schema, place


@pytest.mark.parametrize("text", [INSTRUCTIONS, *(tool.description for tool in TOOLS.values())])
def test_manuals_never_advise_to_index(text: str) -> None:
    assert not re.search(r"cairn index|re-?index|index (?:it|again|anew)", text, re.IGNORECASE)
