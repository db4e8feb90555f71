"""Go to definition, find references, find implementations and the call hierarchy, for languages without a
server.

The setting `lsp.navigation` names the languages. If it is empty, the server announces none of this: editors
query every server that does, and would show the answers beside those of a language's own server.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from cairn.engine.methods import LSP
from cairn.errors import InvalidRequestError
from cairn.languages.registry import detect_language
from cairn.lsp.early import NAVIGATION, announced_navigation
from cairn.lsp.editor_connection import Connection, error_responses
from cairn.lsp.own_requests import lsp_range, symbol_kind
from cairn.schema.convert import snake_case

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
Handler = Callable[[Connection, Any], Coroutine[Any, Any, Any]]


class Navigation:
    """The navigation capabilities that the server offers to its client.

    The answer to `initialize` announces some of them permanently. The others are registered for the languages
    of the settings, whenever these change.
    """

    def __init__(self, server: Connection) -> None:
        self._server = server
        self._later: list[str] = []
        self._dynamic: list[str] = []
        self._registered: tuple[str, ...] = ()
        """The languages for which the capabilities are registered."""

    def announce(self, options: Any) -> None:
        """During `initialize`, make pygls announce the capabilities for these `initializationOptions`."""
        is_dynamic = partial(_is_dynamic, self._server.client_capabilities)
        announced = announced_navigation(options, is_dynamic)
        self._later = [name for name in NAVIGATION if name not in announced]
        self._dynamic = list(filter(is_dynamic, self._later))
        self._add_handlers(announced)

    async def offer(self) -> None:
        """Add all handlers and register the remaining capabilities. Call this once, after `initialized`."""
        self._add_handlers(self._later)
        await self.renew()

    async def renew(self) -> None:
        """Register the dynamic capabilities for exactly the languages that the settings name."""
        languages = _languages(await self._server.runner.made())
        if languages == self._registered or not self._dynamic:
            return
        earlier, self._registered = self._registered, languages
        if earlier:
            gone = [types.Unregistration(f"cairn-{name}", _method(name)) for name in self._dynamic]
            await self._server.client_unregister_capability_async(types.UnregistrationParams(gone))
        if languages:
            selector = [
                {"scheme": "file"} | ({} if each == _ALL else {"language": each}) for each in languages
            ]
            options = {"documentSelector": selector}
            new = [types.Registration(f"cairn-{name}", _method(name), options) for name in self._dynamic]
            await self._server.client_register_capability_async(types.RegistrationParams(new))

    def _add_handlers(self, names: Sequence[str]) -> None:
        for name in names:
            for method, handler in _HANDLERS[name].items():
                _register(self._server, method, handler)


def _register(server: Connection, method: str, handler: Handler) -> None:
    @server.feature(method)
    async def handle(params: Any) -> Any:
        with error_responses():
            return await handler(server, params)


def _is_dynamic(capabilities: types.ClientCapabilities, name: str) -> bool:
    capability = getattr(capabilities.text_document, snake_case(name), None)
    return getattr(capability, "dynamic_registration", None) is True


def _method(name: str) -> str:
    return next(iter(_HANDLERS[name]))


def _languages(engine: Engine) -> tuple[str, ...]:
    return tuple(sorted({name.strip().lower() for name in engine.settings().lsp.navigation}))


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


_HANDLERS: Mapping[str, Mapping[str, Handler]] = {
    "definition": {types.TEXT_DOCUMENT_DEFINITION: _definition},
    "references": {types.TEXT_DOCUMENT_REFERENCES: _references},
    "implementation": {types.TEXT_DOCUMENT_IMPLEMENTATION: _implementation},
    "callHierarchy": {
        types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _prepare,
        types.CALL_HIERARCHY_INCOMING_CALLS: _incoming,
        types.CALL_HIERARCHY_OUTGOING_CALLS: _outgoing,
    },
}
"""The LSP methods of each capability. The first is registered with the client."""


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
