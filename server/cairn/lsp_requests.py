"""Cairn's own requests, and the commands through which any client reaches those that act."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import evolve
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.errors import InvalidRequestError
from cairn.lsp_streaming import PROGRESS_TOKENS, streaming

if TYPE_CHECKING:
    from cairn.engine import Engine
    from cairn.lsp import CairnServer
    from cairn.protocol import Symbol

Request = Callable[["Engine", Any, Callable[[], bool]], Any]


def _pause(engine: Engine, *_: Any) -> dict[str, bool]:
    engine.pause()
    return {"paused": True}


def _resume(engine: Engine, *_: Any) -> dict[str, bool]:
    engine.resume()
    return {"paused": False}


_REQUESTS: dict[str, tuple[str, Request]] = {
    "cairn/search": ("SearchParams", lambda engine, params, cancelled: engine.search(params, cancelled)),
    "cairn/related": ("RelatedParams", lambda engine, params, cancelled: engine.related(params, cancelled)),
    "cairn/status": ("NoParams", lambda engine, _, __: engine.status()),
    "cairn/collections": ("NoParams", lambda engine, _, __: engine.collections()),
    "cairn/fetchPage": ("FetchPageParams", lambda engine, params, _: engine.fetch_page(params)),
    "cairn/reindex": ("ReindexParams", lambda engine, params, _: engine.reindex(params)),
    "cairn/feedback": ("FeedbackParams", lambda engine, params, _: engine.feedback(params)),
    "cairn/pause": ("NoParams", _pause),
    "cairn/resume": ("NoParams", _resume),
}
"""Cairn's own methods: the class of their params in `cairn.protocol`, and what the engine does."""

STAGES = (
    "filterCollections",
    "scoreCollections",
    "expandQueries",
    "broadDiscovery",
    "semanticFocus",
    "promoteReadme",
    "compressEvidence",
    "buildAnswerPlan",
    "renderPrompt",
)
"""The stages of discovery as methods, without `cairn/`; `cairn.stage_protocol` has their params and answers."""

_COMMANDS: dict[str, tuple[str, Request]] = {
    "cairn.pause": _REQUESTS["cairn/pause"],
    "cairn.resume": _REQUESTS["cairn/resume"],
    "cairn.reindex": _REQUESTS["cairn/reindex"],
    "cairn.refresh": ("NoParams", lambda engine, _, __: engine.look_again()),
    "cairn.resetFeedback": (
        "ResetFeedbackParams",
        lambda engine, params, _: engine.reset_feedback(params),
    ),
}
"""`workspace/executeCommand`: each takes the params of its request as its only argument, or none.

`cairn.early` announces them. A client sends `cairn.refresh` when its window comes to the front.
"""


def register_requests(server: CairnServer) -> None:
    """Answer all of them on `server`."""
    for method, (params_class, work) in _REQUESTS.items():
        _register_request(server, method, params_class, work)
    for name in STAGES:
        _register_stage(server, name)
    _register_discover(server)
    for name, (params_class, work) in _COMMANDS.items():
        _register_command(server, name, params_class, work)
    _register_context(server)
    _register_symbols(server)


def _register_request(server: CairnServer, method: str, params_class: str, work: Request) -> None:
    @server.feature(method)
    async def handle(params: Any) -> Any:
        return await _answer(server, _without_tokens(params), params_class, work)


def _register_stage(server: CairnServer, name: str) -> None:
    @server.feature(f"cairn/{name}")
    async def handle(params: Any) -> Any:
        def work(engine: Engine, cancelled: Callable[[], bool]) -> Any:
            # Converted on the query thread: it may be half a million characters either way.
            from cairn.schema import structure, unstructure
            from cairn.stage_protocol import PARAMS

            request = structure(_without_tokens(params), PARAMS[name])
            return unstructure(engine.stage(name, request, cancelled))

        return await server.run(work)


def _register_discover(server: CairnServer) -> None:
    @server.feature("cairn/discover")
    async def handle(params: Any) -> Any:
        with streaming(server, params) as tell:
            return await _answer(
                server,
                _without_tokens(params),
                "DiscoverParams",
                lambda engine, request, cancelled: engine.discover(request, cancelled, tell),
            )


def _register_command(server: CairnServer, name: str, params_class: str, work: Request) -> None:
    @server.command(name)
    async def handle(*arguments: Any) -> Any:
        if len(arguments) > 1:
            raise JsonRpcInvalidParams(f"arguments: {name} takes one at most, got {len(arguments)}")
        params = arguments[0] if arguments and arguments[0] is not None else {}
        return await _answer(server, params, params_class, work)


def _register_context(server: CairnServer) -> None:
    def work(engine: Engine, params: Any, cancelled: Callable[[], bool]) -> Any:
        # Of a document that is not indexed (untitled, ignored, elsewhere), what is on the screen is all there is.
        document = server.workspace.text_documents.get(params.text_document.uri)
        if params.text is None and document is not None:
            params = evolve(params, text=document.source)
        return engine.context(params, cancelled)

    _register_request(server, "cairn/context", "ContextParams", work)


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


async def _answer(server: CairnServer, params: Any, params_class: str, work: Request) -> Any:
    # Imported here: `initialize` is answered before anything that Cairn itself needs is loaded.
    from cairn import protocol
    from cairn.schema import structure, unstructure

    try:
        request = structure(params, getattr(protocol, params_class))
    except InvalidRequestError as problem:
        raise JsonRpcInvalidParams(str(problem)) from problem
    return unstructure(await server.run(lambda engine, cancelled: work(engine, request, cancelled)))


def _without_tokens(params: Any) -> Any:
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key not in PROGRESS_TOKENS}
