"""Reads the arguments of a tool. It tolerates what models write, and its errors say what the tool accepts.

The listed names are in snake_case; the camelCase names of the protocol are accepted as well. Null counts as
absent, because some clients make models fill in every argument. A number may be written as a string.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from cairn.errors import InvalidRequestError
from cairn.schema.convert import camel_case, snake_case, structure
from cairn.text.nearest import nearest

T = TypeVar("T")

WORKSPACE = "workspace"
"""The argument of every tool that selects one of several open folders."""


def without_nulls(value: Any) -> Any:
    """Return JSON data without the members that are null."""
    if isinstance(value, Mapping):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def workspace_of(arguments: Mapping[str, Any]) -> str:
    """Return the open folder that the arguments name, or "". Raise InvalidRequestError for another type."""
    workspace = arguments.get(WORKSPACE)
    if workspace is not None and not isinstance(workspace, str):
        raise InvalidRequestError(WORKSPACE, "expected a string: the name, path or URI of an open folder")
    return workspace or ""


def arguments_of(given: Mapping[str, Any], cls: type[T]) -> T:
    """Return the arguments as an object of the attrs class `cls`. Raise InvalidRequestError."""
    hints = typing.get_type_hints(cls)
    data = {camel_case(name): value for name, value in without_nulls(given).items() if name != WORKSPACE}
    for attribute in attrs.fields(cls):  # type: ignore[arg-type]
        name = camel_case(attribute.name)
        if isinstance(data.get(name), str):
            data[name] = _parsed(data[name], hints[attribute.name])
    return structure(data, cls)


def require_words(field: str, text: str) -> None:
    """Raise InvalidRequestError if `text` is empty."""
    if not text.strip():
        raise InvalidRequestError(field, "is empty; ask a question or name a symbol")


def _parsed(text: str, hint: Any) -> Any:
    """Return the value that a string represents if `hint` is not a string type, else the string itself."""
    if hint in (int, int | None) and text.strip().removeprefix("-").isdecimal() and len(text) < 12:
        return int(text)
    if hint is bool and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if typing.get_origin(hint) is not tuple or not text.lstrip().startswith("["):
        return text
    try:
        read = json.loads(text)
    except ValueError:  # A glob may begin with a bracket.
        return text
    return read if isinstance(read, list) else text


def error_with_usage(
    problem: InvalidRequestError, tool: str, takes: Mapping[str, Any], arguments: Any, example: str
) -> InvalidRequestError:
    """Return the error with the most similar argument, all arguments of the tool, and an example."""
    known, required = list(takes["properties"]), takes.get("required", [])
    names = list(arguments) if isinstance(arguments, Mapping) else []
    slips = [
        name for name in names if snake_case(name) not in known and str(problem).endswith("unknown field")
    ]
    meant = [match for name in slips[:3] if (match := nearest(snake_case(name), known))]
    hint = f" Did you mean {' and '.join(meant)}?" if meant else ""
    listed = ", ".join(f"{name} (required)" if name in required else name for name in known)
    takes_what = f"{tool} takes {listed}" if listed else f"{tool} takes no arguments"
    shown = str(problem)
    listed_name = snake_case(problem.field.removeprefix("filter."))
    if listed_name in known:
        shown = listed_name + shown.removeprefix(problem.field)
    end = "" if shown.endswith((".", "?")) else "."
    explained = InvalidRequestError("", f"{shown}{end}{hint} {takes_what}. Example: {example}")
    explained.field = problem.field
    return explained
