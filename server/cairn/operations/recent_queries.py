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
from pathlib import Path

from attrs import field, fields, frozen

from cairn.errors import InvalidRequestError
from cairn.index.store.coordination import was_alive_at
from cairn.operations.kill_switch import PhaseChange
from cairn.operations.query_log import LOG_NAME, OLDER_NAME, QueryLine
from cairn.protocol import LoggedPhaseChange, RecentQueries
from cairn.schema.convert import json_name, structure
from cairn.startup.figures import percentile

MOST_QUERIES, MOST_CHANGES = 500, 100
_MOST_READ_BYTES = 4_000_000
"""The maximum number of bytes to read from the end of the log. They have 5,800 queries and take 65 ms."""
_SHOWN_CHANGES = 5
_SAME_SECONDS = 2.0
"""The maximum time between log lines of one query. A query over several folders is in the log of each."""


@frozen
class Timings:
    """The latest queries and phase changes, each latest last."""

    questions: Sequence[QueryLine] = ()
    steps: Sequence[PhaseChange] = ()

    @property
    def answered(self) -> list[QueryLine]:
        """The successful searches that were not answered from the cache."""
        return [each for each in self.questions if not (each.cached or each.failed)]

    def percentile(self, share: float) -> float | None:
        """Return the ms that `share` (0 to 1) of the durations do not exceed; None without any."""
        return percentile((each.ms for each in self.answered), share)

    @property
    def cached(self) -> int:
        return sum(each.cached for each in self.questions)

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.questions)

    def figures(self, now: datetime.datetime) -> RecentQueries:
        """Return the figures for the status. Without queries to count, a share is None."""
        queries = self.questions
        answered = [q for q in queries if not q.error]
        judged = [q for q in answered if q.action]

        def share(of: Sequence[QueryLine], holds: Callable[[QueryLine], bool]) -> float | None:
            return round(sum(map(holds, of)) / len(of), 4) if of else None

        return RecentQueries(
            queries=len(queries),
            since=queries[0].at if queries else "",
            p50_ms=self.percentile(0.5),
            p95_ms=self.percentile(0.95),
            cached_share=share(answered, lambda q: q.cached),
            error_share=share(queries, lambda q: bool(q.error)),
            no_match_share=share(judged, lambda q: q.action == "noMatch"),
            clarify_share=share(judged, lambda q: q.action == "clarify"),
            keyword_match_share=share(judged, lambda q: q.keyword_match),
            below_wanted_share=share(queries, lambda q: q.phase < q.wanted or bool(q.fallback)),
            phase_changes=tuple(_logged_change(step, now) for step in self.steps[: -_SHOWN_CHANGES - 1 : -1]),
        )


@frozen
class TimingMemory:
    """The latest queries and phase changes of this process. Thread-safe."""

    questions: deque[QueryLine] = field(factory=lambda: deque(maxlen=MOST_QUERIES), init=False)
    steps: deque[PhaseChange] = field(factory=lambda: deque(maxlen=MOST_CHANGES), init=False)

    def timings(self) -> Timings:
        return Timings(tuple(self.questions.copy()), tuple(self.steps.copy()))


def logged_timings(folders: Iterable[Path]) -> Timings:
    """Return the latest queries in the logs of these data folders, each once. This takes 10 ms per folder."""
    questions: list[QueryLine] = []
    steps: list[PhaseChange] = []
    for data in folders:
        logged, changes = _read_log(data)
        known = {(each.pid, each.method, each.ms): each.moment for each in questions}
        for each in reversed(logged):
            moment = known.get((each.pid, each.method, each.ms))
            if moment is None or abs((moment - each.moment).total_seconds()) >= _SAME_SECONDS:
                questions.append(each)
        steps += [each for each in reversed(changes) if each not in steps]
    questions.sort(key=lambda each: each.moment)
    steps.sort(key=lambda each: each.moment)
    return Timings(questions[-MOST_QUERIES:], steps[-MOST_CHANGES:])


def _read_log(data: Path) -> tuple[list[QueryLine], list[PhaseChange]]:
    """Return the latest queries and phase changes in a log, latest first. Ignore what cannot be read."""
    queries: list[QueryLine] = []
    changes: list[PhaseChange] = []
    for line in _latest_lines(data):
        enough = len(queries) >= MOST_QUERIES
        if enough and len(changes) == MOST_CHANGES:
            break
        # After enough queries, only phase changes are read. They are rare, and can be recognized without
        # parsing.
        if enough and b'"phase"' not in line[:20]:
            continue
        try:
            read = _read(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError, InvalidRequestError):
            continue
        if isinstance(read, QueryLine):
            queries.append(read)
        elif len(changes) < MOST_CHANGES:
            changes.append(read)
    return queries, changes


_LINES: dict[str, type[QueryLine | PhaseChange]] = {"query": QueryLine, "phase": PhaseChange}
_KEYS = {event: [json_name(each) for each in fields(kind)] for event, kind in _LINES.items()}


def _read(line: dict[str, object]) -> QueryLine | PhaseChange:
    """Return a parsed line. `_read_log` names the exceptions for invalid ones."""
    event = str(line["event"])
    read = structure({key: line[key] for key in _KEYS[event]}, _LINES[event])
    if read.moment.tzinfo is None or (isinstance(read, QueryLine) and not 0 <= read.ms < math.inf):
        raise ValueError("the time or the duration is invalid")
    return read


def _logged_change(line: PhaseChange, now: datetime.datetime) -> LoggedPhaseChange:
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
