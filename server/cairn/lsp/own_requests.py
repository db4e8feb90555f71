"""Cairn's own requests, and commands, which any client can execute, for those that change something.

`cairn/discover` streams its stages as LSP's partial results and work-done progress. The stages run on a query
thread, which passes each message to the event loop and continues. The loop sends the messages in order, and
sends none after the request is cancelled or answered.
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
from cairn.lsp.editor_connection import Connection, error_responses
from cairn.protocol import DiscoverProgress, Range, Symbol

_COMMANDS = ("pause", "resume", "reindex", "resetFeedback")
"""Methods that `workspace/executeCommand` can run as well. Its only argument is the method's params, and may
be left out. `cairn.lsp.early` announces these commands."""
_REFRESH = "cairn.refresh"


def register_requests(server: Connection) -> None:
    for name in METHODS:
        _register(server, name)
    for name in _COMMANDS:
        _register_command(server, name)

    @server.command(_REFRESH)
    async def refresh(*arguments: Any) -> None:
        with error_responses():
            if _only(_REFRESH, arguments):
                raise InvalidRequestError("arguments", f"{_REFRESH} takes none")
            (await server.runner.made()).look_again()

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
            data = _without_tokens(params)
            if name == "context":
                data = _with_unsaved_text(server, data)
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


def _with_unsaved_text(server: Connection, data: Any) -> Any:
    """Add the document's unsaved text to the params of a context request.

    A document that is not indexed (untitled, ignored or outside of the folders) has no other text.
    """
    try:
        document = server.workspace.text_documents.get(data["textDocument"]["uri"])
    except (KeyError, TypeError):  # The conversion of the params reports this error.
        return data
    if document is None or data.get("text") is not None:
        return data
    return {**data, "text": document.source}


def _without_tokens(params: Any) -> Any:
    """Return the params without progress tokens, which LSP allows in any request."""
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
    start, end = given.start, given.end
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))


def symbol_kind(kind: str) -> types.SymbolKind:
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
"""LSP's kinds for `Chunk.symbol_kind`, where LSP has another name or only a similar kind."""


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
"""The progress messages of the stages, in the order in which they run."""


@contextmanager
def _streaming(server: Connection, params: Any) -> Iterator[Callable[[DiscoverProgress], None] | None]:
    """Yield a callback for the stages of one request, or None if its params contain no token.

    Use it on the event loop. Raises JsonRpcInvalidParams for a token that is neither a string nor an integer.
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
        """Send what a stage changed; called on the query thread."""
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
        is_open = False  # The token is invalid once the request is answered.


def _token(params: Any, name: str) -> int | str | None:
    token = params.get(name) if isinstance(params, dict) else None
    if token is None or (isinstance(token, int | str) and not isinstance(token, bool)):
        return token
    raise JsonRpcInvalidParams(f"{name}: expected a string or a whole number, got {str(token)[:60]}")
