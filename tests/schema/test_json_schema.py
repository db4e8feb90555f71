"""JSON schemas of classes agree with conversion: they accept and refuse the same data."""

from __future__ import annotations

import enum
import importlib
import json
import math
import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import pytest
from attrs import field, frozen
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cairn import protocol
from cairn.commands import cli
from cairn.errors import InvalidRequestError
from cairn.schema.bounds import at_most, within
from cairn.schema.convert import structure, unstructure
from cairn.schema.json_schema import COMPONENTS, Describer, KeyStyle
from cairn.settings.layers import overlay
from cairn.settings.shown import settings_schema
from cairn.settings.tree import Settings, leaves


class Colour(enum.StrEnum):
    """The colour of a buoy."""

    RED = "red"
    GREEN = "green"


@frozen
class Buoy:
    """A mark
    in the water.

    It floats.
    """

    name: str = field(metadata=at_most(chars=5, pattern=r"\S"))
    """The name of
    the buoy."""
    colour: Colour
    weight_kg: float = field(default=1, metadata=within(0, 9.5))


@frozen
class Chart:
    buoys: tuple[Buoy, ...]
    scale: int | None = field(default=None, metadata=within(1, 10))
    first: Buoy | None = None
    words: tuple[str, ...] = field(default=(), metadata=at_most(chars=3, items=2))
    colours: tuple[Colour, ...] | None = None
    depths: Mapping[str, float] = field(factory=dict)
    lines: tuple[int, int] | None = None
    rest: dict[str, Any] = field(factory=dict)
    anything: Any = None
    made: datetime | None = None


REF = {"$ref": "#/$defs/Buoy"}
COLOUR = {"$ref": "#/$defs/Colour"}


def test_describer_shows_types_texts_defaults_and_limits() -> None:
    definitions: dict[str, Any] = {}
    described = Describer(definitions).object(Chart)
    word = {"type": "string", "maxLength": 3}
    assert described == {
        "type": "object",
        "properties": {
            "buoys": {"type": "array", "items": REF},
            "scale": {"type": ["integer", "null"], "minimum": 1, "maximum": 10, "default": None},
            "first": {"anyOf": [REF, {"type": "null"}], "default": None},
            "words": {"anyOf": [{"type": "array", "items": word, "maxItems": 2}, word], "default": []},
            "colours": {
                "anyOf": [{"type": "array", "items": COLOUR}, COLOUR, {"type": "null"}],
                "default": None,
            },
            "depths": {"type": "object", "additionalProperties": {"type": "number"}, "default": {}},
            "lines": {
                "type": ["array", "null"],
                "items": {"type": "integer"},
                "minItems": 2,
                "maxItems": 2,
                "default": None,
            },
            "rest": {"type": "object", "additionalProperties": True, "default": {}},
            "anything": {"default": None},
            "made": {"type": ["string", "null"], "format": "date-time", "default": None},
        },
        "required": ["buoys"],
        "additionalProperties": False,
    }
    assert definitions == {
        "Buoy": {
            "description": "A mark in the water.\n\nIt floats.",
            "type": "object",
            "properties": {
                "name": {
                    "type": "string",
                    "maxLength": 5,
                    "pattern": r"\S",
                    "description": "The name of the buoy.",
                },
                "colour": COLOUR,
                "weightKg": {"type": "number", "minimum": 0, "maximum": 9.5, "default": 1},
            },
            "required": ["name", "colour"],
            "additionalProperties": False,
        },
        "Colour": {"description": "The colour of a buoy.", "type": "string", "enum": ["red", "green"]},
    }


def test_answer_requires_every_field() -> None:
    definitions: dict[str, Any] = {}
    described = Describer(definitions, whole=True, prefix=COMPONENTS, key_style="snake").object(Chart)
    assert described["required"] == [*described["properties"]]
    assert described["properties"]["words"]["type"] == "array"
    assert described["properties"]["buoys"]["items"] == {"$ref": "#/components/schemas/Buoy"}
    assert "weight_kg" in definitions["Buoy"]["required"]


@pytest.mark.parametrize(("first", "other"), [(False, "Whole"), (True, "Partial")])
def test_document_has_both_forms_of_a_class(first: bool, other: str) -> None:
    definitions: dict[str, Any] = {}
    for whole in (first, not first, first, not first):
        for cls in (Chart, protocol.Range):
            Describer(definitions, whole=whole).type(cls)
    assert set(definitions) == {
        *("Chart", "Buoy", "Colour", "Range", "Position"),
        *(f"{other}Chart", f"{other}Buoy"),  # ranges are the same in both
    }
    assert (definitions["Chart"]["required"] == ["buoys"]) is not first
    buoys = definitions[f"{other}Chart"]["properties"]["buoys"]
    assert buoys["items"] == {"$ref": f"#/$defs/{other}Buoy"}


@frozen
class OtherBullet:
    weight: float


OtherBullet.__name__ = "Bullet"


def test_describer_refuses_two_classes_of_one_name() -> None:
    definitions: dict[str, Any] = {}
    Describer(definitions).type(protocol.Bullet)
    listed = Describer(definitions, whole=True).type(tuple[protocol.Bullet, ...])
    assert listed == {"type": "array", "items": {"$ref": "#/$defs/Bullet"}}
    with pytest.raises(ValueError, match="two different classes are called Bullet"):
        Describer(definitions).type(OtherBullet)


SCHEMA = settings_schema()
CHECK = Draft202012Validator(SCHEMA)


def test_settings_schema_accepts_the_defaults() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(CliRunner().invoke(cli, ["config", "schema"]).stdout) == SCHEMA
    defaults = tree(Settings())
    CHECK.validate({**defaults, "$schema": "cairn.json"})
    assert overlay(Settings(), defaults, "") == (Settings(), [])


def tree(value: Any) -> dict[str, Any]:
    """Return the settings in snake_case, as in TOML."""
    return {
        name: tree(part) if attrs.has(type(part)) else unstructure(part)
        for name in attrs.fields_dict(type(value))
        for part in [getattr(value, name)]
    }


def test_settings_schema_has_defaults_texts_and_limits() -> None:
    for keys, value in leaves(Settings()).items():
        described = SCHEMA
        for key in keys:
            described = described["properties"][key]
            if "$ref" in described and key is not keys[-1]:
                described = SCHEMA["$defs"][described["$ref"].removeprefix("#/$defs/")]
        assert described["default"] == unstructure(value), keys
    deadline = SCHEMA["$defs"]["SearchSettings"]["properties"]["leg_deadline_ms"]
    assert deadline["description"].startswith("The deadline of a leg")
    port = SCHEMA["$defs"]["ServeSettings"]["properties"]["port"]
    assert (port["minimum"], port["maximum"]) == (0, 65_535)
    assert SCHEMA["$defs"]["FormatStyle"]["enum"] == ["markdown", "plain", "json"]


def values_for(hint: Any) -> st.SearchStrategy[Any]:
    """Generate values, most of the type `hint`, inside and outside of its limits."""
    numbers = st.integers(-2, 4) | st.sampled_from([0.5, 1.5, -0.1, 2**40, 70_000, 10**12, math.inf, 10**400])
    arguments = typing.get_args(hint)
    if hint in (int, float):
        fitting = numbers
    elif hint is bool:
        fitting = st.booleans()
    elif hint is str:
        fitting = st.text(max_size=4)
    elif isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        fitting = st.sampled_from([*hint]).map(str) | st.text(max_size=3)
    elif typing.get_origin(hint) is tuple:
        fitting = st.lists(values_for(arguments[0]), max_size=3) | values_for(arguments[0])
    else:
        fitting = st.dictionaries(st.text(max_size=3), values_for(arguments[1]), max_size=2)
    return fitting | st.sampled_from([None, True, "x", 3, 0.5, [], {}, [[]], {"a": 1}])


def tables(cls: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    inside = {name: tables(hint) if attrs.has(hint) else values_for(hint) for name, hint in hints.items()}
    unknown = st.dictionaries(st.sampled_from(["nothing", "x"]), st.integers(), max_size=1)
    names = st.sets(st.sampled_from([*inside]), max_size=2)
    known = names.flatmap(
        lambda chosen: st.fixed_dictionaries({name: inside[name] for name in sorted(chosen)})
    )
    return st.tuples(known, st.just({}) | st.just({}) | unknown).map(lambda parts: parts[0] | parts[1])


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(tables(Settings) | st.sampled_from([{"index": 3}, {"search": []}]))
def test_settings_schema_refuses_exactly_what_warns(values: dict[str, Any]) -> None:
    _, warnings = overlay(Settings(), values, "")
    assert CHECK.is_valid(values) is not bool(warnings), (values, warnings)


MESSAGES = {
    name: cls
    for module in protocol._MODULES
    for name, cls in vars(importlib.import_module(f"cairn.protocol.{module}")).items()
    if name.endswith(("Params", "Answer"))
}
PARAMS = [cls for name, cls in MESSAGES.items() if name.endswith("Params")]
ANSWERS = [cls for name, cls in MESSAGES.items() if name.endswith("Answer")]


@pytest.mark.parametrize("key_style", ["camel", "snake"])
def test_document_describes_the_whole_protocol(key_style: KeyStyle) -> None:
    definitions: dict[str, Any] = {}
    for whole, classes in ((False, PARAMS), (True, ANSWERS)):
        for cls in classes:
            Describer(definitions, whole=whole, key_style=key_style, prefix=COMPONENTS).type(cls)
    Draft202012Validator.check_schema({"components": {"schemas": definitions}})
    named = set(json.dumps(definitions).split('"' + COMPONENTS)[1:])
    assert {each.partition('"')[0] for each in named} <= set(definitions)
    assert {"SearchParams", "SearchAnswer", "CollectionRef", "WholeCollectionRef", "Bullet"} <= set(
        definitions
    )


def is_accepted(cls: Any, data: Any) -> bool:
    try:
        structure(data, cls)
    except InvalidRequestError:
        return False
    return True


RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
PLACE = {"textDocument": {"uri": "file:///a"}, "range": RANGE}
HASH = "0" * 32


@pytest.mark.parametrize(
    ("cls", "data", "ok"),
    [
        (protocol.SearchParams, {"query": "x"}, True),
        (protocol.SearchParams, {}, False),
        (protocol.SearchParams, {"query": "x", "limt": 1}, False),
        (protocol.SearchParams, {"query": "x", "limit": 1, "context": 10, "alpha": 1}, True),
        (protocol.SearchParams, {"query": "x", "limit": 0}, False),
        (protocol.SearchParams, {"query": "x", "exact": True, "limit": 10_001}, False),
        (protocol.SearchParams, {"query": "x", "context": 11}, False),
        (protocol.SearchParams, {"query": "x", "alpha": 1.5}, False),
        (protocol.SearchParams, {"query": "x", "filter": {"type": "code", "path": ["a"]}}, True),
        (protocol.SearchParams, {"query": "x", "filter": {"type": "cod"}}, False),
        (protocol.FeedbackParams, {"query": "x", "contentHash": HASH, "action": "open"}, True),
        (protocol.FeedbackParams, {"query": " ", "contentHash": HASH, "action": "open"}, False),
        (protocol.FeedbackParams, {"query": "x", "contentHash": HASH + "0", "action": "open"}, False),
        (protocol.RelatedParams, {**PLACE, "limit": 200}, True),
        (protocol.RelatedParams, {**PLACE, "limit": 201}, False),
        (protocol.ContextParams, {**PLACE, "budget": 100_000}, True),
        (protocol.ContextParams, {**PLACE, "budget": 100_001}, False),
        (protocol.ContextParams, {**PLACE, "diagnostics": [{"range": RANGE, "message": "", "severity": 5}]}, False),  # noqa: E501
        (protocol.DiscoverParams, {"query": "x", "maxBullets": 1_001}, False),
        (protocol.DiscoverParams, {"query": "x", "config": {"broadK": 3}}, True),
        (protocol.FilterCollectionsParams, {"query": "x", "include": ["a"] * 101}, False),
        (protocol.FilterCollectionsParams, {"query": "x", "include": "a" * 1_001}, False),
        (protocol.FilterCollectionsParams, {"query": "x", "collections": [{"name": "a"}] * 1_001}, False),
        (protocol.ScoreCollectionsParams, {"queryTerms": ["a"] * 101}, False),
        (protocol.ScoreCollectionsParams, {"collections": [{"name": "a", "vectorCount": -1}]}, False),
        (protocol.ScoreCollectionsParams, {"collections": [{"name": "a", "tags": ["x" * 1_001]}]}, False),
        (protocol.BroadDiscoveryParams, {"queries": ["x"], "k": 500}, True),
        (protocol.BroadDiscoveryParams, {"queries": ["x"], "k": 501}, False),
        (protocol.BroadDiscoveryParams, {"queries": ["x"] * 101}, False),
        (protocol.SemanticFocusParams, {"collection": {"name": "a"}, "queries": [], "k": -1}, False),
        (protocol.CompressEvidenceParams, {"chunks": [], "maxBullets": 1_001}, False),
        (protocol.CompressEvidenceParams, {"chunks": [], "maxPerDoc": 501}, False),
    ],
)  # fmt: skip
def test_request_schema_accepts_what_conversion_accepts(cls: Any, data: Any, ok: bool) -> None:
    definitions: dict[str, Any] = {}
    described = Describer(definitions).object(cls)
    assert is_accepted(cls, data) is ok
    assert Draft202012Validator({**described, "$defs": definitions}).is_valid(data) is ok
