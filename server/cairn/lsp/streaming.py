"""Streams what `cairn/discover` knows while it runs: LSP's partial results and work-done progress.

The stages run on a query thread, which hands each message to the event loop and goes on; the loop sends them in order,
and nothing once the request is cancelled or about to be answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

if TYPE_CHECKING:
    from cairn.lsp.connection import Connection
    from cairn.protocol import DiscoverProgress

Token = int | str

WORK_DONE, PARTIAL_RESULT = "workDoneToken", "partialResultToken"
PROGRESS_TOKENS = (WORK_DONE, PARTIAL_RESULT)
"""LSP allows them in the params of any request."""

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
def streaming(server: Connection, params: Any) -> Iterator[Callable[[DiscoverProgress], None] | None]:
    """Around one request, on the event loop: what hears of its stages, or None where no token asks for that.

    Raises JsonRpcInvalidParams for a token that LSP does not know.
    """
    partial, work = (_token(params, name) for name in (PARTIAL_RESULT, WORK_DONE))
    if partial is None and work is None:
        yield None
        return
    task, is_open, stages = asyncio.current_task(), True, list(STAGES_IN_WORDS)

    def send(token: Token | None, value: Any) -> None:
        cancelled = task is not None and task.cancelling()
        if token is not None and is_open and not cancelled:
            server.protocol.notify(types.PROGRESS, types.ProgressParams(token, value))

    def tell(progress: DiscoverProgress) -> None:
        """Take in what a stage changed; on the query thread."""
        from cairn.schema.convert import unstructure

        ended = stages.index(progress.stage) + 1
        if work is not None and ended < len(stages):
            report = types.WorkDoneProgressReport(
                message=STAGES_IN_WORDS[stages[ended]], percentage=100 * ended // len(stages)
            )
            server.soon(lambda: send(work, report))
        if partial is not None:
            known = {key: value for key, value in unstructure(progress).items() if value is not None}
            server.soon(lambda: send(partial, known))

    first = STAGES_IN_WORDS[stages[0]]
    send(work, types.WorkDoneProgressBegin(title="Cairn", cancellable=False, message=first, percentage=0))
    try:
        yield tell
    finally:
        send(work, types.WorkDoneProgressEnd())
        is_open = False  # a token is valid until its request is answered


def _token(params: Any, name: str) -> Token | None:
    token = params.get(name) if isinstance(params, dict) else None
    if token is None or (isinstance(token, int | str) and not isinstance(token, bool)):
        return token
    raise JsonRpcInvalidParams(f"{name}: expected a string or a whole number, got {str(token)[:60]}")
