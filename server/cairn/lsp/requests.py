"""Cairn's own requests, and the commands through which any client reaches those that act.

`cairn/discover` streams what it knows while it runs: LSP's partial results and work-done progress. Its stages run on a
query thread, which hands each message to the event loop and goes on; the loop sends them in order, and nothing once the
request is cancelled or about to be answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.engine.methods import LSP, METHODS, SYMBOLS
from cairn.engine.runner import progress_json
from cairn.errors import InvalidRequestError
from cairn.lsp.connection import Connection, error_responses
from cairn.protocol import DiscoverProgress, Range, Symbol

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

    @server.command(_REFRESH)
    async def refresh(*arguments: Any) -> None:
        with error_responses():
            if _only(_REFRESH, arguments):
                raise InvalidRequestError("arguments", f"{_REFRESH} takes none")
            await server.runner.run(lambda engine: engine.look_again())

    @server.feature(types.WORKSPACE_SYMBOL)
    async def symbols(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        with error_responses():
            await server.notifications_applied()
            data = {"query": params.query}
            found = await server.runner.answer(SYMBOLS.name, data, front=LSP, as_json=False)
        return [_symbol_information(symbol) for symbol in found]


def _register(server: Connection, name: str) -> None:
    @server.feature(f"cairn/{name}")
    async def handle(params: Any) -> Any:
        with (
            _streaming(server, params) if METHODS[name].streams else nullcontext() as tell,
            error_responses(),
        ):
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
    """LSP allows them in the params of any request."""
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key not in (_WORK_DONE, _PARTIAL_RESULT)}


def _symbol_information(symbol: Symbol) -> types.SymbolInformation:
    return types.SymbolInformation(
        location=types.Location(symbol.uri, lsp_range(symbol.range)),
        name=symbol.name,
        kind=symbol_kind(symbol.kind),
        container_name=symbol.container or None,
    )


def lsp_range(given: Range) -> types.Range:
    """The range as lsprotocol has it."""
    start, end = given.start, given.end
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))


def symbol_kind(kind: str) -> types.SymbolKind:
    """LSP's kind for one of Cairn's."""
    name = _OTHER_KINDS.get(kind, kind.capitalize())
    return types.SymbolKind.__members__.get(name, types.SymbolKind.Variable)


_OTHER_KINDS = {
    "extension": "Class",
    "impl": "Class",
    "macro": "Function",
    "prototype": "Function",
    "rule": "Function",
    "target": "Function",
    "trait": "Interface",
    "type": "Class",
    "union": "Struct",
}
"""Kinds of `Chunk.symbol_kind` that LSP has by another name, or not at all."""


# --- streaming -------------------------------------------------------------------------------------


_WORK_DONE, _PARTIAL_RESULT = "workDoneToken", "partialResultToken"

STAGES_IN_WORDS = {
    "filter_collections": "choosing collections",
    "score_collections": "ranking collections",
    "expand_queries_baseline": "varying the question",
    "broad_discovery": "searching",
    "semantic_focus": "looking closer at the best collections",
    "promote_readme": "looking for READMEs",
    "compress_evidence": "picking evidence",
    "build_answer_plan": "arranging the evidence",
    "render_llm_prompt": "writing the prompt",
}
"""What is shown while each stage runs, in the order in which they do."""


@contextmanager
def _streaming(server: Connection, params: Any) -> Iterator[Callable[[DiscoverProgress], None] | None]:
    """Around one request, on the event loop: what hears of its stages, or None where no token asks for that.

    Raises JsonRpcInvalidParams for a token that LSP does not know.
    """
    partial, work = (_token(params, name) for name in (_PARTIAL_RESULT, _WORK_DONE))
    if partial is None and work is None:
        yield None
        return
    task, is_open, stages = asyncio.current_task(), True, list(STAGES_IN_WORDS)

    def send(token: int | str | None, value: Any) -> None:
        cancelled = task is not None and task.cancelling()
        if token is not None and is_open and not cancelled:
            server.protocol.notify(types.PROGRESS, types.ProgressParams(token, value))

    def tell(progress: DiscoverProgress) -> None:
        """Take in what a stage changed; on the query thread."""
        ended = stages.index(progress.stage) + 1
        if work is not None and ended < len(stages):
            report = types.WorkDoneProgressReport(
                message=STAGES_IN_WORDS[stages[ended]], percentage=100 * ended // len(stages)
            )
            server.soon(lambda: send(work, report))
        if partial is not None:
            changed = progress_json(progress)
            server.soon(lambda: send(partial, changed))

    first = STAGES_IN_WORDS[stages[0]]
    send(work, types.WorkDoneProgressBegin(title="Cairn", cancellable=False, message=first, percentage=0))
    try:
        yield tell
    finally:
        send(work, types.WorkDoneProgressEnd())
        is_open = False  # a token is valid until its request is answered


def _token(params: Any, name: str) -> int | str | None:
    token = params.get(name) if isinstance(params, dict) else None
    if token is None or (isinstance(token, int | str) and not isinstance(token, bool)):
        return token
    raise JsonRpcInvalidParams(f"{name}: expected a string or a whole number, got {str(token)[:60]}")
