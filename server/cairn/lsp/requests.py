"""Cairn's own requests, and the commands through which any client reaches those that act."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.engine.methods import LSP, METHODS, SYMBOLS
from cairn.errors import InvalidRequestError
from cairn.lsp.connection import Connection, error_responses
from cairn.lsp.streaming import PROGRESS_TOKENS, streaming
from cairn.protocol import Symbol

_COMMANDS = ("pause", "resume", "reindex", "resetFeedback")
"""Methods that are commands, too, for `workspace/executeCommand` in any client: each takes the method's params as its only
argument, or none. `cairn.lsp.early` announces them."""
_REFRESH = "cairn.refresh"
"""A client sends this when its window comes to the front."""


def register_requests(server: Connection) -> None:
    """Answer all of them on `server`."""
    for name in METHODS:
        _register(server, name)
    for name in _COMMANDS:
        _register_command(server, name)
    _register_refresh(server)
    _register_symbols(server)


def _register(server: Connection, name: str) -> None:
    @server.feature(f"cairn/{name}")
    async def handle(params: Any) -> Any:
        streams = METHODS[name].streams
        with streaming(server, params) if streams else nullcontext() as tell, error_responses():
            await server.notifications_applied()
            data = _with_text(server, name, _without_tokens(params))
            return await server.runner.answer(name, data, front=LSP, tell=tell)


def _register_command(server: Connection, name: str) -> None:
    @server.command(f"cairn.{name}")
    async def handle(*arguments: Any) -> Any:
        with error_responses():
            data = _without_tokens(_only(f"cairn.{name}", arguments))
            await server.notifications_applied()
            return await server.runner.answer(name, data, front=LSP)


def _register_refresh(server: Connection) -> None:
    @server.command(_REFRESH)
    async def handle(*arguments: Any) -> None:
        with error_responses():
            if _only(_REFRESH, arguments):
                raise InvalidRequestError("arguments", f"{_REFRESH} takes none")
            await server.runner.run(lambda engine: engine.look_again())


def _only(name: str, arguments: tuple[Any, ...]) -> Any:
    if len(arguments) > 1:
        raise JsonRpcInvalidParams(f"arguments: {name} takes one at most, got {len(arguments)}")
    return arguments[0] if arguments else None


def _with_text(server: Connection, name: str, data: Any) -> Any:
    """The params of a context with the document's unsaved text: of one that is not indexed (untitled, ignored, elsewhere),
    that is all there is."""
    if name != "context":
        return data
    try:
        document = server.workspace.text_documents.get(data["textDocument"]["uri"])
    except (KeyError, TypeError):  # its conversion will say so
        return data
    if document is None or data.get("text") is not None:
        return data
    return {**data, "text": document.source}


def _without_tokens(params: Any) -> Any:
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key not in PROGRESS_TOKENS}


def _register_symbols(server: Connection) -> None:
    @server.feature(types.WORKSPACE_SYMBOL)
    async def handle(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        with error_responses():
            await server.notifications_applied()
            data = {"query": params.query}
            found = await server.runner.answer(SYMBOLS.name, data, front=LSP, as_json=False)
        return [_symbol_information(symbol) for symbol in found]


def _symbol_information(symbol: Symbol) -> types.SymbolInformation:
    start, end = symbol.range.start, symbol.range.end
    place = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
    return types.SymbolInformation(
        location=types.Location(symbol.uri, place),
        name=symbol.name,
        kind=_symbol_kind(symbol.kind),
        container_name=symbol.container or None,
    )


_OTHER_KINDS = {
    "extension": "Class",
    "impl": "Class",
    "macro": "Function",
    "rule": "Function",
    "target": "Function",
    "trait": "Interface",
    "type": "Class",
    "union": "Struct",
}
"""Kinds of `Chunk.symbol_kind` that LSP has by another name, or not at all."""


def _symbol_kind(kind: str) -> types.SymbolKind:
    name = _OTHER_KINDS.get(kind, kind.capitalize())
    return types.SymbolKind.__members__.get(name, types.SymbolKind.Variable)
