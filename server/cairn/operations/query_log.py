"""The log of questions (S2): one line of JSON each, in the workspace's data folder.

`cairn status` has its figures from it (`cairn.operations.recent_queries`). Every process of the workspace appends to the same file, opened anew
for each line and written at once, so that no two lines mix. What was asked is not in it unless the user wants
that.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
from attrs import asdict, frozen

import cairn
from cairn import protocol
from cairn.operations.kill_switch import PhaseChange
from cairn.settings.tree import LogSettings

logger = logging.getLogger(__name__)

LOG_NAME = "queries.jsonl"
OLDER_NAME = "queries.1.jsonl"
_LOCK_NAME = "queries.lock"

LOGGED_RESULTS = 5
"""S2's "top results". Five of them make a line of some 700 bytes: 1 MB holds 1,400 questions."""
_MOST_CHARACTERS = 1_000
"""Of a question, and of all of its terms; nobody reads on, and one line must not fill the log."""
_APPEND_LOCK_S = 0.2
"""On Windows, where appending is two steps, a line waits so long for another process's."""


@frozen
class Question:
    """What is logged of a question beside its answer."""

    method: str
    """The protocol's name without `cairn/`."""
    query: str
    ms: float
    """From the question's arrival until the answer was made."""
    cached: bool = False
    """Whether the answer was there already."""
    error: str = ""
    """The name of the exception's class, if there was one; its text may hold what was asked."""


class QueryLog:
    """Appends to the log of one data folder. Methods raise nothing, and may be called from several threads
    at once."""

    def __init__(self, data: Path, settings: Callable[[], LogSettings]) -> None:
        self._data = data
        self._path = data / LOG_NAME
        self._settings = settings
        self._counting = threading.Lock()
        self._cut_off = False
        """Whether the disk took only a part of the latest line."""
        self.failures = 0
        """Lines that could not be written."""
        self.problem: str | None = None
        """Why the latest line could not, if so."""

    def add(self, asked: Question, answer: protocol.SearchAnswer | protocol.DiscoverAnswer) -> None:
        """Log a question and what its answer was like, if the log is kept."""
        settings = self._settings()
        if settings.queries:
            self._append(_query_values(asked, answer, settings.query_text), settings.max_bytes)

    def add_phase_change(self, change: PhaseChange) -> None:
        """Log a step of the phase, if the log is kept."""
        settings = self._settings()
        if settings.queries:
            self._append({"event": "phase", **asdict(change)}, settings.max_bytes)

    def _append(self, values: dict[str, Any], max_bytes: int) -> None:
        values |= {"pid": os.getpid(), "version": cairn.__version__}
        # In ASCII nothing is cut in the middle, no text is a line's end for some reader, and half a surrogate can
        # be written.
        line = json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            self._make_room(len(line), max_bytes)
            # After a line that was cut off, the next one begins anew and is whole.
            whole = b"\n" + line if self._cut_off else line
            try:
                self._write(whole)
            except FileNotFoundError:
                self._data.mkdir(parents=True, exist_ok=True)
                self._write(whole)
        except OSError as problem:
            self._count(problem)
        else:
            self._cut_off, self.problem = False, None

    def _write(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with contextlib.ExitStack() as resources:
            if sys.platform == "win32":
                # POSIX appends a line in one step; there, two processes could find the same end. A timeout is an
                # OSError, and counted with the others.
                resources.enter_context(filelock.FileLock(self._data / _LOCK_NAME, timeout=_APPEND_LOCK_S))
            file = os.open(self._path, flags, 0o600)
            resources.callback(os.close, file)
            written = os.write(file, line)
        if written < len(line):
            self._cut_off = True
            raise OSError(f"only {written} of {len(line)} bytes of a line were written")

    def _make_room(self, coming: int, max_bytes: int) -> None:
        """Rotate the log if the line does not fit. Whoever is second writes on; what fails is tried at the
        next line."""
        if not self._is_full(coming, max_bytes):
            return
        with (
            contextlib.suppress(OSError, NotImplementedError),  # held by another process, or no locks here
            filelock.FileLock(self._data / _LOCK_NAME, timeout=0),
        ):
            if self._is_full(coming, max_bytes):  # no other process has done it meanwhile
                self._path.replace(self._data / OLDER_NAME)

    def _is_full(self, coming: int, max_bytes: int) -> bool:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return False
        return size > 0 and size + coming > max_bytes

    def _count(self, problem: OSError) -> None:
        with self._counting:
            self.failures += 1
            first = self.failures == 1
        self.problem = f"Questions cannot be logged in {self._path} ({problem.strerror or problem})."
        if first:  # once, not with every question
            logger.warning(self.problem)


def _query_values(
    asked: Question, answer: protocol.SearchAnswer | protocol.DiscoverAnswer, with_text: bool
) -> dict[str, Any]:
    """What is logged of a question; of its text and its terms only numbers, unless it is `with_text`."""
    if isinstance(answer, protocol.SearchAnswer):
        found, terms, query_type = answer.results, answer.query.terms, answer.query.type
    else:
        found, terms, query_type = answer.chunks, (), ""
    values: dict[str, Any] = {
        "event": "query",
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        "method": asked.method,
        "action": answer.verdict.action,
        "confidence": answer.verdict.confidence,
        "ms": round(asked.ms, 3),
        "phase": answer.retrieval.phase,
        "wanted": answer.retrieval.wanted,
        "fallback": answer.retrieval.fallback,
        "cached": asked.cached,
        "error": asked.error,
        "complete": answer.index.complete,
        "type": query_type,
        "termCount": len(terms),
        "resultCount": len(found),
        "keywordMatch": any(result.matched_terms for result in found),
        "results": [
            {
                "path": result.path,
                "score": result.score,
                "matchedTerms": result.matched_terms if with_text else len(result.matched_terms),
            }
            for result in found[:LOGGED_RESULTS]
        ],
    }
    if with_text:
        values["query"] = asked.query[:_MOST_CHARACTERS]
        values["terms"] = " ".join(terms)[:_MOST_CHARACTERS].split()
    return values
