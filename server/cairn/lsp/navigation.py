"""Go to definition, find references, find implementations and the call hierarchy, for languages without a
server.

The setting `lsp.navigation` names the languages. If it is empty, the server announces none of this: editors
query every server that does, and would show the answers beside those of a language's own server.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from cairn.engine.methods import LSP
from cairn.errors import InvalidRequestError
from cairn.languages.registry import detect_language
from cairn.lsp.capabilities import Feature, Options
from cairn.lsp.editor_connection import Connection
from cairn.lsp.own_requests import lsp_range, symbol_kind

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.protocol import EnclosingSymbol, FoundReference, ReferencesAnswer, SymbolPlace

_ALL = "*"
_LIMIT = 1_000

_AtPlace = (
    types.DefinitionParams
    | types.ReferenceParams
    | types.ImplementationParams
    | types.CallHierarchyPrepareParams
)


def _languages(engine: Engine) -> tuple[str, ...]:
    return tuple(sorted({name.strip().lower() for name in engine.settings().lsp.navigation}))


def _options(engine: Engine) -> Options | None:
    languages = _languages(engine)
    selector = [{"scheme": "file"} | ({} if each == _ALL else {"language": each}) for each in languages]
    return {"documentSelector": selector} if languages else None


# --- requests ------------------------------------------------------------------------------------------


async def _query(
    server: Connection, uri: str, position: types.Position, **params: Any
) -> ReferencesAnswer | None:
    """Query the references of the symbol at a position; None for a document that is not indexed."""
    await server.notifications_applied()
    at = {"line": position.line, "character": position.character}
    data = {"textDocument": {"uri": uri}, "position": at, **params}
    with suppress(InvalidRequestError):
        answer: ReferencesAnswer = await server.runner.answer("references", data, front=LSP, as_json=False)
        return answer
    return None


async def _query_enabled(server: Connection, params: _AtPlace, **more: Any) -> ReferencesAnswer | None:
    """Query like `_query`; None also for a document in a language that the settings do not name."""
    uri, languages = params.text_document.uri, _languages(await server.runner.made())
    document = server.workspace.text_documents.get(uri)
    named = {_ALL, detect_language(uri), document.language_id if document is not None else ""}
    if not named.intersection(languages):
        return None
    return await _query(server, uri, params.position, **more)


async def _query_calls(
    server: Connection, item: types.CallHierarchyItem, direction: str
) -> Sequence[FoundReference]:
    answer = await _query(server, item.uri, item.selection_range.start, direction=direction, limit=_LIMIT)
    return () if answer is None else answer.references


async def _definition(server: Connection, params: types.DefinitionParams) -> list[types.Location]:
    answer = await _query_enabled(server, params, limit=0)
    return [] if answer is None else list(map(_location, answer.definitions))


async def _references(server: Connection, params: types.ReferenceParams) -> list[types.Location]:
    answer = await _query_enabled(server, params, direction="uses", limit=_LIMIT)
    if answer is None:
        return []
    declared = answer.definitions if params.context.include_declaration else ()
    found = (types.Location(each.uri, lsp_range(each.range)) for each in answer.references)
    return [*map(_location, declared), *found]


async def _implementation(server: Connection, params: types.ImplementationParams) -> list[types.Location]:
    answer = await _query_enabled(server, params, direction="implementations", limit=_LIMIT)
    references = () if answer is None else answer.references
    return [types.Location(each.uri, lsp_range(each.range)) for each in references]


async def _prepare(
    server: Connection, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem]:
    answer = await _query_enabled(server, params, limit=0)
    definitions = () if answer is None else answer.definitions
    return [_item(each, each.uri, each.path) for each in definitions]


async def _incoming(
    server: Connection, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    calls: dict[Any, types.CallHierarchyIncomingCall] = {}
    for call in await _query_calls(server, params.item, "callers"):
        found = calls.setdefault(
            (call.uri, call.enclosing), types.CallHierarchyIncomingCall(_caller(call), [])
        )
        found.from_ranges = [*found.from_ranges, lsp_range(call.range)]
    return list(calls.values())


async def _outgoing(
    server: Connection, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    calls: dict[Any, types.CallHierarchyOutgoingCall] = {}
    for call in await _query_calls(server, params.item, "callees"):
        if (target := call.target) is not None:
            item = _item(target, target.uri, target.path)
            found = calls.setdefault(target, types.CallHierarchyOutgoingCall(item, []))
            found.from_ranges = [*found.from_ranges, lsp_range(call.range)]
    return list(calls.values())


NAVIGATION = (
    Feature("definition", {types.TEXT_DOCUMENT_DEFINITION: _definition}, _options),
    Feature("references", {types.TEXT_DOCUMENT_REFERENCES: _references}, _options),
    Feature("implementation", {types.TEXT_DOCUMENT_IMPLEMENTATION: _implementation}, _options),
    Feature(
        "callHierarchy",
        {
            types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _prepare,
            types.CALL_HIERARCHY_INCOMING_CALLS: _incoming,
            types.CALL_HIERARCHY_OUTGOING_CALLS: _outgoing,
        },
        _options,
    ),
)


# --- in LSP's terms ------------------------------------------------------------------------------------


def _caller(call: FoundReference) -> types.CallHierarchyItem:
    """Return the function that contains a call, or the file for a call at the top level."""
    if call.enclosing is not None:
        return _item(call.enclosing, call.uri, call.path)
    place, name = lsp_range(call.range), PurePosixPath(call.path).name
    return types.CallHierarchyItem(name, types.SymbolKind.File, call.uri, place, place, detail=call.path)


def _item(symbol: SymbolPlace | EnclosingSymbol, uri: str, path: str) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        symbol.symbol,
        symbol_kind(symbol.kind),
        uri,
        lsp_range(symbol.range),
        lsp_range(symbol.selection_range),
        detail=path,
    )


def _location(place: SymbolPlace) -> types.Location:
    return types.Location(place.uri, lsp_range(place.selection_range))
