"""Strict conversion between JSON-like data and attrs classes, shared by settings and every front.

Keys are camelCase in the data and snake_case in the classes. Conversion never guesses: a string is not a
number, an unknown key is an error, and every error names its field. Lone surrogates are replaced.
"""

from __future__ import annotations

import datetime
import enum
import re
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.v import transform_error

from cairn.errors import InvalidRequestError
from cairn.schema.bounds import bounds_of
from cairn.text.unicode import well_formed

T = TypeVar("T")

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places in camelCase where a word begins; `focusTopNCollections` has five words."""
_OF_CLASS = "\0"
"""The prefix of an error message from a class's own check while it passes through cattrs."""
_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}


def structure(data: Any, cls: type[T]) -> T:
    """Return `data` as an instance of the attrs class `cls`. Raise InvalidRequestError naming the field."""
    try:
        return _converter.structure(data, cls)
    except ValueError as error:
        raise InvalidRequestError("", str(error)) from None
    except cattrs.ClassValidationError as error:
        raise _first_problem(error) from None


def structure_value(value: Any, hint: Any) -> Any:
    """Return `value` as the type `hint`. Raise ValueError, which says what was expected."""
    try:
        return _converter.structure(value, hint)
    except cattrs.IterableValidationError as error:
        raise ValueError(str(_first_problem(error))) from None


def unstructure(value: Any) -> Any:
    """Return an attrs instance, or a container of them, as JSON data with camelCase keys."""
    return _converter.unstructure(value)


def camel_case(name: str) -> str:
    """Convert `max_file_bytes` to `maxFileBytes`."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def snake_case(key: str) -> str:
    """Convert `maxFileBytes` to `max_file_bytes`; snake_case stays as it is."""
    return _WORD_START.sub("_", key).replace("-", "_").lower()


def _first_problem(error: cattrs.BaseValidationError) -> InvalidRequestError:
    def describe(problem: BaseException, _: Any) -> str:
        if isinstance(problem, cattrs.ForbiddenExtraKeysError):
            return "unknown field " + ", ".join(sorted(problem.extra_fields))
        if isinstance(problem, KeyError):
            return "is required"
        is_of_class = isinstance(problem, InvalidRequestError) and problem.field
        return f"{_OF_CLASS}{problem}" if is_of_class else str(problem)

    message, _, place = transform_error(error, format_exception=describe)[0].rpartition(" @ $")
    field = ".".join(camel_case(part) for part in place.lstrip(".").split(".") if part)
    if message.startswith(_OF_CLASS):  # The message of a class's own check names its field.
        own_field, _, message = message.removeprefix(_OF_CLASS).partition(": ")
        field = f"{field}.{own_field}" if field else own_field
    if message.startswith("unknown field "):
        unknown = message.removeprefix("unknown field ")
        field, message = (f"{field}.{unknown}" if field else unknown), "unknown field"
    return InvalidRequestError(field, message)


def _scalar_hook(value: Any, expected: type[Any]) -> Any:
    if expected is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"expected a number, got one of {value.bit_length():,} bits") from None
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise ValueError(f"expected {_TYPE_NAMES[expected]}, got {_shown(value)}")
    if value != value:
        raise ValueError("expected a number, got NaN")
    return well_formed(value) if expected is str else value


def _enum_hook(value: Any, cls: type[enum.StrEnum]) -> enum.StrEnum:
    allowed = [member.value for member in cls]
    if value not in allowed:
        raise ValueError(f"expected one of {', '.join(map(str, allowed))}; got {_shown(value)}")
    return cls(value)


def _sequence_hook(value: Any, hint: Any) -> tuple[Any, ...]:
    """Convert a list to a tuple. A single string is accepted as a list of strings."""
    item = typing.get_args(hint)[0]
    if isinstance(value, str) and issubclass(item, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a list, got {_shown(value)}")
    return tuple(_converter.structure(each, item) for each in value)


def _dict_hook(value: Any, hint: Any) -> dict[str, Any]:
    """Convert an object with arbitrary keys and values of one type."""
    _, item = typing.get_args(hint)
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, got {_shown(value)}")
    found = {}
    for key, each in value.items():
        if not isinstance(key, str):
            raise ValueError(f"expected a string as a key, got {_shown(key)}")
        try:
            found[key] = structure_value(each, item)
        except ValueError as problem:
            raise ValueError(f"{key}: {problem}") from None
    return found


def _is_tuple(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple


def _is_dict(hint: Any) -> bool:
    return typing.get_origin(hint) in (dict, Mapping)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def json_name(attribute: attrs.Attribute[Any]) -> str:
    """Return the JSON key of an attrs field: the `json` of its metadata, or else its name in camelCase."""
    return str(attribute.metadata.get("json") or camel_case(attribute.name))


def _names(cls: type[Any]) -> dict[str, Any]:
    return {each.name: override(rename=json_name(each)) for each in attrs.fields(cls)}


def _class_structure(cls: type[Any]) -> Any:
    attrs.resolve_types(cls)
    from_mapping = make_dict_structure_fn(cls, _converter, _cattrs_forbid_extra_keys=True, **_names(cls))
    limits = [(each.name, bounds) for each in attrs.fields(cls) if (bounds := bounds_of(each))]

    def hook(value: Any, hint: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"expected an object, got {_shown(value)}")
        made = from_mapping(value, hint)
        for name, bounds in limits:
            if problem := bounds.problem_with(getattr(made, name)):
                raise InvalidRequestError(camel_case(name), problem)
        return made

    return hook


def _class_unstructure(cls: type[Any]) -> Any:
    attrs.resolve_types(cls)
    return make_dict_unstructure_fn(cls, _converter, **_names(cls))


_converter = cattrs.Converter(unstruct_collection_overrides={tuple: list})
for _primitive in (bool, int, float, str):
    _converter.register_structure_hook(_primitive, _scalar_hook)
_converter.register_structure_hook(enum.StrEnum, _enum_hook)
_converter.register_structure_hook_func(_is_tuple, _sequence_hook)
_converter.register_structure_hook_func(_is_dict, _dict_hook)
_converter.register_structure_hook_factory(attrs.has, _class_structure)
_converter.register_unstructure_hook_factory(attrs.has, _class_unstructure)
_converter.register_unstructure_hook(datetime.datetime, lambda moment: moment.isoformat())
_converter.register_unstructure_hook(enum.StrEnum, lambda member: member.value)
