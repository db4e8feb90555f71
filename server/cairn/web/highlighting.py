"""Limits the processor time of colours, and stops the work when the browser leaves.

Other processes divide texts into tokens (`highlighter`). Whatever a text contains, its process is killed at
the end of its time, and the rest of the text has no colours.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TypeVar, cast

from attrs import frozen

from cairn.startup.child_process import LOST, end, send, start
from cairn.startup.figures import processor_seconds

RESPONSE_SECONDS = 1.5
"""The processor time for all texts of a response. Pygments takes 0.4 to 2 s for 200,000 characters."""
TEXT_SECONDS = 1.0
"""The processor time for a short text, of which the result is cached."""
_EVERY_SECONDS = 0.05
"""How often the processor time of a process is measured."""
_PROCESSES = 2
"""The number of processes, of about 20 MB each. Further texts wait."""
_PROGRAM = "from cairn.web.highlighter import serve; serve()"

T = TypeVar("T")
Token = tuple[str, int]
"""The CSS class of a token, "" for none, and its length in characters."""
_Batches = SimpleQueue[list[Token] | None]


@frozen
class Text:
    """A text to divide into tokens."""

    content: str
    """The text, with a line feed at each line end."""
    language: str
    name: str
    """The name of the file, which decides if Pygments does not know the language."""
    most: int | None
    """The number of lines to highlight; None for all."""


class Highlighting:
    """The colours of one response, of one text after the other. `stop` ends them from any thread."""

    def __init__(self) -> None:
        self._seconds_left = RESPONSE_SECONDS
        self._lock = threading.Lock()
        self._is_stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._batches = _Batches()

    def tokens(self, text: Text, limit: float = math.inf) -> Iterator[Token]:
        """Yield the tokens of the text; only the first ones if the text takes longer than `limit`, in
        seconds, or the response's time ends."""
        batches = _Batches()
        with self._lock:
            if self.is_over:
                return
            seconds = min(limit, self._seconds_left)
            self._batches = batches
        _threads.submit(self._read, text, seconds, batches)
        while batch := batches.get():
            yield from batch

    @property
    def is_over(self) -> bool:
        return self._is_stopped or self._seconds_left <= 0

    def run(self, work: Callable[[], T]) -> T:
        """Run work that highlights texts, with these colours."""
        before = current.set(self)
        try:
            return work()
        finally:
            current.reset(before)

    @contextlib.contextmanager
    def stopped_when_cancelled(self) -> Iterator[None]:
        """Stop when the task inside the context is cancelled."""
        try:
            yield
        except asyncio.CancelledError:
            self.stop()
            raise

    def stop(self) -> None:
        """End the work on the current text, and do none on further ones."""
        with self._lock:
            self._is_stopped = True
            self._batches.put(None)
            if self._process is not None:
                self._process.kill()

    def _read(self, text: Text, seconds: float, batches: _Batches) -> None:
        """Fill the queue at once, although a browser may receive slowly: others need the process."""
        used = seconds
        try:
            process = _own_process()
            with self._lock:
                if self._is_stopped:
                    return
                self._process = process
            with _killed_after(process, seconds):
                before = _spent(process)
                assert process.stdin
                assert process.stdout
                send(process.stdin, (text, seconds))  # type: ignore[arg-type]
                while batch := pickle.load(process.stdout):
                    batches.put(batch)
                used = _spent(process) - before
        except LOST:
            _drop_own_process()
        finally:
            with self._lock:
                was_killed = self._is_stopped and self._process is not None
                self._process = None
                self._seconds_left -= used
            if was_killed:
                _drop_own_process()
            batches.put(None)


current: ContextVar[Highlighting] = ContextVar("highlighting")
"""The colours of the current response."""

# --- the processes, one for each thread -------------------------------------------------------------------

_threads = ThreadPoolExecutor(_PROCESSES, "cairn-colours")
_own = threading.local()
_started: set[subprocess.Popen[bytes]] = set()


def close() -> None:
    """End all processes."""
    for process in list(_started):
        end(process)


def _own_process() -> subprocess.Popen[bytes]:
    """Return this thread's process, and start it if necessary. Raises one of LOST."""
    process = getattr(_own, "process", None)
    if process is None or process.poll() is not None:
        _drop_own_process()
        process = _own.process = start(_PROGRAM, in_background=False)
        _started.add(process)
        assert process.stdout
        pickle.load(process.stdout)
    return cast("subprocess.Popen[bytes]", _own.process)


def _drop_own_process() -> None:
    process, _own.process = getattr(_own, "process", None), None
    if process is not None:
        _started.discard(process)
        end(process)


def _spent(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time of the process; where the system refuses this figure, the time itself."""
    return processor_seconds(process.pid) or time.monotonic()


@contextlib.contextmanager
def _killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill the process if its work inside the context takes longer than `seconds` of processor time."""
    done = threading.Event()

    def watch() -> None:
        limit = _spent(process) + seconds
        while not done.wait(_EVERY_SECONDS):
            if _spent(process) > limit:
                process.kill()

    threading.Thread(target=watch, name="cairn-colours-limit", daemon=True).start()
    try:
        yield
    finally:
        done.set()
