"""The manuals of the tools, which tell a model when to use which tool, and their JSON schemas.

The manuals are short, because every byte of them is in each conversation, whether a tool is used or not. The
schemas are restricted to what every client and model accepts: one `type` per value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from attrs import frozen

from cairn.agents import discover_tool, read_tool, reference_tool, search_tools
from cairn.engine.methods import Method
from cairn.protocol import ChunkType, ReferenceDirection
from cairn.schema.json_schema import Describer

Schema = dict[str, Any]


def arguments_schema(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    """Return the schema of an object with these properties. Others, such as `workspace`, are accepted."""
    shape: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        shape["required"] = list(required)
    return shape


INSTRUCTIONS = """\
Code search of this workspace, kept up to date by itself. WHERE is it ("where are retries limited", a name, \
an error message): search. HOW or WHY, over several files: discover. Who calls or tests a function: \
references, without namesakes. EVERY occurrence of an exact string, or a file's name: grep or glob. Each \
tool takes the places (path:10-40) that another prints. Nothing found? Ask in other words.\
"""


@frozen
class Manual:
    text: str
    examples: tuple[Mapping[str, Any], ...]
    input_schema: Schema

    @property
    def description(self) -> str:
        shown = "\n".join(json.dumps(each, ensure_ascii=False) for each in self.examples if each)
        return f"{self.text}\n{shown}" if shown else self.text


def _string(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _strings(description: str = "", **more: Any) -> Schema:
    shape: Schema = {"type": "array", "items": {"type": "string", **more}}
    return {**shape, "description": description} if description else shape


def _number(default: int) -> Schema:
    return {"type": "integer", "default": default}


_PATH = _strings("folders, files or globs; !glob leaves out")
_CURSOR = _string("after more: in an answer")

_SEARCH = """\
The places for a question, a name or a "quoted text", best first, with their lines. Better than grep when \
you don't know the wording, for a definition among its 80 uses, or when grep would flood you.\
"""
_DISCOVER = """\
The lines that answer how, why, what happens when, compare, overview, from all files, within max_tokens: one \
call instead of ten searches and reads. Where nothing matches, do not make up an answer.\
"""
_READ = """\
Numbered lines as on disk: of a file, of path:10-40, of a symbol's definition, or the best passage for a \
question.\
"""
_REFERENCES = """\
Who calls a function, what it calls, uses of a name, implementations, tests: from scopes, imports and types. \
What is unsure says so.\
"""
_STATUS = "What is indexed, collections. Rarely needed: answers say what they lack."
_RELATED = """\
What belongs to lines that you have: their tests, callers, documents, files that change with them, passages \
of like meaning, each with why.\
"""

MANUALS: Mapping[str, Manual] = {
    "search": Manual(
        _SEARCH,
        (
            {"query": "where do we back off after a 429"},
            {"query": "TokenBucket.take"},
            {"query": '"database is locked"', "path": ["src/db"], "type": ["code"]},
        ),
        arguments_schema(
            {
                "query": _string(),
                "path": _PATH,
                "type": _strings(enum=[kind.value for kind in ChunkType]),
                "limit": _number(search_tools.LIMIT),
                "max_tokens": _number(search_tools.TOKENS),
                "cursor": _CURSOR,
            },
            ["query"],
        ),
    ),
    "discover": Manual(
        _DISCOVER,
        (
            {"query": "how does indexing survive a crash"},
            {"query": "how are routes cached", "path": ["net/ipv4"], "max_tokens": 4000},
        ),
        arguments_schema(
            {
                "query": _string(),
                "path": _PATH,
                "max_tokens": _number(discover_tool.TOKENS),
                "cursor": _CURSOR,
            },
            ["query"],
        ),
    ),
    "read": Manual(
        _READ,
        ({"path": "src/db/pool.py:40-90"}, {"path": "TokenBucket.take"}),
        arguments_schema(
            {
                "path": _string(),
                "max_tokens": _number(read_tool.TOKENS),
                "version": {"type": "string", "enum": list(read_tool.VERSIONS)},
            },
            ["path"],
        ),
    ),
    "references": Manual(
        _REFERENCES,
        ({"symbol": "TokenBucket.take"}, {"symbol": "src/db/pool.py:12", "direction": "tests", "depth": 2}),
        arguments_schema(
            {
                "symbol": _string(),
                "direction": {
                    "type": "string",
                    "enum": [each.value for each in ReferenceDirection],
                    "default": ReferenceDirection.CALLERS.value,
                },
                "depth": _number(1),
                "max_tokens": _number(reference_tool.TOKENS),
                "cursor": _CURSOR,
            },
            ["symbol"],
        ),
    ),
    "status": Manual(_STATUS, ({},), arguments_schema({})),
    "related": Manual(
        _RELATED,
        ({"path": "src/db/pool.py:40-90"}, {"path": "TokenBucket.take", "limit": 3}),
        arguments_schema(
            {
                "path": _string("path:line, path:first-last, or a name."),
                "limit": _number(search_tools.LIMIT),
                "max_tokens": _number(search_tools.TOKENS),
                "cursor": _CURSOR,
            },
            ["path"],
        ),
    ),
}
"""The manual of each tool, by name."""


# --- schemas of stages and answers -----------------------------------------------------------------------


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
