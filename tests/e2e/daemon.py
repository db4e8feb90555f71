"""A client that drives the real `cairn lsp` over its real protocol."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

from tests.serving import PATIENCE_SECONDS

COMMAND = (sys.executable, "-m", "cairn", "lsp")
PATIENT = {"legDeadlineMs": 1000 * PATIENCE_SECONDS}
"""Search settings under which a busy machine drops no leg of a search, which would change the answer."""
NO_MODEL = {"embedding": {"enabled": False}}
UNWATCHED = {"index": {"watch": False}}


class Daemon:
    """A client of one `cairn lsp` process."""

    def __init__(self, client: LanguageClient, roots: tuple[Path, ...]) -> None:
        self.client = client
        self.roots = roots
        self.capabilities = types.ServerCapabilities()
        """The capabilities in the response to `initialize`."""

    @property
    def root(self) -> Path:
        return self.roots[0]

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.client._server

    async def initialize(
        self, options: dict[str, Any] | None = None, capabilities: types.ClientCapabilities | None = None
    ) -> None:
        options = options or {}
        params = types.InitializeParams(
            capabilities=capabilities or types.ClientCapabilities(),
            process_id=os.getpid(),
            workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name) for root in self.roots],
            initialization_options={**options, "search": {**PATIENT, **options.get("search", {})}},
        )
        self.capabilities = (await self.client.initialize_session(params)).capabilities

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a `cairn/*` request and return its result as plain JSON, or raise pygls's error."""
        sending = self.client.protocol.send_request_async(method, {} if params is None else params)
        return plain(await asyncio.wait_for(sending, PATIENCE_SECONDS))

    async def search(self, query: str, **params: Any) -> Any:
        return await self.request("cairn/search", {"query": query, **params})

    async def discover(self, query: str, **params: Any) -> Any:
        return await self.request("cairn/discover", {"query": query, **params})

    async def status(self) -> Any:
        return await self.request("cairn/status")

    async def execute(self, command: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command, list(arguments) or None)
        executing = self.client.workspace_execute_command_async(params)
        return plain(await asyncio.wait_for(executing, PATIENCE_SECONDS))

    async def wait_for(
        self, holds: Callable[[Any], bool], method: str = "cairn/status", params: Any = None
    ) -> Any:
        """Repeat the request until its answer satisfies `holds`, and return that answer."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds(answer := await self.request(method, params)):
            assert time.monotonic() < deadline, f"timeout of {method}; the last answer was {answer}"
            await asyncio.sleep(0.05)
        return answer

    async def ready(self) -> Any:
        return await self.wait_for(lambda status: status["state"] == "ready")

    async def settled(self) -> Any:
        return await self.wait_for(is_settled)

    async def found(self, query: str, path: str | None) -> Any:
        """Wait until the first result is in `path`, or for None until no result has a word of the query."""
        return await self.wait_for(
            lambda answer: (
                not any(result["matchedTerms"] for result in answer["results"])
                if path is None
                else answer["results"] and answer["results"][0]["path"] == path
            ),
            "cairn/search",
            {"query": query},
        )

    def save(self, path: Path, text: str | None = None) -> None:
        """Send `didSave`, after writing the file if there is a text."""
        if text is not None:
            path.write_text(text)
        params = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        self.client.text_document_did_save(params)

    def open(self, document: Path | str, text: str, language: str = "python") -> None:
        """Send `didOpen` for a file or a URI."""
        item = types.TextDocumentItem(_uri(document), language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, document: Path | str, text: str, version: int = 2) -> None:
        """Send `didChange` with the whole text of a file or a URI."""
        identifier = types.VersionedTextDocumentIdentifier(version, _uri(document))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def close(self, document: Path | str) -> None:
        identifier = types.TextDocumentIdentifier(_uri(document))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))

    def configure(self, settings: Any) -> None:
        """Send the settings of all of the editor's servers."""
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


def _uri(document: Path | str) -> str:
    return document if isinstance(document, str) else document.as_uri()


def plain(value: Any) -> Any:
    """Return pygls's nested named tuples as the JSON from which they were made."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def is_settled(status: Any) -> bool:
    """Return whether every present file is indexed, and nothing is left to do."""
    return bool(
        status["state"] in ("ready", "degraded")
        and status["activity"] == "idle"
        and 0 < status["files"]["indexed"] == status["files"]["total"]
    )


@asynccontextmanager
async def run_daemon(
    *roots: Path,
    options: dict[str, Any] | None = None,
    capabilities: types.ClientCapabilities | None = None,
    prepare: Callable[[LanguageClient], None] = lambda _: None,
) -> AsyncIterator[Daemon]:
    """Run a daemon on the folders, shut it down at the end, and assert that it leaves no process behind.

    `prepare` can add handlers to the client before it starts.
    """
    client = make_test_lsp_client()
    client.feature("cairn/statusChanged")(lambda params: None)
    prepare(client)
    await client.start_io(*COMMAND)
    daemon = Daemon(client, roots)
    try:
        await daemon.initialize(options, capabilities)
        yield daemon
    finally:
        children = []
        if daemon.process.returncode is None:
            children = psutil.Process(daemon.process.pid).children(recursive=True)
            await client.shutdown_async(None)
            client.exit(None)
        await asyncio.wait_for(daemon.process.wait(), PATIENCE_SECONDS)
        await client.stop()
        assert not [child for child in children if child.is_running()]


async def wait_until(holds: Callable[[], Any]) -> None:
    """Wait until `holds()` is true."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.sleep(0.05)
