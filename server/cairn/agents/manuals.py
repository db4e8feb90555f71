"""What a model is told of the tools: when to use which, by examples, in as few words as that takes.

Every byte of it stands in each conversation, whether a tool is used or not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from cairn.agents import discover, read, references, related, search
from cairn.agents.schemas import Schema, arguments_schema
from cairn.protocol import ChunkType, ReferenceDirection

INSTRUCTIONS = """\
Cairn finds code in this workspace by names, words and meaning: ask it before you grep around.
- You know WHAT but not WHERE ("where are retries limited", a name, an error message): search.
- HOW or WHY, over several files: discover gives the lines that answer.
- Before you change a function: references lists its callers, uses and tests, without namesakes.
- You know the exact string and want EVERY occurrence, or a file's name: use grep or glob.
Places are path:first-last; every tool takes what another prints. A large workspace: give path. Found nothing? Ask in other words \
before you conclude that it is not there. The index keeps itself up to date; answers say so while it is incomplete.\
"""


@frozen
class Manual:
    """What a model is told of one tool."""

    text: str
    examples: tuple[Mapping[str, Any], ...]
    input_schema: Schema

    @property
    def description(self) -> str:
        """The manual with its examples."""
        shown = "\n".join(json.dumps(each, ensure_ascii=False) for each in self.examples)
        return f"{self.text}\n{shown}" if shown else self.text


def _string(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _strings(description: str = "", **more: Any) -> Schema:
    shape: Schema = {"type": "array", "items": {"type": "string", **more}}
    return {**shape, "description": description} if description else shape


def _number(default: int) -> Schema:
    return {"type": "integer", "default": default}


def _tokens(default: int) -> Schema:
    return {"type": "integer", "description": f"Bound of the whole answer; {default:,} by default."}


_PATH = _strings("Only here: folders, files or globs, such as src/net or docs/*.md; !*.lock leaves out.")
_CURSOR = _string("From the line more: of an answer, with the same arguments.")

_SEARCH = """\
Find the places for a question, a name or a "quoted text". Best files first: path:lines, name, why, the lines that matter.
Better than grep when you don't know the wording ("where do we back off after a 429"), for definitions (TokenBucket: its class, \
not its 80 uses), or when grep would flood you. Grep is better for every occurrence of an exact string.\
"""
_DISCOVER = """\
Gather what answers a question from the whole workspace: lines of files, verbatim, each under path:lines, the most useful first, \
within max_tokens. For how, why, what happens when, compare, overview: one call instead of ten searches and reads. For one place, \
search is faster. Where it says that nothing matches, do not make up an answer.\
"""
_READ = """\
Read lines of an indexed file as they are on disk now, numbered: by path, by path:first-last, by a symbol's name (its whole \
definition) or by a question (its best passage). A long file goes on as the line more: says.\
"""
_REFERENCES = """\
Who calls a function and what it calls, what uses a name, extends a type or overrides a method, which tests reach it. Read from \
scopes, imports and types, so namesakes are left out, where grep would list them all. Ask before you change or remove something; \
depth 2 also follows callers of callers. What is unsure says so: check it.\
"""
_STATUS = "What is indexed, collections by name, what is missing. Rarely needed: every answer says itself what it lacks."
_RELATED = """\
What belongs to lines that you have: their tests, callers, documents, files that change with them, passages of like meaning, \
each with why.\
"""

MANUALS: Mapping[str, Manual] = {
    "search": Manual(
        _SEARCH,
        (
            {"query": "where are retries limited"},
            {"query": "TokenBucket.take"},
            {"query": '"database is locked"', "path": ["src/db"], "type": ["code"]},
        ),
        arguments_schema(
            {
                "query": _string(),
                "path": _PATH,
                "type": _strings(enum=[kind.value for kind in ChunkType]),
                "language": _strings(),
                "collection": _strings("Names from status."),
                "limit": _number(search.LIMIT),
                "max_tokens": _tokens(search.TOKENS),
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
            {"query": _string(), "path": _PATH, "max_tokens": _tokens(discover.TOKENS), "cursor": _CURSOR},
            ["query"],
        ),
    ),
    "read": Manual(
        _READ,
        ({"path": "src/db/pool.py:40-90"}, {"path": "TokenBucket.take"}),
        arguments_schema(
            {
                "path": _string(),
                "max_tokens": _tokens(read.TOKENS),
                "version": {
                    "type": "string",
                    "enum": list(read.VERSIONS),
                    "default": read.NOW,
                },
            },
            ["path"],
        ),
    ),
    "references": Manual(
        _REFERENCES,
        ({"symbol": "TokenBucket.take"}, {"symbol": "src/db/pool.py:12", "direction": "tests"}),
        arguments_schema(
            {
                "symbol": _string("A name, Owner.name, or path:line of it."),
                "direction": {
                    "type": "string",
                    "enum": [each.value for each in ReferenceDirection],
                    "default": ReferenceDirection.CALLERS.value,
                },
                "depth": _number(1),
                "limit": _number(references.LIMIT),
                "max_tokens": _tokens(references.TOKENS),
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
                "limit": _number(related.LIMIT),
                "max_tokens": _tokens(related.TOKENS),
                "cursor": _CURSOR,
            },
            ["path"],
        ),
    ),
}
"""By the tool's name."""
