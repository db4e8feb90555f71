"""Writes `editor_client/src/protocol.ts` from `cairn.protocol`, so that the editor's types are those of the schema.

    .venv/bin/python scripts/protocol_types.py

A test compares the two.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from cairn import protocol
from cairn.protocol import (
    context,
    discover,
    feedback,
    indexing,
    page,
    places,
    references,
    related,
    search,
    status,
)
from cairn.schema.convert import camel_case
from cairn.schema.json_schema import class_doc, field_docs

TARGET = Path(__file__).resolve().parent.parent / "editor_client" / "src" / "protocol.ts"

_HEADER = """\
// Written by scripts/protocol_types.py from server/cairn/protocol; change that one.
// Lines are 0-based and ranges end exclusive, as in LSP; paths are relative to their folder, with `/`.
"""
_MODULES = (places, search, feedback, related, references, context, discover, status, page, indexing)
"""All that an editor sends and is sent; it asks for no single stage of discovery."""
_PRIMITIVES = {str: "string", int: "number", float: "number", bool: "boolean", Any: "unknown"}
_WIDTH = 110


def typescript() -> str:
    """The whole file: an interface for each class of the protocol and a union for each enumeration it uses."""
    named = [cls for module in _MODULES for cls in vars(module).values() if _is_own_class(cls)]
    classes = list(dict.fromkeys(part for cls in named for part in reversed(_reachable(cls))))
    enums = sorted({e for cls in classes for e in _enums(cls)}, key=lambda e: e.__name__)
    # What a client sends may leave out all that has a default; what it is sent is always whole.
    sent = {cls for root in classes if root.__name__.endswith("Params") for cls in _reachable(root)}
    # …but for partial results, which leave out what they have nothing to say of.
    sent.add(protocol.DiscoverProgress)
    return "\n".join([_HEADER, *map(_union, enums), *(_interface(cls, cls in sent) for cls in classes)])


def _is_own_class(cls: Any) -> bool:
    own = isinstance(cls, type) and attrs.has(cls) and cls.__module__.startswith(protocol.__name__)
    return own and bool(attrs.fields(cls))


def _union(cls: type[enum.StrEnum]) -> str:
    members = " | ".join(f'"{member.value}"' for member in cls)
    line = f"export type {cls.__name__} = {members};\n"
    if len(line) <= _WIDTH:
        return line
    return f"export type {cls.__name__} =\n" + "\n".join(f'  | "{m.value}"' for m in cls) + ";\n"


def _interface(cls: type[Any], sent: bool) -> str:
    docs = field_docs(cls)
    lines = [*_comment(class_doc(cls), ""), f"export interface {cls.__name__} {{"]
    hints = typing.get_type_hints(cls)
    for attribute in attrs.fields(cls):
        optional = sent and attribute.default is not attrs.NOTHING
        hint = _type(hints[attribute.name], nullable=not optional)
        lines += _comment(docs.get(attribute.name, ""), "  ")
        lines.append(f"  readonly {camel_case(attribute.name)}{'?' if optional else ''}: {hint};")
    return "\n".join([*lines, "}"]) + "\n"


def _type(hint: Any, nullable: bool = True) -> str:
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        named = [_type(argument) for argument in arguments if argument is not types.NoneType]
        return " | ".join(named + ["null"] * (nullable and types.NoneType in arguments))
    if origin is tuple:
        item = _type(arguments[0])
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if origin is dict:
        return f"Readonly<Record<string, {_type(arguments[1])}>>"
    if isinstance(hint, type):
        return hint.__name__
    raise TypeError(f"no TypeScript for {hint}")


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for argument in typing.get_args(hint):
        yield from _parts(argument)


def _reachable(cls: type[Any]) -> list[type[Any]]:
    """The class, and after each class those that it names."""
    found = [cls]
    for hint in reversed(typing.get_type_hints(cls).values()):
        found += [each for part in _parts(hint) if _is_own_class(part) for each in _reachable(part)]
    return found


def _enums(cls: type[Any]) -> set[type[enum.StrEnum]]:
    parts = (part for hint in typing.get_type_hints(cls).values() for part in _parts(hint))
    return {part for part in parts if isinstance(part, type) and issubclass(part, enum.StrEnum)}


def _comment(text: str, indent: str) -> list[str]:
    if not text:
        return []
    lines = text.splitlines()
    if len(lines) == 1:
        return [f"{indent}/** {text} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


if __name__ == "__main__":
    TARGET.write_text(typescript(), encoding="utf-8")
