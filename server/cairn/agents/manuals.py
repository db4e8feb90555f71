"""The manuals of the tools, which tell a model when to use which tool, and their JSON schemas.

The manuals are short, because every byte of them is in each conversation, whether a tool is used or not. The
schemas are restricted to what every client and model accepts: one `type` per value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from attrs import frozen

from cairn.agents import change_tool, discover_tool, read_tool, reference_tool, search_tools
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
Code search of this workspace, kept up to date by itself. How, why, what happens when, where: one discover \
with the whole question; then choose from the places that it names, and read all of them in one call. A name \
or a message: search. EVERY occurrence of a text: search with exact, or grep. Callers, tests, what runs in \
order: references. After an edit: changes. Lines shown before are not repeated (again: true does).\
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
_CURSOR = _string()

_SEARCH = """\
The places for a question, a name or a "quoted text", best first, with their lines. With exact, every line \
that holds the query, by definition, code before comments and tests, and whether that is all; regex takes an \
expression.\
"""
_DISCOVER = """\
The lines that answer how, why, what happens when, compare, overview, from all files, then more places by \
name: read those that you need in one call. Ask the whole question. Where nothing matches, do not make up an \
answer.\
"""
_READ = """\
Numbered lines of all places at once: path:10-40, path:name, names (whole definitions), files (long ones as \
an outline), or the best passage for a question.\
"""
_REFERENCES = """\
Who calls a function, what it calls, uses of a name, implementations, tests: from scopes, imports and types. \
What is unsure says so. trace: what runs from symbol on, or from it to `to`, in order, with branches.\
"""
_CHANGES = """\
After an edit, what it touches: places that still use what was removed, renamed or re-signed, other \
dependents, the tests to run with their commands, what usually changes with it. base: a commit or branch, by \
default the last commit. Or give a diff.\
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
            {"query": "TokenBucket.take"},
            {"query": '"database is locked"', "path": ["src/db"], "type": ["code"]},
            {"query": "max_retries=", "exact": True},
        ),
        arguments_schema(
            {
                "query": _string(),
                "path": _PATH,
                "type": _strings(enum=[kind.value for kind in ChunkType]),
                "exact": {"type": "boolean"},
                "regex": {"type": "boolean"},
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
        ({"path": ["src/db/pool.py:40-90", "src/db/url.py", "TokenBucket.take"]},),
        arguments_schema(
            {
                "path": _strings(),
                "max_tokens": _number(read_tool.TOKENS),
                "version": {"type": "string", "enum": list(read_tool.VERSIONS)},
                "again": {"type": "boolean"},
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
                "to": _string("end of a trace"),
                "path": _PATH,
                "depth": _number(1),
                "max_tokens": _number(reference_tool.TOKENS),
                "cursor": _CURSOR,
            },
            ["symbol"],
        ),
    ),
    "changes": Manual(
        _CHANGES,
        ({"base": "main"}, {"staged": True}),
        arguments_schema(
            {
                "base": _string(),
                "diff": _string(),
                "staged": {"type": "boolean"},
                "max_tokens": _number(change_tool.TOKENS),
            }
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


STAGE_MANUALS = {
    "filterCollections": "Stage 1 of discovery: the collections that a question is about.",
    "scoreCollections": (
        "Stage 2 of discovery: rank `collections`, those of filter_collections, by how well they fit."
    ),
    "expandQueries": "Stage 3 of discovery: variations of a question for the stages that search.",
    "broadDiscovery": (
        "Stage 4 of discovery: search everything with several queries. Give `queries` of expand_queries "
        "and the `collections` that were chosen; all of them when absent."
    ),
    "semanticFocus": (
        "Stage 5 of discovery: search one collection deeply; call it for each of the best few. "
        'Example: {"collection": {"name": "harbour-source"}, "queries": ["how are berths assigned"], "k": 10}'
    ),
    "promoteReadme": (
        "Stage 6 of discovery: put READMEs first where the question asks what a thing is. `hits` are the "
        "`chunks` of broad_discovery and semantic_focus together, as they are."
    ),
    "compressEvidence": (
        "Stage 7 of discovery: pick the sentences that answer, each with its citation. `chunks` are those of "
        "promote_readme, as they are; give the question as `query`."
    ),
    "buildAnswerPlan": (
        "Stage 8 of discovery: arrange evidence in sections. `bullets` are those of compress_evidence, as "
        "they are."
    ),
    "renderPrompt": (
        "Stage 9 of discovery: write the prompt for a language model. `plan` is that of build_answer_plan, "
        "as it is; give the question as `query`."
    ),
}
"""The manual of each stage, by the name of its method."""


# --- schemas of stages and answers -----------------------------------------------------------------------


def params_schema(method: Method) -> Schema:
    """Return the schema of a stage's params, without descriptions: agents pass on earlier stages' data."""
    definitions: dict[str, Any] = {}
    schema = Describer(definitions).object(method.params_class())
    shape: Schema = _plain(schema, definitions)
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


def _plain(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    """Return the schema without references, descriptions and defaults, and with one `type` per value.

    That is a list where one item is allowed as well, and never null. Gemini's API refuses lists of types, and
    keys beside `anyOf`; gateways and frameworks drop tools that have them. The tools accept the omitted types
    nevertheless.
    """
    if isinstance(schema, list):
        return [_plain(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return _plain(schema["anyOf"][0], definitions)
    shape = {
        key: {name: _plain(each, definitions) for name, each in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in schema.items()
        if key not in ("description", "default")
    }
    if isinstance(shape.get("type"), list):
        shape["type"] = shape["type"][0]
    return shape
