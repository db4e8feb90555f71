"""JSON schemas of the tools, restricted to what every client and model accepts: one `type` per value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from cairn.engine.methods import Method
from cairn.schema.json_schema import Describer

Schema = dict[str, Any]


def arguments_schema(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    """Return the schema of an object with these properties. Others, such as `workspace`, are accepted."""
    shape: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        shape["required"] = list(required)
    return shape


def params_schema(method: Method) -> Schema:
    """Return the schema of a stage's params, without descriptions: agents pass on earlier stages' data."""
    definitions: dict[str, Any] = {}
    schema = Describer(definitions).object(method.params_class())
    shape: Schema = _plain(_inlined(_terse(schema), _terse(definitions)))
    return shape


def answer_schema(method: Method, omitted: Set[str] = frozenset()) -> Schema:
    """Return the schema of a method's answer without the fields in `omitted`."""
    definitions: dict[str, Any] = {}
    schema = Describer(definitions, whole=True).object(method.answer_type())
    schema["properties"] = {
        name: shape for name, shape in schema["properties"].items() if name not in omitted
    }
    schema["required"] = [name for name in schema["required"] if name not in omitted]
    return {**schema, "$defs": definitions} if definitions else schema


def _mapped(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return the schema with `change` applied to each of its objects, inner ones first."""
    if isinstance(schema, list):
        return [_mapped(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return change({key: _mapped(value, change) for key, value in schema.items()})


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return the schema with each reference replaced by its definition."""

    def inline(shape: Schema) -> Schema:
        if "$ref" not in shape:
            return shape
        name = shape.pop("$ref").rpartition("/")[2]
        return {**_inlined(definitions[name], definitions), **shape}

    return _mapped(schema, inline)


def _plain(schema: Any) -> Any:
    """Return the schema with one `type` per value: a list where one item is allowed as well, and never null.

    Gemini's API refuses lists of types, and keys beside `anyOf`; gateways and frameworks drop tools that have
    them. The tools accept the omitted types nevertheless.
    """

    def simplify(shape: Schema) -> Schema:
        if "default" in shape and shape["default"] is None:
            del shape["default"]
        if "anyOf" in shape:
            shape = {**shape.pop("anyOf")[0], **shape}
        if isinstance(shape.get("type"), list):
            shape["type"] = shape["type"][0]
        return shape

    return _mapped(schema, simplify)


def _terse(schema: Any) -> Any:
    """Return the schema without descriptions and defaults."""
    if isinstance(schema, list):
        return [_terse(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    words = ("description", "default")
    return {
        key: {name: _terse(each) for name, each in value.items()} if key == "properties" else _terse(value)
        for key, value in schema.items()
        if key not in words
    }
