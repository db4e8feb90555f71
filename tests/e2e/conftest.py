"""The real daemon over its real protocol."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

COMMAND = (sys.executable, "-m", "cairn", "lsp")
PATIENCE_SECONDS = 120
"""For a state to come about, on a machine that is busy with other things."""
PATIENT = {"legDeadlineMs": 1000 * PATIENCE_SECONDS}
"""Of a search: on such a machine, a leg that is broken off would make an answer another one."""


class Daemon:
    """A client of one `cairn lsp` process."""

    def __init__(self, client: LanguageClient, roots: tuple[Path, ...]) -> None:
        self.client = client
        self.roots = roots
        self.capabilities = types.ServerCapabilities()
        """What the answer to `initialize` announced."""

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.client._server

    async def initialize(
        self, options: dict[str, Any] | None = None, capabilities: types.ClientCapabilities | None = None
    ) -> types.InitializeResult:
        folders = [types.WorkspaceFolder(root.as_uri(), root.name) for root in self.roots]
        options = options or {}
        params = types.InitializeParams(
            capabilities=capabilities or types.ClientCapabilities(),
            process_id=os.getpid(),
            workspace_folders=folders,
            initialization_options={**options, "search": {**PATIENT, **options.get("search", {})}},
        )
        result = await self.client.initialize_session(params)
        self.capabilities = result.capabilities
        return result

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a `cairn/*` request; its result as plain JSON. Raises pygls's error of the response."""
        result = await asyncio.wait_for(
            self.client.protocol.send_request_async(method, params if params is not None else {}),
            PATIENCE_SECONDS,
        )
        return plain(result)

    async def search(self, query: str, **params: Any) -> Any:
        return await self.request("cairn/search", {"query": query, **params})

    async def until(
        self, holds: Callable[[Any], bool], method: str = "cairn/status", params: Any = None
    ) -> Any:
        """Ask again until the answer satisfies `holds`; the answer. Fails after PATIENCE_SECONDS."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds(answer := await self.request(method, params)):
            assert time.monotonic() < deadline, f"{method} did not come true; the last answer was {answer}"
            await asyncio.sleep(0.02)
        return answer

    async def ready(self) -> Any:
        return await self.until(lambda status: status["state"] == "ready")

    async def found(self, query: str, path: str | None) -> Any:
        """Wait until the first result for `query` is in `path`; until nothing matches its words for None."""
        if path is None:
            return await self.until(
                lambda answer: not any(r["matchedTerms"] for r in answer["results"]),
                "cairn/search",
                {"query": query},
            )
        return await self.until(
            lambda answer: answer["results"] and answer["results"][0]["path"] == path,
            "cairn/search",
            {"query": query},
        )

    def saved(self, path: Path) -> None:
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        )


def plain(value: Any) -> Any:
    """pygls's nested named tuples as the JSON they were."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@asynccontextmanager
async def started(
    *roots: Path,
    options: dict[str, Any] | None = None,
    capabilities: types.ClientCapabilities | None = None,
    prepare: Callable[[LanguageClient], None] = lambda _: None,
) -> AsyncIterator[Daemon]:
    """A daemon on the folders; it is asked to exit, and must leave no process behind. `prepare` has the client answer more."""
    client = make_test_lsp_client()
    client.feature("cairn/statusChanged")(lambda params: None)
    prepare(client)
    await client.start_io(*COMMAND)
    running = Daemon(client, roots)
    try:
        await running.initialize(options, capabilities)
        yield running
    finally:
        children = psutil.Process(running.process.pid).children(recursive=True) if is_alive(running) else []
        if is_alive(running):
            await client.shutdown_async(None)
            client.exit(None)
        await asyncio.wait_for(running.process.wait(), PATIENCE_SECONDS)
        await client.stop()
        assert not [child for child in children if child.is_running()]


@pytest.fixture
def daemon() -> Callable[..., AbstractAsyncContextManager[Daemon]]:
    """Starts daemons."""
    return started


def is_alive(daemon: Daemon) -> bool:
    return daemon.process.returncode is None
