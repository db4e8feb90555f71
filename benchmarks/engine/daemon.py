"""Drives a real `cairn lsp` process over its protocol.

It does not use pygls's client, which makes a named tuple class for every object of an answer. That took 3.2
ms for ten results instead of 0.05, on the cores that are measured.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil

PATIENCE_SECONDS = 60.0
_STARTING = frozenset({"starting", "indexing"})


class RequestError(Exception):
    """The daemon answered with an error; `code` is JSON-RPC's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class DaemonDiedError(Exception):
    """The daemon's output ended."""


class Pending:
    """A sent request. Times are seconds of `time.perf_counter`."""

    def __init__(self, daemon: Daemon, number: int, method: str) -> None:
        self._daemon, self._number, self._method = daemon, number, method
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.sent = 0.0
        self.answered: float | None = None
        self.token: int | str | None = None
        """Its `partialResultToken`."""
        self.parts: list[tuple[float, Any]] = []
        """The values of `$/progress` for the token, with their times."""

    def arrived(self, message: dict[str, Any] | None) -> None:
        """Store the answer; None if the daemon ended instead."""
        self.answered = time.perf_counter()
        self._messages.put(message)

    def cancel(self) -> None:
        """Cancel the request; the daemon still answers it, usually with an error."""
        self._daemon.notify("$/cancelRequest", {"id": self._number})

    def result(self, patience: float = PATIENCE_SECONDS) -> Any:
        """Wait for the result. Raises RequestError, DaemonDiedError, or TimeoutError after `patience`
        seconds."""
        try:
            message = self._messages.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError(f"{self._method} was not answered in {patience:g} s") from None
        finally:
            self._daemon.forget(self._number)
        if message is None:
            raise DaemonDiedError(f"the daemon ended while it answered {self._method}")
        if "error" in message:
            error = message["error"]
            raise RequestError(f"{self._method}: {error['message']}", error["code"])
        return message["result"]


class Daemon:
    """One process on one folder. Times are seconds of `time.perf_counter`."""

    def __init__(
        self,
        folder: Path,
        data: Path,
        settings: Mapping[str, Any] | None = None,
        command: Sequence[str] = (sys.executable, "-P", "-m", "cairn", "lsp"),
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        """`command` may start any language server; `capabilities` are the client's."""
        self.folder = folder
        self._settings = dict(settings or {})
        self._capabilities = dict(capabilities or {})
        self._pending: dict[int, Pending] = {}
        self._last_id = 0
        self._writing = threading.Lock()
        self.started = time.perf_counter()
        self.process = psutil.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The user's own settings file must not change the results.
            env={**os.environ, "CAIRN_DATA_DIR": str(data), "CAIRN_CONFIG_DIR": str(data / "settings")},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.initialized = 0.0
        self.notified: Callable[[str, Any], None] | None = None
        """The callback for every notification except progress, with its method and parameters."""

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- life -------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Send the messages of an editor's start."""
        uri = self.folder.as_uri()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "capabilities": self._capabilities,
                "workspaceFolders": [{"uri": uri, "name": self.folder.name}],
                "initializationOptions": self._settings,
            },
        )
        self.notify("initialized", {})
        self.initialized = time.perf_counter()

    def close(self) -> None:
        """Ask the process to end, and wait; a dead process is fine."""
        if self.process.poll() is None:
            try:
                self.request("shutdown", None)
                self.notify("exit", None)
            except (DaemonDiedError, OSError):
                pass
            self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def cpu(self) -> float:
        """Return the seconds of CPU used so far, with child processes."""
        family = [self.process, *self.process.children(recursive=True)]
        return float(sum(times.user + times.system for times in (each.cpu_times() for each in family)))

    # --- messages ---------------------------------------------------------------------------------

    def request(self, method: str, params: Any, patience: float = PATIENCE_SECONDS) -> Any:
        """Return a request's result. Raises RequestError, DaemonDiedError, or TimeoutError after `patience`
        seconds."""
        return self.send(method, params).result(patience)

    def send(self, method: str, params: Any) -> Pending:
        """Send a request without waiting."""
        self._last_id += 1
        pending = self._pending[self._last_id] = Pending(self, self._last_id, method)
        pending.token = params.get("partialResultToken") if isinstance(params, Mapping) else None
        pending.sent = time.perf_counter()
        self._send({"id": self._last_id, "method": method, "params": params})
        return pending

    def forget(self, number: int) -> None:
        """Drop a request whose answer is no longer needed."""
        self._pending.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def search(self, query: str, **params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.request("cairn/search", {"query": query, **params})
        return answer

    def status(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.request("cairn/status", {})
        return answer

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Send the settings of the start with `settings` in place of their sections."""
        changed = {**self._settings, **settings}
        self.notify("workspace/didChangeConfiguration", {"settings": {"cairn": changed}})

    def saved(self, path: Path) -> None:
        """Announce that the editor saved `path`."""
        self.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    def pause(self, paused: bool) -> bool:
        """Pause or resume the vectors; return False if the daemon cannot."""
        try:
            self.request("cairn/pause" if paused else "cairn/resume", {})
        except RequestError:
            return False
        return True

    # --- waiting ----------------------------------------------------------------------------------

    def wait_until(
        self, holds: Callable[[dict[str, Any]], bool], patience: float, every: float = 0.05
    ) -> dict[str, Any]:
        """Request the status every `every` seconds until it satisfies `holds`; return that status."""
        deadline = time.perf_counter() + patience
        while not holds(status := self.status()):
            if time.perf_counter() > deadline:
                raise TimeoutError(f"the status is still not as expected after {patience:g} s: {status}")
            time.sleep(every)
        return status

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()

    def _read(self) -> None:
        """Assign answers to their requests, all the time, so that the daemon never blocks on its output."""
        output = self.process.stdout
        while header := output.readline():
            if not header.lower().startswith(b"content-length:"):
                continue
            length = int(header.partition(b":")[2])
            while output.readline().strip():
                pass
            message = json.loads(output.read(length))
            if "method" in message and "id" in message:
                items = (
                    message["params"].get("items") if message["method"] == "workspace/configuration" else None
                )
                self._send({"id": message["id"], "result": items and [None] * len(items)})
            elif "id" in message and (pending := self._pending.get(message["id"])):
                pending.arrived(message)
            elif message.get("method") == "$/progress":
                self._part_arrived(message["params"]["token"], message["params"]["value"])
            elif "method" in message and self.notified:
                self.notified(message["method"], message.get("params"))
        for pending in list(self._pending.values()):
            pending.arrived(None)

    def _part_arrived(self, token: int | str, value: Any) -> None:
        arrived = time.perf_counter()
        for pending in list(self._pending.values()):
            if pending.token == token:
                pending.parts.append((arrived, value))


def all_files_indexed(status: dict[str, Any]) -> bool:
    """Return whether every present file can be found by keywords."""
    files = status["files"]
    return bool(status["state"] != "starting" and 0 < files["total"] == files["indexed"])


def settled(status: dict[str, Any]) -> bool:
    """Return whether nothing is left to do: the state is `ready`, or `degraded` without embedding."""
    return status["state"] not in _STARTING and all_files_indexed(status)


def all_static(status: dict[str, Any]) -> bool:
    """Return whether every chunk can be found by its static vector."""
    return all_files_indexed(status) and bool(status.get("staticEmbedded", 0) >= status["chunks"])


def has_static_vectors(daemon: Daemon, patience: float) -> bool:
    """Wait until every chunk has its static vector; return False if the daemon makes none."""
    deadline = time.perf_counter() + patience
    while not all_static(status := daemon.status()):
        none_come = "staticEmbedded" not in status or (settled(status) and not status["staticEmbedded"])
        if none_come or time.perf_counter() > deadline:
            return False
        time.sleep(0.05)
    return True
