"""Strict conversion between JSON data and classes."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.errors import InvalidRequestError
from cairn.protocol import DiscoverParams, SearchFilter, SearchParams
from cairn.protocol.search_messages import ChunkType
from cairn.schema.convert import structure, structure_value, unstructure


def test_absent_fields_get_defaults() -> None:
    assert structure({"query": "routing"}, SearchParams) == SearchParams(query="routing")


def test_structure_reads_camel_case_and_nested_objects() -> None:
    params = structure({"query": "x", "maxBullets": 3, "config": {"broadK": 5}}, DiscoverParams)
    assert (params.max_bullets, params.config) == (3, {"broadK": 5})


@pytest.mark.parametrize("value", ["code", ["code"]])
def test_structure_accepts_a_string_for_a_list(value: Any) -> None:
    params = structure({"query": "x", "filter": {"type": value}}, SearchParams)
    assert params.filter == SearchFilter(type=(ChunkType.CODE,))


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "query"),
        ({"query": 1}, "query"),
        ({"query": None}, "query"),
        ({"query": "x", "limit": "3"}, "limit"),
        ({"query": "x", "limit": True}, "limit"),
        ({"query": "x", "limit": 2.5}, "limit"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "alpha": 1.1}, "alpha"),
        ({"query": "x", "alpha": float("nan")}, "alpha"),
        ({"query": "x", "alpha": 10**400}, "alpha"),
        ({"query": "x", "context": -1}, "context"),
        ({"query": "x", "limt": 3}, "limt"),
        ({"query": "x", "explain": "yes"}, "explain"),
        ({"query": "x", "filter": 3}, "filter"),
        ({"query": "x", "filter": {"type": ["cod"]}}, "filter.type"),
        ({"query": "x", "filter": {"typ": []}}, "filter.typ"),
        ({"query": "x", "filter": {"path": ["a", 2]}}, "filter.path"),
        ([], ""),
        (None, ""),
        ("query", ""),
    ],
)
def test_error_names_the_field(data: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        structure(data, SearchParams)
    assert error.value.field == field
    assert str(error.value).startswith(field)


def test_unstructure_gives_json_with_camel_case_keys() -> None:
    shown = unstructure(SearchParams(query="x", filter=SearchFilter(type=(ChunkType.CODE,))))
    assert shown["filter"] == {"type": ["code"], "language": [], "path": [], "collection": []}
    assert type(shown["filter"]["type"][0]) is str
    assert "maxBullets" in unstructure(DiscoverParams(query="x"))


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        ({}, dict[str, float], {}),
        ({"file name": 2}, dict[str, float], {"file name": 2.0}),
        ({"a": ["x"]}, dict[str, tuple[str, ...]], {"a": ("x",)}),
        ({"anything": [1, None]}, dict[str, Any], {"anything": [1, None]}),
    ],
)
def test_structure_value_converts_mappings(value: Any, hint: Any, expected: Any) -> None:
    assert structure_value(value, hint) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"file name": "2"}, "file name: expected a number, got '2'"),
        ({"file name": True}, "file name: expected a number, got True"),
        ([], "expected an object"),
        (None, "expected an object"),
    ],
)
def test_error_in_a_mapping_names_the_key(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        structure_value(value, dict[str, float])
