"""JSON schemas (draft 2020-12) of attrs classes, as `cairn.schema.convert` reads and writes them.

The descriptions are the docstrings of the classes and the strings under their fields. The limits are those
declared beside the fields (`cairn.schema.bounds`).
"""

from __future__ import annotations

import ast
import datetime
import enum
import functools
import inspect
import re
import threading
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, cast

import attrs
from attrs import evolve, field, frozen

from cairn.schema.bounds import Bounds, bounds_of
from cairn.schema.convert import camel_case, unstructure

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFS = "#/$defs/"
COMPONENTS = "#/components/schemas/"
"""The path of definitions in an OpenAPI document."""

KeyStyle = Literal["camel", "snake"]
Schema = dict[str, Any]

_PRIMITIVES: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime.datetime: {"type": "string", "format": "date-time"},
}


@frozen
class Describer:
    """Describes classes, and adds their definitions to one document.

    In a request (`whole` is false), fields with a default may be absent, and one string may replace a list of
    strings. In an answer (`whole`), every field is present. If the two forms of a class differ, the second
    one in a document is called `Whole…` or `Partial…`.
    """

    definitions: dict[str, Any] = field(hash=False)
    """The described classes and enumerations, by name."""
    key_style: KeyStyle = field(default="camel", kw_only=True)
    whole: bool = field(default=False, kw_only=True)
    prefix: str = field(default=DEFS, kw_only=True)
    """The prefix of references to the definitions."""
    bounds: Callable[[attrs.Attribute[Any]], Bounds | None] = field(default=bounds_of, kw_only=True)

    def object(self, cls: type[Any]) -> Schema:
        """Return the schema of an attrs class itself."""
        hints, docs = typing.get_type_hints(cls), field_docs(cls)  # type: ignore[arg-type] # mypy takes classes for unhashable
        # Texts use the same key_style for the class's fields.
        names = {
            each.name: camel_case(each.name) if self.key_style == "camel" else each.name
            for each in attrs.fields(cls)
        }
        properties, required = {}, []
        for attribute in attrs.fields(cls):
            name = names[attribute.name]
            shape = self.type(hints[attribute.name], self.bounds(attribute))
            if doc := docs.get(attribute.name):
                shape["description"] = _CODE.sub(lambda code: f"`{names.get(code[1], code[1])}`", _shown(doc))
            if self.whole or attribute.default is attrs.NOTHING:
                required.append(name)
            elif (default := self._default(attribute)) is not _NESTED:
                shape["default"] = default
            properties[name] = shape
        described: Schema = {"type": "object", "properties": properties}
        if doc := class_doc(cls):
            described = {"description": _shown(doc), **described}
        if required:
            described["required"] = required
        return {**described, "additionalProperties": False}

    def _reference(self, cls: type[Any]) -> Schema:
        name, described = cls.__name__, self._described(cls)
        if self.definitions.get(name, described) != described:
            other = evolve(self, whole=not self.whole, definitions=dict(self.definitions))
            if other._described(cls) == self.definitions[name]:
                name = f"{'Whole' if self.whole else 'Partial'}{name}"
        if self.definitions.setdefault(name, described) != described:
            raise ValueError(f"two different classes are called {cls.__name__}")
        return {"$ref": self.prefix + name}

    def _described(self, cls: type[Any]) -> Schema:
        if not issubclass(cls, enum.StrEnum):
            return self.object(cls)
        described: Schema = {"type": "string", "enum": [member.value for member in cls]}
        return {"description": _shown(doc), **described} if (doc := class_doc(cls)) else described

    def type(self, hint: Any, bounds: Bounds | None = None) -> Schema:
        """Return the schema of a value of the type `hint`. For a class it is a reference.

        Raise ValueError if two different classes have the same name.
        """
        if hint is Any or hint is object:
            return {}
        if hint in _PRIMITIVES:
            return {**_PRIMITIVES[hint], **_limits(hint, bounds)}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            return self._union(arguments, bounds)
        if origin is tuple:
            return self._list(arguments, bounds)
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.type(arguments[1], bounds) or True}
        if isinstance(hint, type) and (attrs.has(hint) or issubclass(hint, enum.StrEnum)):
            return self._reference(hint)
        raise TypeError(f"no JSON schema for {hint}")

    def _union(self, arguments: tuple[Any, ...], bounds: Bounds | None) -> Schema:
        shapes = [self.type(each, bounds) for each in arguments if each is not types.NoneType]
        if types.NoneType not in arguments:
            return {"anyOf": shapes}
        if len(shapes) == 1 and isinstance(shapes[0].get("type"), str):
            return {**shapes[0], "type": [shapes[0]["type"], "null"]}
        # Nested `anyOf` are merged.
        flat = [each for shape in shapes for each in (shape["anyOf"] if [*shape] == ["anyOf"] else [shape])]
        return {"anyOf": [*flat, {"type": "null"}]}

    def _list(self, arguments: tuple[Any, ...], bounds: Bounds | None) -> Schema:
        item = self.type(arguments[0], bounds)
        shape: Schema = {"type": "array", "items": item}
        if arguments[-1] is not Ellipsis:
            return {**shape, "minItems": len(arguments), "maxItems": len(arguments)}
        if bounds and bounds.max_items is not None:
            shape["maxItems"] = bounds.max_items
        is_text = isinstance(arguments[0], type) and issubclass(arguments[0], str)
        return {"anyOf": [shape, item]} if is_text and not self.whole else shape

    def _default(self, attribute: attrs.Attribute[Any]) -> Any:
        default = attribute.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = cast(Any, default).factory()
        return _NESTED if attrs.has(type(default)) else unstructure(default)


_NESTED: Any = object()
"""Means that the default of a field is an instance of a class, whose own fields have defaults."""


def _limits(hint: Any, bounds: Bounds | None) -> Schema:
    """Return the keywords for the limits of a string or a number."""
    keywords: Schema = {}
    if bounds and hint is str:
        keywords = {"maxLength": bounds.max_chars, "pattern": bounds.pattern}
    elif bounds and hint in (int, float):
        keywords = {"minimum": bounds.low, "maximum": bounds.high}
    return {keyword: value for keyword, value in keywords.items() if value is not None}


def _shown(doc: str) -> str:
    """Return the paragraphs of a docstring without the line breaks inside them."""
    return "\n\n".join(" ".join(part.split()) for part in doc.split("\n\n"))


def class_doc(cls: type[Any]) -> str:
    """Return the class's own docstring; "" if it has none."""
    doc = cls.__dict__.get("__doc__") or ""
    return "" if doc.startswith("Method generated") else inspect.cleandoc(doc)


_parsing = threading.Lock()
_TRIES = 5
"""The maximum number of attempts. Two threads that parse at the same time may get a SystemError in Python
3.11 and 3.12 (CPython's issue 106905). Cairn's threads take a lock, but a library's thread does not."""


@functools.cache
def field_docs(cls: Hashable) -> Mapping[str, str]:
    """Return the docstrings of a class's fields, by name."""
    assert isinstance(cls, type)
    body = _definition(cls)
    docs = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = following.value if isinstance(following, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs[statement.target.id] = inspect.cleandoc(value.value)
    return docs


def _definition(cls: type) -> ast.ClassDef:
    for left in reversed(range(_TRIES)):
        try:
            with _parsing:
                (body,) = ast.parse(inspect.getsource(cls)).body
        except SystemError:
            if not left:
                raise
        else:
            assert isinstance(body, ast.ClassDef)
            return body
    raise AssertionError("it returned or raised")


_CODE = re.compile(r"`(\w+)`")
