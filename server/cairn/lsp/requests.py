"""Cairn's own requests, and the commands through which any client reaches those that act."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.engine.methods import LSP, METHODS, answer
from cairn.errors import InvalidRequestError
from cairn.lsp.streaming import PROGRESS_TOKENS, streaming

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.lsp.server import CairnServer
    from cairn.protocol import Symbol

Request = Callable[["Engine", Any, Callable[[], bool]], Any]
"""What the engine does for JSON params; the answer is JSON data."""

_COMMANDS = ("pause", "resume", "reindex", "resetFeedback")
"""Methods that are commands, too, for `workspace/executeCommand` in any client: each takes the method's params as its only
argument, or none. `cairn.lsp.early` announces them."""
_REFRESH = "cairn.refresh"
"""A client sends this when its window comes to the front."""


def register_requests(server: CairnServer) -> None:
    """Answer all of them on `server`."""
    for name in METHODS:
        if name not in ("discover", "context"):
            _register(server, name)
    _register_discover(server)
    _register_context(server)
    for name in _COMMANDS:
        _register_command(server, f"cairn.{name}", _asking(name))
    _register_command(server, _REFRESH, _refresh)
    _register_symbols(server)


def _asking(name: str) -> Request:
    # Converted on the query thread: a stage's params may be half a million characters either way.
    return lambda engine, params, cancelled: answer(engine, name, params, cancelled, front=LSP)


def _refresh(engine: Engine, params: Any, _: Callable[[], bool]) -> None:
    if params:
        raise InvalidRequestError("arguments", f"{_REFRESH} takes none")
    engine.look_again()


def _register(server: CairnServer, name: str) -> None:
    @server.feature(f"cairn/{name}")
    async def handle(params: Any) -> Any:
        return await _answered(server, params, _asking(name))


def _register_discover(server: CairnServer) -> None:
    @server.feature("cairn/discover")
    async def handle(params: Any) -> Any:
        with streaming(server, params) as tell:

            def work(engine: Engine, data: Any, cancelled: Callable[[], bool]) -> Any:
                return answer(engine, "discover", data, cancelled, front=LSP, tell=tell)

            return await _answered(server, params, work)


def _register_context(server: CairnServer) -> None:
    @server.feature("cairn/context")
    async def handle(params: Any) -> Any:
        def work(engine: Engine, data: Any, cancelled: Callable[[], bool]) -> Any:
            return answer(engine, "context", _with_screen(server, data), cancelled, front=LSP)

        return await _answered(server, params, work)


def _with_screen(server: CairnServer, data: Any) -> Any:
    """The params of a context with the document's text: of one that is not indexed (untitled, ignored, elsewhere), what is
    on the screen is all there is."""
    try:
        document = server.workspace.text_documents.get(data["textDocument"]["uri"])
    except (KeyError, TypeError):  # its conversion will say so
        return data
    known = document is not None and data.get("text") is None
    return {**data, "text": document.source} if document is not None and known else data


def _register_command(server: CairnServer, name: str, work: Request) -> None:
    @server.command(name)
    async def handle(*arguments: Any) -> Any:
        if len(arguments) > 1:
            raise JsonRpcInvalidParams(f"arguments: {name} takes one at most, got {len(arguments)}")
        return await _answered(server, arguments[0] if arguments else None, work)


def _register_symbols(server: CairnServer) -> None:
    @server.feature(types.WORKSPACE_SYMBOL)
    async def handle(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        found = await server.run(lambda engine, cancelled: engine.symbols(params.query, cancelled))
        return [_symbol_information(symbol) for symbol in found]


def _symbol_information(symbol: Symbol) -> types.SymbolInformation:
    start, end = symbol.range.start, symbol.range.end
    place = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
    return types.SymbolInformation(
        location=types.Location(symbol.uri, place),
        name=symbol.name,
        kind=_SYMBOL_KINDS.get(symbol.kind, types.SymbolKind.Variable),
        container_name=symbol.container or None,
    )


_SYMBOL_KINDS = {
    "class": types.SymbolKind.Class,
    "constant": types.SymbolKind.Constant,
    "constructor": types.SymbolKind.Constructor,
    "enum": types.SymbolKind.Enum,
    "extension": types.SymbolKind.Class,
    "field": types.SymbolKind.Field,
    "function": types.SymbolKind.Function,
    "impl": types.SymbolKind.Class,
    "interface": types.SymbolKind.Interface,
    "key": types.SymbolKind.Key,
    "macro": types.SymbolKind.Function,
    "method": types.SymbolKind.Method,
    "module": types.SymbolKind.Module,
    "namespace": types.SymbolKind.Namespace,
    "object": types.SymbolKind.Object,
    "operator": types.SymbolKind.Operator,
    "package": types.SymbolKind.Package,
    "property": types.SymbolKind.Property,
    "rule": types.SymbolKind.Function,
    "struct": types.SymbolKind.Struct,
    "target": types.SymbolKind.Function,
    "trait": types.SymbolKind.Interface,
    "type": types.SymbolKind.Class,
    "union": types.SymbolKind.Struct,
    "variable": types.SymbolKind.Variable,
}
"""LSP's kinds for those of `Chunk.symbol_kind`."""


async def _answered(server: CairnServer, params: Any, work: Request) -> Any:
    data = _without_tokens(params)
    return await server.run(lambda engine, cancelled: work(engine, data, cancelled))


def _without_tokens(params: Any) -> Any:
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key not in PROGRESS_TOKENS}
