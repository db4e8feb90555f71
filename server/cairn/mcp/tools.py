"""The tools that agents have: for each its name, its manual, its schemas, and how its answer reads.

A tool is a method of the protocol (`cairn.engine.methods`): its arguments are the method's params, and `workspace`. What an agent
knows of Cairn, it knows from these manuals: they say how to ask, by examples, before they say what comes back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn.engine.methods import METHODS, Method
from cairn.errors import InvalidRequestError
from cairn.mcp import text as mcp_text
from cairn.schema.convert import snake_case
from cairn.schema.json_schema import Describer
from cairn.text.nearest import nearest

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

PREFIX = "cairn_"
WORKSPACE = "workspace"
"""The argument that every tool has beside the params of its method."""

INSTRUCTIONS = """\
Cairn searches the open workspace folders on this machine, by meaning and by keywords, from a local index that is kept up \
to date.
- Where is it, how does it work, what does this error mean: cairn_search, in plain words or with a name. Filter by type, \
language or collection when you know what you want.
- About one part of a large workspace: name its folder in filter.path, for cairn_search and cairn_discover alike, so that \
nothing from elsewhere crowds it out.
- A question that needs evidence from many files: cairn_discover gives cited excerpts, the most useful first.
- Who calls a function, what happens next in it, what uses, implements or tests it: cairn_references, with its name.
- Then read: cairn_fetch_page for a whole file, cairn_related for documents, tests and siblings of a passage.
- Ask again in other words before you conclude that something is not there. Every answer says so when the index is not \
complete yet; cairn_status tells how far it is.
- Cite places as path:line, as the results have them.
The other tools are the nine single stages of cairn_discover, for pipelines of your own.\
"""

_SEARCH = """\
Find the passages of the workspace that answer a question, by meaning and by keywords.

STRATEGY
1. One part of a large workspace: filter.path with its folders, files or globs; nothing from elsewhere crowds it out.
2. filter.type: "code" for how it is done, "prose" for concepts, "api", "config" for settings, "cmd" for shell commands.
3. A name, a message, an ID: as it is; in double quotes it is found as written.
4. Too broad: filter by language or collection (see cairn_status). Nothing: other words, fewer filters.

EXAMPLES
- {"query": "assign_berths"}
- {"query": "\\"database is locked\\"", "filter": {"type": ["code"]}}
- {"query": "how are routes cached", "filter": {"path": ["net/ipv4"]}}
- {"query": "date parsing", "filter": {"language": ["go"], "path": ["src/api", "lib/*.go"]}}
- Many files: {"query": "config loading", "passages": 1, "limit": 30}

RETURNS files, best first: path:first-last (1-based), text, why; more passages of a file as "also 40-52". A verdict \
says that a question was unclear.\
"""

_FETCH_PAGE = """\
Read the COMPLETE text of an indexed file.

WHEN
- A result of cairn_search looks right but is cut, or you need what stands around it.
- You need a whole file, class or chapter, or the user asks to read or summarise it.

ARGUMENTS
Give `path` exactly as a result has it, without the line numbers, and `folder` (the workspace folder's URI) only where \
several open folders hold that path. Files that are not indexed cannot be read.

EXAMPLES
- {"path": "src/harbour/berths.py"}
- {"path": "README.md", "folder": "file:///home/ada/harbour"}

RETURNS the text as it was indexed, from its first line to its last; `chunks` in the structured answer has its outline: \
each part's lines, title and symbol.\
"""

_DISCOVER = """\
Gather what answers a question from the whole workspace: the lines of files that matter, verbatim, the most useful first, as \
many as a budget of tokens holds. Slower than cairn_search, and worth it for questions that no single passage answers.

WHEN
- "How does … work", "what happens when …", "why …", "compare …", "give an overview of …".
- You are to answer with citations.
- Not for one name or one place: cairn_search is faster.

EXAMPLES
- {"query": "how does indexing survive a crash"}
- {"query": "what is this project for", "maxBullets": 8}
- One part alone: {"query": "how are routes cached", "filter": {"path": ["net/ipv4"]}}
- {"query": "how are settings merged", "include": ["*-source"], "exclude": ["*-tests"], "format": "plain"}
- {"query": "error handling", "config": {"render": {"maxPromptTokens": 1500}}}

RETURNS a prompt of excerpts, each under its citation path#L10-L14; answer from them and keep the citations. Where there is no \
evidence, it says so: do not make up an answer.\
"""

_RELATED = """\
What is related to a passage that you already have: its tests, callers and callees, the documents that speak of it, files \
that change with it, passages of like meaning.

WHEN
- Before you change something: who uses it, what tests it, what describes it.
- After a good result of cairn_search, to see the rest of the picture.

ARGUMENTS
textDocument.uri is the file's URI: the workspace folder's URI, "/" and the path. range has 0-based lines, the end \
exclusive: the lines 12-20 of a result are start.line 11, end.line 20. An empty range is the line it is in.

EXAMPLES
- {"textDocument": {"uri": "file:///home/ada/harbour/src/berths.py"}, "range": {"start": {"line": 11, "character": 0}, \
"end": {"line": 20, "character": 0}}}
- The line 5 alone, three results: {"textDocument": {"uri": "file:///home/ada/harbour/README.md"}, "range": {"start": \
{"line": 4, "character": 0}, "end": {"line": 4, "character": 0}}, "limit": 3}

RETURNS passages as cairn_search does; the reasons say how each is related, "see" at which lines.\
"""

_REFERENCES = """\
Who calls a function and what it calls, where a name is used, what extends a type or overrides a method, which tests reach \
it. Read from the syntax (scopes, imports, types of receivers), not from the text.

WHEN
- Before you change or remove something: "callers" or "uses", then "tests".
- To follow what happens next: "callees", in the order of the code.
- Not for questions in words: cairn_search.

ARGUMENTS
symbol is a name, Owner.name, or path:line (from 1) of a line of the definition. direction is callers, callees, uses, \
implementations or tests. depth 2 also follows the callers of the callers.

EXAMPLES
- {"symbol": "assign_berths"}
- {"symbol": "Berth.moor_ship", "direction": "callees", "depth": 2}
- {"symbol": "src/harbour/berths.py:12", "direction": "tests", "limit": 20}

RETURNS the definition, then each place as path:line, the function around it, its code, how sure it is that this one is meant \
(0 to 1) and why. Check those below 0.5.\
"""

_STATUS = """\
What the index holds and how far indexing is: files, passages, vectors, the collections by name (for filters), the model, \
what was left out and why, problems with their remedies.

WHEN
- An answer said that the index is not complete: see what is missing and how long it takes.
- You want to know the collections, or why a file is not found.

EXAMPLES
- {}
- One of several open folders: {"workspace": "harbour"}

Search works while indexing runs: keywords first, meaning as vectors are made. state is starting, indexing, ready, \
degraded (works, but something is missing: lastError says what) or disabled.\
"""

_STAGES = {
    "filterCollections": (
        "Stage 1 of discovery: choose the collections that a question is about. `collections` are the workspace's own "
        "when absent. Next: cairn_score_collections with the `collections` returned. "
        'Example: {"query": "how are berths assigned", "exclude": ["*-tests"]}'
    ),
    "scoreCollections": (
        "Stage 2 of discovery: rank collections by how well they fit. Takes the `collections` of "
        "cairn_filter_collections (or none: the workspace's own), and the question. "
        'Example: {"query": "how are berths assigned"}'
    ),
    "expandQueries": (
        "Stage 3 of discovery: variations of a question, the question itself first. Next: cairn_broad_discovery with "
        'the `queries` returned. Example: {"query": "how are berths assigned"}'
    ),
    "broadDiscovery": (
        "Stage 4 of discovery: search all collections with the `queries` of cairn_expand_queries, without duplicates "
        "and with variety. `collections` are those of the stages before, or the workspace's own. "
        'Example: {"queries": ["how are berths assigned", "assign berths"], "k": 30}'
    ),
    "semanticFocus": (
        "Stage 5 of discovery: search one collection deeply; take the best of cairn_score_collections. "
        'Example: {"collection": {"name": "harbour-source"}, "queries": ["how are berths assigned"], "k": 10}'
    ),
    "promoteReadme": (
        "Stage 6 of discovery: put READMEs first where the question asks what a thing is. `hits` are the `chunks` of "
        "cairn_broad_discovery and cairn_semantic_focus together, as they are."
    ),
    "compressEvidence": (
        "Stage 7 of discovery: pick the sentences that answer, each with its citation. `chunks` are those of "
        "cairn_promote_readme, as they are; give the question as `query`."
    ),
    "buildAnswerPlan": (
        "Stage 8 of discovery: arrange evidence in sections. `bullets` are those of cairn_compress_evidence, as they are."
    ),
    "renderPrompt": (
        "Stage 9 of discovery: write the prompt for a language model. `plan` is that of cairn_build_answer_plan, as it "
        "is; give the question as `query`."
    ),
}


@frozen
class Tool:
    """One tool."""

    method: Method
    title: str
    description: str
    text: Callable[[Engine, Any, Mapping[str, Any]], list[str]]
    """How an answer reads: from the engine that was asked, the answer as JSON data and the arguments to blocks of text."""
    omitted: Set[str] = frozenset()
    """Fields of the answer that its structured content lacks, because other parts say the same: clients give it to models whole."""

    @property
    def name(self) -> str:
        return PREFIX + snake_case(self.method.name)

    @functools.cached_property
    def input_schema(self) -> dict[str, Any]:
        """The method's params and `workspace`, in the part of JSON schema that every client and model takes."""
        definitions: dict[str, Any] = {}
        schema = Describer(definitions).object(self.method.params_class())
        schema.pop("description", None)  # it speaks of LSP's method
        is_stage = self.method.name in _STAGES
        shape: dict[str, Any] = _plain(_inlined(schema, _terse(definitions) if is_stage else definitions))
        shape["properties"] = {**shape["properties"], WORKSPACE: _WORKSPACE_SCHEMA}
        return shape

    @functools.cached_property
    def output_schema(self) -> dict[str, Any]:
        """What its structured content holds."""
        definitions: dict[str, Any] = {}
        schema = Describer(definitions, whole=True).object(self.method.answer_type())
        schema["properties"] = self.structured(schema["properties"])
        schema["required"] = [name for name in schema["required"] if name not in self.omitted]
        return {**schema, "$defs": definitions} if definitions else schema

    def structured(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer's fields that go out as structured content."""
        return {name: value for name, value in answer.items() if name not in self.omitted}

    def remedy(self, problem: InvalidRequestError, arguments: Mapping[str, Any]) -> str:
        """What is wrong with arguments that it does not take, and what to do about it."""
        schema = self.input_schema
        known, required = list(schema["properties"]), schema.get("required", [])
        unknown = [name for name in arguments if name not in known]
        meant = [match for name in unknown[:3] if (match := nearest(name, known))]
        hint = f" Did you mean {' and '.join(meant)}?" if meant else ""
        takes = ", ".join(f"{name} (required)" if name in required else name for name in known)
        return f"{problem}.{hint} Correct that and call {self.name} again; it takes {takes}."


def without_nulls(value: Any) -> Any:
    """JSON data without the members that are null.

    An argument that is null counts as absent: some clients make models give every argument, and null is how they give
    none.
    """
    if isinstance(value, Mapping):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


_WORKSPACE_SCHEMA = {
    "type": "string",
    "description": "One open workspace folder to ask, by its URI, its path or its name; all of them when absent.",
}


def _mapped(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The schema with `change` made of each of its objects, those inside first."""
    if isinstance(schema, list):
        return [_mapped(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return change({key: _mapped(value, change) for key, value in schema.items()})


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with each reference replaced by what it refers to."""

    def inline(shape: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in shape:
            return shape
        name = shape.pop("$ref").rpartition("/")[2]
        return {**_inlined(definitions[name], definitions), **shape}

    return _mapped(schema, inline)


def _plain(schema: Any) -> Any:
    """The schema with one `type` for each value: of a list or one of its items the list, and null nowhere.

    Gemini's API refuses lists of types, and what stands beside `anyOf`; gateways and frameworks drop tools that have them.
    What is not shown is taken nevertheless.
    """

    def simplify(shape: dict[str, Any]) -> dict[str, Any]:
        if "default" in shape and shape["default"] is None:
            del shape["default"]
        if "anyOf" in shape:
            shape = {**shape.pop("anyOf")[0], **shape}
        if isinstance(shape.get("type"), list):
            shape["type"] = shape["type"][0]
        return shape

    return _mapped(schema, simplify)


def _terse(schema: Any) -> Any:
    """The schema without what explains it: an agent hands on what a stage returned, as it is."""
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


_SAID_BY_OTHERS = frozenset({"answerPrompt", "bullets", "chunks"})
"""Of a discovery: `excerpts` and the bullets in `plan` hold it all, in 36,000 characters instead of 130,000."""

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(METHODS["search"], "Search the workspace", _SEARCH, mcp_text.search),
        Tool(METHODS["fetchPage"], "Read a whole file", _FETCH_PAGE, mcp_text.page),
        Tool(METHODS["discover"], "Gather cited evidence", _DISCOVER, mcp_text.discovery, _SAID_BY_OTHERS),
        Tool(METHODS["related"], "Find what is related", _RELATED, mcp_text.related),
        Tool(METHODS["references"], "Find callers, callees and uses", _REFERENCES, mcp_text.references),
        Tool(METHODS["status"], "State of the index", _STATUS, mcp_text.status),
        *(
            Tool(METHODS[name], METHODS[name].summary, manual, mcp_text.stage)
            for name, manual in _STAGES.items()
        ),
    )
}
"""All of them, by name."""


def unknown(name: str) -> str:
    """That there is no such tool, and which one may be meant."""
    match = nearest(name, [*TOOLS, *(known.removeprefix(PREFIX) for known in TOOLS)])
    meant = match if match in TOOLS else PREFIX + match
    hint = f"; did you mean {meant}?" if match else f"; there are {', '.join(TOOLS)}"
    return f"there is no tool {name[:100]!r}{hint}"
