"""The OpenAPI description is valid and complete, and its schemas fit the protocol's classes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import schemathesis

from cairn.engine.methods import METHODS
from cairn.http.asgi import ROUTES
from cairn.http.openapi import description
from cairn.http.refusals import CODES
from cairn.schema.convert import structure, unstructure


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(description())
    return loaded


def test_schemathesis_loads_every_operation(document: dict[str, Any]) -> None:
    schema = schemathesis.openapi.from_dict(document)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) == len(METHODS) + len(["GET of status and collections"]) + 1 + 4


def test_schemas_are_valid(document: dict[str, Any]) -> None:
    for described in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(described)


def test_every_method_has_a_path(document: dict[str, Any]) -> None:
    described = {path.removeprefix("/api/v1/") for path in document["paths"] if path.startswith("/api/v1/")}
    assert described == set(ROUTES)
    assert {"discover", "build_answer_plan", "fetch_page", "reset_feedback"} <= described


def test_references_have_targets(document: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for each in value.values() for found in references(each)]
        return [found for each in value for found in references(each)] if isinstance(value, list) else []

    for reference in references(document):
        place: Any = document
        for key in reference.removeprefix("#/").split("/"):
            place = place[key]
        assert place


def test_streaming_methods_describe_events(document: dict[str, Any]) -> None:
    for route, method in ROUTES.items():
        answered = document["paths"][f"/api/v1/{route}"]["post"]["responses"]["200"]["content"]
        assert ("text/event-stream" in answered) is method.streams, route
    assert "DiscoverProgress" in document["components"]["schemas"]


def test_methods_describe_every_error(document: dict[str, Any]) -> None:
    statuses = {str(status) for status, _ in CODES.values()} - {"404"}
    for path, operations in document["paths"].items():
        if path.startswith("/api/v1/"):
            assert statuses <= set(operations["post"]["responses"]), path


@pytest.mark.parametrize("name", sorted(METHODS))
def test_defaults_of_the_schema_are_valid_params(document: dict[str, Any], name: str) -> None:
    params = METHODS[name].params_class()
    schema = document["components"]["schemas"][params.__name__]
    optional = {
        key: shape["default"] for key, shape in schema.get("properties", {}).items() if "default" in shape
    }
    if not schema.get("required"):
        one_of_several = {"references": {"symbol": "Berth"}}.get(name, {})
        taken = unstructure(structure({**optional, **one_of_several}, params))
        assert taken == unstructure(structure(one_of_several, params))
    validator = jsonschema.Draft202012Validator(
        {**schema, "components": document["components"], "required": []}
    )
    validator.validate(optional)
