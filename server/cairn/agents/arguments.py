"""Reads the arguments of a tool: kindly, as models write them, and with errors that teach.

Listed names are in snake_case; those of the protocol, in camelCase, are taken as well. Null counts as absent: some clients make
models give every argument, and null is how they give none. A number may be written as a string.
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
"""The argument by which every tool can be asked about one of several open folders."""


def without_nulls(value: Any) -> Any:
    """JSON data without the members that are null."""
    if isinstance(value, Mapping):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def workspace_of(arguments: Mapping[str, Any]) -> str:
    """The open folder that the arguments name; "" where they name none. Raises InvalidRequestError where the name is not a string."""
    workspace = arguments.get(WORKSPACE)
    if workspace is not None and not isinstance(workspace, str):
        raise InvalidRequestError(WORKSPACE, "expected a string: the name, path or URI of an open folder")
    return workspace or ""


def arguments_of(given: Mapping[str, Any], cls: type[T]) -> T:
    """The arguments as an object of the attrs class `cls`. Raises InvalidRequestError naming the argument."""
    hints = typing.get_type_hints(cls)
    data = {camel_case(name): value for name, value in without_nulls(given).items() if name != WORKSPACE}
    for attribute in attrs.fields(cls):  # type: ignore[arg-type]
        name = camel_case(attribute.name)
        if isinstance(data.get(name), str):
            data[name] = _read(data[name], hints[attribute.name])
    return structure(data, cls)


def require_words(field: str, text: str) -> None:
    """Raises InvalidRequestError for a text that is empty."""
    if not text.strip():
        raise InvalidRequestError(field, "is empty; ask a question or name a symbol")


def _read(text: str, hint: Any) -> Any:
    """What a string stands for where none is expected; the string itself where it stands for nothing else."""
    if hint in (int, int | None) and text.strip().removeprefix("-").isdecimal() and len(text) < 12:
        return int(text)
    if hint is bool and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    is_list = typing.get_origin(hint) is tuple and text.lstrip().startswith("[")
    if not is_list:
        return text
    try:
        read = json.loads(text)
    except ValueError:  # a glob may begin so
        return text
    return read if isinstance(read, list) else text


def taught(
    problem: InvalidRequestError, tool: str, takes: Mapping[str, Any], arguments: Any, example: str
) -> InvalidRequestError:
    """The same error with what to do about it: the argument that may be meant, all that there are, and an example."""
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
    taught_problem = InvalidRequestError("", f"{shown}{end}{hint} {takes_what}. Example: {example}")
    taught_problem.field = problem.field
    return taught_problem
