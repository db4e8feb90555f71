"""The latest queries and phase changes, from the query log or from memory, and figures about them.

`cairn status` and the web page show them. None contains the text of a query.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from attrs import field, fields, frozen

from cairn.errors import InvalidRequestError
from cairn.index.store.coordination import was_alive_at
from cairn.operations.kill_switch import OFF, PhaseChange
from cairn.operations.query_log import LOG_NAME, OLDER_NAME, LoggedQuery
from cairn.protocol import AnsweredIn, LoggedPhaseChange, RecentQueries
from cairn.schema.convert import json_name, structure
from cairn.startup.figures import percentile

MOST_QUERIES, MOST_CHANGES = 500, 100
_MOST_READ_BYTES = 4_000_000
"""The maximum number of bytes to read from the end of the log. They have 5,800 queries and take 65 ms."""
_SHOWN_CHANGES = 5
_SAME_SECONDS = 2.0
"""The maximum time between log lines of one query. A query over several folders is in the log of each."""


@frozen
class QueryLine:
    at: str
    pid: int
    method: str
    """The name of the method in the protocol, without `cairn/`."""
    ms: float
    phase: int
    """The phase that gave the answer; 0 if no search answered."""
    wanted: int
    fallback: str
    cached: bool
    error: str
    action: str
    keyword_match: bool

    @cached_property
    def moment(self) -> datetime.datetime:
        return _moment(self.at)

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.phase == OFF


@frozen
class PhaseLine(PhaseChange):
    """A change of the phase in some process, by the kill switch or by hand."""

    pid: int

    @cached_property
    def moment(self) -> datetime.datetime:
        return _moment(self.at)


@frozen
class Timings:
    """The latest queries and phase changes, each latest last."""

    questions: tuple[QueryLine, ...] = ()
    steps: tuple[PhaseLine, ...] = ()

    @property
    def answered(self) -> list[float]:
        """The durations in ms of the successful searches that were not answered from the cache."""
        return [each.ms for each in self.questions if not (each.cached or each.failed)]

    def percentile(self, share: float) -> float | None:
        """Return the ms that `share` (0 to 1) of the durations do not exceed; None without any."""
        return percentile(self.answered, share)

    @property
    def cached(self) -> int:
        return sum(each.cached for each in self.questions)

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.questions)


@frozen
class TimingMemory:
    """The latest queries and phase changes of this process. Thread-safe."""

    _questions: deque[QueryLine] = field(factory=lambda: deque(maxlen=MOST_QUERIES), init=False)
    _steps: deque[PhaseLine] = field(factory=lambda: deque(maxlen=MOST_CHANGES), init=False)

    def add(self, query: LoggedQuery, how: AnsweredIn) -> None:
        at, pid, ms = datetime.datetime.now(datetime.UTC).isoformat(), os.getpid(), round(query.ms, 3)
        self._questions.append(
            QueryLine(at, pid, query.method, ms, how.phase, how.wanted, how.fallback, query.cached,
                      query.error, action="", keyword_match=False)
        )  # fmt: skip

    def add_step(self, change: PhaseChange) -> None:
        self._steps.append(
            PhaseLine(change.at, change.before, change.after, change.reason, change.next_try_seconds,
                      os.getpid())
        )  # fmt: skip

    def timings(self) -> Timings:
        return Timings(tuple(self._questions.copy()), tuple(self._steps.copy()))


def logged_timings(folders: Iterable[Path]) -> Timings:
    """Return the latest queries in the logs of these data folders, each once. This takes 10 ms per folder."""
    questions: list[QueryLine] = []
    steps: list[PhaseLine] = []
    for data in folders:
        logged, changes = read_log(data, MOST_QUERIES, MOST_CHANGES)
        known = {(each.pid, each.method, each.ms): each.moment for each in questions}
        for each in reversed(logged):
            moment = known.get((each.pid, each.method, each.ms))
            if moment is None or abs((moment - each.moment).total_seconds()) >= _SAME_SECONDS:
                questions.append(each)
        steps += [each for each in reversed(changes) if each not in steps]
    questions.sort(key=lambda each: each.moment)
    steps.sort(key=lambda each: each.moment)
    return Timings(tuple(questions[-MOST_QUERIES:]), tuple(steps[-MOST_CHANGES:]))


def read_recent(data: Path, limit: int = MOST_QUERIES, now: datetime.datetime | None = None) -> RecentQueries:
    """Return a summary of the latest `limit` queries in the log of `data`. Ignore what cannot be read."""
    moment = now or datetime.datetime.now(datetime.UTC)
    queries, changes = read_log(data, limit, _SHOWN_CHANGES)
    answered = [q for q in queries if not q.error]
    judged = [q for q in answered if q.action]
    made = [q.ms for q in answered if not q.cached]

    def share(of: Sequence[QueryLine], holds: Callable[[QueryLine], bool]) -> float | None:
        return round(sum(map(holds, of)) / len(of), 4) if of else None

    return RecentQueries(
        queries=len(queries),
        since=queries[-1].at if queries else "",
        p50_ms=percentile(made, 0.5),
        p95_ms=percentile(made, 0.95),
        cached_share=share(answered, lambda q: q.cached),
        error_share=share(queries, lambda q: bool(q.error)),
        no_match_share=share(judged, lambda q: q.action == "noMatch"),
        clarify_share=share(judged, lambda q: q.action == "clarify"),
        keyword_match_share=share(judged, lambda q: q.keyword_match),
        below_wanted_share=share(queries, lambda q: q.phase < q.wanted or bool(q.fallback)),
        phase_changes=tuple(_logged_change(change, moment) for change in changes),
    )


def read_log(data: Path, limit: int, most_changes: int) -> tuple[list[QueryLine], list[PhaseLine]]:
    """Return the latest queries and the latest phase changes in a data folder's log, both latest first."""
    queries: list[QueryLine] = []
    changes: list[PhaseLine] = []
    for line in _latest_lines(data):
        enough = len(queries) >= limit
        if enough and len(changes) == most_changes:
            break
        # After `limit` queries, only phase changes are read. They are rare, and can be recognized without
        # parsing.
        if enough and b'"phase"' not in line[:20]:
            continue
        try:
            read = _read(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError, InvalidRequestError):
            continue
        if isinstance(read, QueryLine):
            queries.append(read)
        elif len(changes) < most_changes:
            changes.append(read)
    return queries, changes


_LINES: dict[str, type[QueryLine | PhaseLine]] = {"query": QueryLine, "phase": PhaseLine}
_KEYS = {event: [json_name(each) for each in fields(kind)] for event, kind in _LINES.items()}


def _read(line: dict[str, object]) -> QueryLine | PhaseLine:
    """Return a parsed line. `read_log` names the exceptions for invalid ones."""
    event = str(line["event"])
    read = structure({key: line[key] for key in _KEYS[event]}, _LINES[event])
    if read.moment.tzinfo is None or (isinstance(read, QueryLine) and not 0 <= read.ms < math.inf):
        raise ValueError("the time or the duration is invalid")
    return read


def _moment(at: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(at)


def _logged_change(line: PhaseLine, now: datetime.datetime) -> LoggedPhaseChange:
    next_try = None
    if line.next_try_seconds is not None:
        next_try = round(max(0.0, line.next_try_seconds - (now - line.moment).total_seconds()), 1)
    alive = was_alive_at(line.pid, line.moment.timestamp())
    return LoggedPhaseChange(line.at, line.before, line.after, line.reason, next_try, line.pid, alive)


def _latest_lines(data: Path) -> Iterator[bytes]:
    """Yield the lines of both files, last line first, up to `_MOST_READ_BYTES`. The final one may be cut."""
    left = _MOST_READ_BYTES
    seen: set[tuple[int, int]] = set()
    for name in (LOG_NAME, OLDER_NAME):
        try:
            with (data / name).open("rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) in seen:  # This file was read before it was rotated.
                    continue
                seen.add((status.st_dev, status.st_ino))
                file.seek(max(0, status.st_size - left))
                text = file.read(left)
        except OSError:
            continue
        left -= len(text)
        yield from reversed(text.split(b"\n"))
