"""Go to definition, find references, implementations and the call hierarchy, for editors that have no server for a language.

The setting `lsp.navigation` names the languages. Where it is empty, nothing of this is announced: an editor asks whoever
announced it, and a second answer beside that of a language's own server would only be in the way.
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
from cairn.lsp.connection import Connection, error_responses
from cairn.lsp.early import NAVIGATION, announced_navigation
from cairn.lsp.requests import lsp_range, symbol_kind
from cairn.schema.convert import snake_case
from cairn.text.languages import detect_language

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.protocol import EnclosingSymbol, FoundReference, ReferencesAnswer, SymbolPlace

_ALL = "*"
_LIMIT = 1_000
"""References of one answer; nobody reads on."""

_AtPlace = (
    types.DefinitionParams
    | types.ReferenceParams
    | types.ImplementationParams
    | types.CallHierarchyPrepareParams
)
Handler = Callable[[Connection, Any], Coroutine[Any, Any, Any]]


class Navigation:
    """What of it the client is offered. What the answer to `initialize` announced cannot be taken back; the rest is registered
    for the languages of the settings, as they change."""

    def __init__(self, server: Connection, options: Any) -> None:
        """Have pygls announce what a client with these `initializationOptions` is offered; call it during `initialize`."""
        self._server = server
        is_dynamic = partial(_is_dynamic, server.client_capabilities)
        announced = announced_navigation(options, is_dynamic)
        self._later = [name for name in NAVIGATION if name not in announced]
        self._dynamic = list(filter(is_dynamic, self._later))
        self._told: tuple[str, ...] = ()
        """The languages that the client was told of."""
        self._answer(announced)

    async def offer(self) -> None:
        """Answer all of it, and tell the client of what was not announced; call it once, after `initialized`."""
        self._answer(self._later)
        await self.renew()

    async def renew(self) -> None:
        """Register what can be registered for the languages of the settings, and for no others."""
        languages = _languages(await self._server.runner.made())
        if languages == self._told or not self._dynamic:
            return
        told, self._told = self._told, languages
        if told:
            gone = [types.Unregistration(_identity(name), _method(name)) for name in self._dynamic]
            await self._server.client_unregister_capability_async(types.UnregistrationParams(gone))
        if languages:
            options = {"documentSelector": _selector(languages)}
            new = [types.Registration(_identity(name), _method(name), options) for name in self._dynamic]
            await self._server.client_register_capability_async(types.RegistrationParams(new))

    def _answer(self, names: Sequence[str]) -> None:
        for name in names:
            for method, handler in _HANDLERS[name].items():
                _register(self._server, method, handler)


def _register(server: Connection, method: str, handler: Handler) -> None:
    @server.feature(method)
    async def handle(params: Any) -> Any:
        with error_responses():
            return await handler(server, params)


def _is_dynamic(capabilities: types.ClientCapabilities, name: str) -> bool:
    """Whether the client lets the server register this one of NAVIGATION later."""
    capability = getattr(capabilities.text_document, snake_case(name), None)
    return getattr(capability, "dynamic_registration", None) is True


def _identity(name: str) -> str:
    return f"cairn-{name}"


def _method(name: str) -> str:
    return next(iter(_HANDLERS[name]))


def _selector(languages: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"scheme": "file"} if name == _ALL else {"scheme": "file", "language": name} for name in languages
    ]


def _languages(engine: Engine) -> tuple[str, ...]:
    return tuple(sorted({name.strip().lower() for name in engine.settings().lsp.navigation}))


# --- requests ------------------------------------------------------------------------------------------


async def _ask(
    server: Connection, uri: str, position: types.Position, **asked: Any
) -> ReferencesAnswer | None:
    """What is known of the name at a place; None for a document that is not indexed."""
    await server.notifications_applied()
    at = {"line": position.line, "character": position.character}
    data = {"textDocument": {"uri": uri}, "position": at, **asked}
    with suppress(InvalidRequestError):
        answer: ReferencesAnswer = await server.runner.answer("references", data, front=LSP, as_json=False)
        return answer
    return None


async def _ask_here(server: Connection, params: _AtPlace, **asked: Any) -> ReferencesAnswer | None:
    """As `_ask`; None also for a document in a language that the settings do not name."""
    uri, languages = params.text_document.uri, _languages(await server.runner.made())
    document = server.workspace.text_documents.get(uri)
    named = {_ALL, detect_language(uri), document.language_id if document is not None else ""}
    if not named.intersection(languages):
        return None
    return await _ask(server, uri, params.position, **asked)


async def _definition(server: Connection, params: types.DefinitionParams) -> list[types.Location]:
    answer = await _ask_here(server, params, limit=0)
    return [] if answer is None else list(map(_location, answer.definitions))


async def _references(server: Connection, params: types.ReferenceParams) -> list[types.Location]:
    answer = await _ask_here(server, params, direction="uses", limit=_LIMIT)
    if answer is None:
        return []
    declared = answer.definitions if params.context.include_declaration else ()
    found = (types.Location(each.uri, lsp_range(each.range)) for each in answer.references)
    return [*map(_location, declared), *found]


async def _implementation(server: Connection, params: types.ImplementationParams) -> list[types.Location]:
    answer = await _ask_here(server, params, direction="implementations", limit=_LIMIT)
    references = () if answer is None else answer.references
    return [types.Location(each.uri, lsp_range(each.range)) for each in references]


async def _prepare(
    server: Connection, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem]:
    answer = await _ask_here(server, params, limit=0)
    definitions = () if answer is None else answer.definitions
    return [_item(each, each.uri, each.path) for each in definitions]


async def _incoming(
    server: Connection, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    answer = await _ask(
        server, params.item.uri, params.item.selection_range.start, direction="callers", limit=_LIMIT
    )
    calls: dict[Any, types.CallHierarchyIncomingCall] = {}
    for call in answer.references if answer is not None else ():
        found = calls.setdefault(
            (call.uri, call.enclosing), types.CallHierarchyIncomingCall(_caller(call), [])
        )
        found.from_ranges = [*found.from_ranges, lsp_range(call.range)]
    return list(calls.values())


async def _outgoing(
    server: Connection, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    answer = await _ask(
        server, params.item.uri, params.item.selection_range.start, direction="callees", limit=_LIMIT
    )
    calls: dict[Any, types.CallHierarchyOutgoingCall] = {}
    for call in answer.references if answer is not None else ():
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
"""The methods of each, first the one that it is registered by."""


# --- in LSP's terms ------------------------------------------------------------------------------------


def _caller(call: FoundReference) -> types.CallHierarchyItem:
    """The function around a call; at the top level the file, which is called nowhere."""
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
