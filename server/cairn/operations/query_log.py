"""Writes the query log: one line of JSON per query or phase change, in the workspace's data folder.

`cairn status` reads its figures from the log (`cairn.operations.recent_queries`). All processes of the
workspace append to the same file. Each line is one write to the newly opened file, so that lines never mix.
The log contains the text of queries only if the setting `log.query_text` is on.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
from attrs import frozen

import cairn
from cairn import protocol
from cairn.operations.kill_switch import OFF, PhaseChange
from cairn.paths import private_folder
from cairn.schema.convert import unstructure
from cairn.settings.tree import LogSettings

logger = logging.getLogger(__name__)

LOG_NAME = "queries.jsonl"
OLDER_NAME = "queries.1.jsonl"
_LOCK_NAME = "queries.lock"

LOGGED_RESULTS = 5
"""The maximum number of results in a line. A line with five results has some 700 bytes, 1,400 lines 1 MB."""
_MOST_CHARACTERS = 1_000
"""The maximum length of a query, and of its terms together. Longer texts are cut to keep lines short."""
_APPEND_LOCK_S = 0.2
"""How long a line waits for another process's line on Windows, where appending takes two steps."""


Answer = protocol.SearchAnswer | protocol.DiscoverAnswer


@frozen
class QueryLine:
    """What a log line says of a query, apart from its text and results. Figures are computed from it."""

    at: str
    pid: int
    method: str
    """The name of the method in the protocol, without `cairn/`."""
    ms: float
    """The time from the arrival of the request to the answer."""
    phase: int
    """The phase that gave the answer; 0 if no search answered."""
    wanted: int
    fallback: str
    cached: bool
    error: str
    """The name of the exception's class, or "". The exception's text may contain the query."""
    action: str
    keyword_match: bool

    @classmethod
    def of(
        cls, method: str, answer: Answer, ms: float, *, cached: bool = False, error: str = ""
    ) -> QueryLine:
        how = answer.retrieval
        return cls(
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
            pid=os.getpid(),
            method=method,
            ms=round(ms, 3),
            phase=how.phase,
            wanted=how.wanted,
            fallback=how.fallback,
            cached=cached,
            error=error,
            action=answer.verdict.action,
            keyword_match=any(result.matched_terms for result in _results(answer)),
        )

    @cached_property
    def moment(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.at)

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.phase == OFF


class QueryLog:
    """Appends to the log of one data folder. Methods raise nothing. Thread-safe."""

    def __init__(self, data: Path, settings: Callable[[], LogSettings]) -> None:
        self._data = data
        self._path = data / LOG_NAME
        self._settings = settings
        self._counting = threading.Lock()
        self._cut_off = False
        """Whether only a part of the latest line was written."""
        self.failures = 0
        """The number of lines that could not be written."""
        self.problem: str | None = None
        """Why the latest line could not be written; None if it was."""

    def add(self, query: QueryLine, text: str, answer: Answer) -> None:
        """Log a query; `text` only if the settings say so."""
        settings = self._settings()
        if settings.queries:
            more = _details(answer, text if settings.query_text else None)
            self._append({"event": "query", **unstructure(query), **more}, settings.max_bytes)

    def add_phase_change(self, change: PhaseChange) -> None:
        settings = self._settings()
        if settings.queries:
            self._append({"event": "phase", **unstructure(change)}, settings.max_bytes)

    def _append(self, values: dict[str, Any], max_bytes: int) -> None:
        values["version"] = cairn.__version__
        # With JSON's escapes in ASCII, no character can be cut in the middle, no reader mistakes a character
        # for the end of a line, and half a surrogate pair can be written.
        line = json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            self._make_room(len(line), max_bytes)
            # If the latest line was cut off, this line must start on a new line.
            whole = b"\n" + line if self._cut_off else line
            try:
                self._write(whole)
            except FileNotFoundError:
                private_folder(self._data)
                self._write(whole)
        except OSError as problem:
            with self._counting:
                self.failures += 1
                is_first = self.failures == 1
            self.problem = f"Questions cannot be logged in {self._path} ({problem.strerror or problem})."
            if is_first:  # Warn once, not with every query.
                logger.warning(self.problem)
        else:
            self._cut_off, self.problem = False, None

    def _write(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with contextlib.ExitStack() as resources:
            if sys.platform == "win32":
                # Without the lock, two processes could write to the same place; POSIX appends in one step. A
                # timeout of the lock is an OSError and counts as a failure.
                resources.enter_context(filelock.FileLock(self._data / _LOCK_NAME, timeout=_APPEND_LOCK_S))
            file = os.open(self._path, flags, 0o600)
            resources.callback(os.close, file)
            written = os.write(file, line)
        if written < len(line):
            self._cut_off = True
            raise OSError(f"only {written} of {len(line)} bytes of a line were written")

    def _make_room(self, coming: int, max_bytes: int) -> None:
        """Rotate the log if the line does not fit, unless another process is rotating it or that fails."""
        if not self._is_full(coming, max_bytes):
            return
        with (
            # Another process has the lock, or locks are unsupported.
            contextlib.suppress(OSError, NotImplementedError),
            filelock.FileLock(self._data / _LOCK_NAME, timeout=0),
        ):
            if self._is_full(coming, max_bytes):  # Another process may have rotated it.
                self._path.replace(self._data / OLDER_NAME)

    def _is_full(self, coming: int, max_bytes: int) -> bool:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return False
        return size > 0 and size + coming > max_bytes


def _results(answer: Answer) -> Sequence[protocol.SearchResult]:
    return answer.results if isinstance(answer, protocol.SearchAnswer) else answer.chunks


def _details(answer: Answer, text: str | None) -> dict[str, Any]:
    """Return the other values of a log line. Without the text, terms and matches are only counted."""
    asked = answer.query if isinstance(answer, protocol.SearchAnswer) else None
    terms, found = asked.terms if asked else (), _results(answer)
    values: dict[str, Any] = {
        "confidence": answer.verdict.confidence,
        "complete": answer.index.complete,
        "type": asked.type if asked else "",
        "termCount": len(terms),
        "resultCount": len(found),
        "results": [
            {
                "path": result.path,
                "score": result.score,
                "matchedTerms": len(result.matched_terms) if text is None else result.matched_terms,
            }
            for result in found[:LOGGED_RESULTS]
        ],
    }
    if text is not None:
        values["query"] = text[:_MOST_CHARACTERS]
        values["terms"] = " ".join(terms)[:_MOST_CHARACTERS].split()
    return values
