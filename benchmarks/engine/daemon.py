"""A real `cairn lsp` process, driven over its protocol.

A client of its own instead of pygls's: that one makes a named tuple class for every object of an answer, which
took 3.2 ms for ten results instead of 0.05, and would do so on the cores that are measured.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import psutil

PATIENCE_SECONDS = 60.0
_STARTING = frozenset({"starting", "indexing"})


class RequestError(Exception):
    """The daemon answered with an error."""


class DaemonDiedError(Exception):
    """The daemon's output ended."""


class Daemon:
    """One process on one folder. Times are seconds of `time.perf_counter`."""

    def __init__(self, folder: Path, data: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self._settings = dict(settings or {})
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._last_id = 0
        self._writing = threading.Lock()
        self.started = time.perf_counter()
        self.process = psutil.Popen(
            (sys.executable, "-m", "cairn", "lsp"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "CAIRN_DATA_DIR": str(data)},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.initialized = 0.0

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- life --------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Do as an editor does when it starts."""
        uri = self.folder.as_uri()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "capabilities": {},
                "workspaceFolders": [{"uri": uri, "name": self.folder.name}],
                "initializationOptions": self._settings,
            },
        )
        self.notify("initialized", {})
        self.initialized = time.perf_counter()

    def close(self) -> None:
        """Ask it to end, and wait; one that is dead already is fine."""
        if self.process.poll() is None:
            try:
                self.request("shutdown", None)
                self.notify("exit", None)
            except (DaemonDiedError, OSError):
                pass
            self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def cpu(self) -> float:
        """Seconds of CPU it has used so far, its children included."""
        family = [self.process, *self.process.children(recursive=True)]
        return float(sum(times.user + times.system for times in (each.cpu_times() for each in family)))

    # --- messages ----------------------------------------------------------------------------------

    def request(self, method: str, params: Any, patience: float = PATIENCE_SECONDS) -> Any:
        """The result. Raises RequestError, DaemonDiedError, or TimeoutError after `patience` seconds."""
        self._last_id += 1
        number = self._last_id
        answer = self._answers[number] = queue.SimpleQueue()
        self._send({"id": number, "method": method, "params": params})
        try:
            message = answer.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError(f"{method} was not answered in {patience:g} s") from None
        finally:
            del self._answers[number]
        if message is None:
            raise DaemonDiedError(f"the daemon ended while it answered {method}")
        if "error" in message:
            raise RequestError(f"{method}: {message['error']['message']}")
        return message["result"]

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def search(self, query: str, **params: Any) -> dict[str, Any]:
        """`cairn/search`."""
        answer: dict[str, Any] = self.request("cairn/search", {"query": query, **params})
        return answer

    def status(self) -> dict[str, Any]:
        """`cairn/status`."""
        answer: dict[str, Any] = self.request("cairn/status", {})
        return answer

    def saved(self, path: Path) -> None:
        """Announce that the editor saved `path`."""
        self.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    def pause(self, paused: bool) -> bool:
        """Stop making transformer vectors, or go on; False where the daemon cannot."""
        try:
            self.request("cairn/pause" if paused else "cairn/resume", {})
        except RequestError:
            return False
        return True

    # --- waiting -----------------------------------------------------------------------------------

    def until(
        self, holds: Callable[[dict[str, Any]], bool], patience: float, every: float = 0.05
    ) -> dict[str, Any]:
        """Ask for the status every `every` seconds until it satisfies `holds`; that status."""
        deadline = time.perf_counter() + patience
        while not holds(status := self.status()):
            if time.perf_counter() > deadline:
                raise TimeoutError(f"still not so after {patience:g} s: {status}")
            time.sleep(every)
        return status

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()

    def _read(self) -> None:
        """Sort answers to their requests; read on always, so that the daemon never waits for us."""
        output = self.process.stdout
        while header := output.readline():
            if not header.lower().startswith(b"content-length:"):
                continue
            length = int(header.partition(b":")[2])
            while output.readline().strip():
                pass
            message = json.loads(output.read(length))
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            elif "id" in message and message["id"] in self._answers:
                self._answers[message["id"]].put(message)
        for waiting in list(self._answers.values()):
            waiting.put(None)


def all_files_indexed(status: dict[str, Any]) -> bool:
    """Every present file can be found by keywords."""
    files = status["files"]
    return bool(status["state"] != "starting" and 0 < files["total"] == files["indexed"])


def settled(status: dict[str, Any]) -> bool:
    """Nothing is left to do. Without embedding the state is then `degraded` rather than `ready`."""
    return status["state"] not in _STARTING and all_files_indexed(status)


def all_static(status: dict[str, Any]) -> bool:
    """Every chunk can be found by its static vector."""
    return all_files_indexed(status) and bool(status.get("staticEmbedded", 0) >= status["chunks"])


def has_static_vectors(daemon: Daemon, patience: float) -> bool:
    """Wait until every chunk has its static vector; False where the daemon makes none."""
    deadline = time.perf_counter() + patience
    while not all_static(status := daemon.status()):
        none_come = "staticEmbedded" not in status or (settled(status) and not status["staticEmbedded"])
        if none_come or time.perf_counter() > deadline:
            return False
        time.sleep(0.05)
    return True
