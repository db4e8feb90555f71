"""The log of questions (S2): one line of JSON each, in the workspace's data folder.

`cairn status` has its figures from it. Every process of the workspace appends to the same file, opened anew
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import filelock
from attrs import frozen

import cairn
from cairn import protocol
from cairn.operations.kill_switch import PhaseChange
from cairn.operations.latency import percentile
from cairn.protocol.messages import LoggedPhaseChange, RecentQueries
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
_BLOCK_BYTES = 65_536
_MOST_READ_BYTES = 4_000_000
"""Of the log's end: 5,800 questions, in 65 ms."""
_SHOWN_CHANGES = 5
_CLOCK_STEP_S = 2.0
"""A process that began so much later than a line with its number is not the one that wrote it."""


@frozen
class LoggedResult:
    """One of the first results."""

    path: str
    score: float
    matched_terms: tuple[str, ...]
    """Of the question; only their number is logged unless the text is."""


@frozen
class QueryRecord:
    """What is logged of a question. `record_of` makes one of an answer."""

    method: str
    """The protocol's name without `cairn/`."""
    ms: float
    """From the question's arrival until the answer was made."""
    phase: int
    """The phase that it was answered in…"""
    wanted: int
    """…and the one that was asked for, by the settings or by hand."""
    query: str = ""
    terms: tuple[str, ...] = ()
    """The normalised question's."""
    query_type: str = ""
    results: tuple[LoggedResult, ...] = ()
    """All of them; the first five are logged."""
    action: str = ""
    """`answer`, `clarify` or `noMatch`; "" where nothing was judged."""
    confidence: float | None = None
    """The first result's lead, 0 to 1."""
    fallback: str = ""
    """What stood in for the phase it was asked in, in S2's chain: `keywords` where the vector leg failed,
    `cache`, `generic`; "" for nothing."""
    cached: bool = False
    error: str = ""
    """The name of the exception's class; its text may hold what was asked."""
    complete: bool | None = None
    """Whether every present file was indexed and embedded; None where nobody looked."""


def record_of(
    answer: protocol.SearchAnswer,
    *,
    method: str,
    query: str,
    ms: float,
    phase: int,
    wanted: int,
    fallback: str = "",
) -> QueryRecord:
    """What is logged of a search that was answered."""
    return QueryRecord(
        method=method,
        ms=ms,
        phase=phase,
        wanted=wanted,
        query=query,
        terms=answer.query.terms,
        query_type=answer.query.type,
        results=tuple(LoggedResult(r.path, r.score, r.matched_terms) for r in answer.results),
        action=answer.verdict.action,
        confidence=answer.verdict.confidence,
        fallback=fallback,
        cached="cached" in answer.timings,
        complete=answer.index.complete,
    )


class QueryLog:
    """Appends to the log of one data folder. Methods raise nothing, and may be called from several threads
    at once."""

    def __init__(self, data: Path, settings: Callable[[], LogSettings]) -> None:
        self._data = data
        self._path = data / LOG_NAME
        self._settings = settings
        self._counting = threading.Lock()
        self._cut_off = False
        self.failures = 0
        """Lines that could not be written."""
        self.problem: str | None = None
        """Why the latest line could not, if so."""

    def add(self, record: QueryRecord) -> None:
        """Log a question, if the log is kept."""
        settings = self._settings()
        if settings.queries:
            self._append(_query_line(record, settings.query_text), settings.max_bytes)

    def add_phase_change(self, change: PhaseChange) -> None:
        """Log a step of the phase, if the log is kept."""
        settings = self._settings()
        if settings.queries:
            values = {
                "event": "phase",
                "at": change.at,
                "before": change.before,
                "after": change.after,
                "reason": change.reason,
                "until": change.until,
                "pid": os.getpid(),
                "version": cairn.__version__,
            }
            self._append(_line(values), settings.max_bytes)

    def _append(self, line: bytes, max_bytes: int) -> None:
        try:
            self._make_room(len(line), max_bytes)
            # After a line that was cut off, the next one begins anew and is whole.
            whole = b"\n" + line if self._cut_off else line
            try:
                self._write(whole)
            except FileNotFoundError:
                self._data.mkdir(parents=True, exist_ok=True)
                self._write(whole)
        except _CutOffError as problem:
            self._cut_off = True
            self._count(problem)
        except OSError as problem:
            self._count(problem)
        else:
            self._cut_off, self.problem = False, None

    def _write(self, line: bytes) -> None:
        with self._alone():
            _write(self._path, line)

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

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """POSIX appends a line in one step. On Windows, two processes could find the same end."""
        if sys.platform != "win32":
            yield
            return
        # A timeout is an OSError, and counted with the others.
        with filelock.FileLock(self._data / _LOCK_NAME, timeout=_APPEND_LOCK_S):
            yield

    def _count(self, problem: OSError) -> None:
        with self._counting:
            self.failures += 1
            first = self.failures == 1
        self.problem = f"Questions cannot be logged in {self._path} ({problem.strerror or problem})."
        if first:  # once, not with every question
            logger.warning(self.problem)


class _CutOffError(OSError):
    """The disk took only a part of a line."""


def _write(path: Path, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        written = os.write(file, line)
    finally:
        os.close(file)
    if written < len(line):
        raise _CutOffError(f"only {written} of {len(line)} bytes of a line were written")


def _query_line(record: QueryRecord, with_text: bool) -> bytes:
    values: dict[str, Any] = {
        "event": "query",
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        "method": record.method,
        "action": record.action,
        "confidence": record.confidence,
        "ms": round(record.ms, 3),
        "phase": record.phase,
        "wanted": record.wanted,
        "fallback": record.fallback,
        "cached": record.cached,
        "error": record.error,
        "complete": record.complete,
        "type": record.query_type,
        "termCount": len(record.terms),
        "resultCount": len(record.results),
        "keywordMatch": any(result.matched_terms for result in record.results),
        "results": [
            {
                "path": result.path,
                "score": result.score,
                "matchedTerms": list(result.matched_terms) if with_text else len(result.matched_terms),
            }
            for result in record.results[:LOGGED_RESULTS]
        ],
        "pid": os.getpid(),
        "version": cairn.__version__,
    }
    if with_text:
        values["query"] = record.query[:_MOST_CHARACTERS]
        values["terms"] = " ".join(record.terms)[:_MOST_CHARACTERS].split()
    return _line(values)


def _line(values: dict[str, Any]) -> bytes:
    # In ASCII nothing is cut in the middle, no text is a line's end for some reader, and half a surrogate can
    # be written.
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"


# --- reading -------------------------------------------------------------------------------------------


def read_recent(data: Path, limit: int = 500, now: datetime.datetime | None = None) -> RecentQueries:
    """What the latest `limit` questions in the log of the data folder `data` were like.

    Lines that are broken, or of another version, are left out; a log that cannot be read has none.
    """
    moment = now or datetime.datetime.now(datetime.UTC)
    queries: list[dict[str, Any]] = []
    changes: list[LoggedPhaseChange] = []
    for line in _latest_lines(data):
        enough = len(queries) >= limit
        if enough and len(changes) == _SHOWN_CHANGES:
            break
        # Past the limit, only changes are wanted: seldom, and told apart without reading the line.
        if enough and b'"phase"' not in line[:20]:
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(values, dict):
            continue
        if values.get("event") == "query" and _has(values, _QUERY_FIELDS):
            queries.append(values)
        elif values.get("event") == "phase" and _has(values, _PHASE_FIELDS) and len(changes) < _SHOWN_CHANGES:
            changes += _logged_change(values, moment)
    return _summary(queries, tuple(changes))


def _summary(queries: Sequence[dict[str, Any]], changes: tuple[LoggedPhaseChange, ...]) -> RecentQueries:
    answered = [q for q in queries if not q["error"]]
    judged = [q for q in answered if q["action"]]
    made = [float(q["ms"]) for q in answered if not q["cached"]]

    def share(of: Sequence[dict[str, Any]], holds: Callable[[dict[str, Any]], bool]) -> float | None:
        return round(sum(map(holds, of)) / len(of), 4) if of else None

    return RecentQueries(
        queries=len(queries),
        since=queries[-1]["at"] if queries else "",
        p50_ms=percentile(made, 0.5),
        p95_ms=percentile(made, 0.95),
        cached_share=share(answered, lambda q: q["cached"]),
        error_share=share(queries, lambda q: bool(q["error"])),
        no_match_share=share(judged, lambda q: q["action"] == "noMatch"),
        clarify_share=share(judged, lambda q: q["action"] == "clarify"),
        keyword_match_share=share(judged, lambda q: q["keywordMatch"]),
        below_wanted_share=share(queries, lambda q: q["phase"] < q["wanted"] or bool(q["fallback"])),
        phase_changes=changes,
    )


_QUERY_FIELDS: dict[str, type | tuple[type, ...]] = {
    "at": str,
    "ms": (int, float),
    "phase": int,
    "wanted": int,
    "fallback": str,
    "cached": bool,
    "error": str,
    "action": str,
    "keywordMatch": bool,
}
_PHASE_FIELDS: dict[str, type | tuple[type, ...]] = {
    "at": str,
    "before": int,
    "after": int,
    "reason": str,
    "until": (int, float, type(None)),
    "pid": int,
}


def _has(values: dict[str, Any], fields: dict[str, type | tuple[type, ...]]) -> bool:
    return all(name in values and isinstance(values[name], kind) for name, kind in fields.items())


def _logged_change(values: dict[str, Any], now: datetime.datetime) -> list[LoggedPhaseChange]:
    try:
        at = datetime.datetime.fromisoformat(values["at"])
        left = None if values["until"] is None else values["until"] - (now - at).total_seconds()
    except (ValueError, TypeError):  # no time, or one without a zone
        return []
    return [
        LoggedPhaseChange(
            at=values["at"],
            before=values["before"],
            after=values["after"],
            reason=values["reason"],
            next_try_seconds=None if left is None else round(max(0.0, left), 1),
            pid=values["pid"],
            alive=_wrote_before(values["pid"], at),
        )
    ]


def _wrote_before(pid: int, at: datetime.datetime) -> bool:
    """Whether the process that had this number then runs still."""
    import psutil  # which takes 30 ms, and only where there was a change

    try:
        return bool(psutil.Process(pid).create_time() <= at.timestamp() + _CLOCK_STEP_S)
    except psutil.AccessDenied:  # somebody else's, but there
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False


def _latest_lines(data: Path) -> Iterator[bytes]:
    """The lines of both files, the last one first, as far as `_MOST_READ_BYTES` go."""
    left = _MOST_READ_BYTES
    seen: set[tuple[int, int]] = set()
    for name in (LOG_NAME, OLDER_NAME):
        try:
            with (data / name).open("rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) in seen:  # it was rotated since it was read
                    continue
                seen.add((status.st_dev, status.st_ino))
                start = max(0, status.st_size - left)
                left -= status.st_size - start
                yield from _backwards(file, start, status.st_size)
        except OSError:
            continue


def _backwards(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """The lines between two places of a file, the last one first; the first may be a part of one."""
    rest = b""
    while end > start:
        begin = max(start, end - _BLOCK_BYTES)
        file.seek(begin)
        first, *others = (file.read(end - begin) + rest).split(b"\n")
        yield from reversed(others)
        rest, end = first, begin
    yield rest
