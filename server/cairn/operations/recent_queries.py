"""Reads the latest queries from the log, and summarizes them for `cairn status`."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import fields, frozen

from cairn.errors import InvalidRequestError
from cairn.index.store.coordination import was_alive_at
from cairn.operations.kill_switch import PhaseChange
from cairn.operations.percentiles import percentile
from cairn.operations.query_log import LOG_NAME, OLDER_NAME
from cairn.protocol import LoggedPhaseChange, RecentQueries
from cairn.schema.convert import json_name, structure

_MOST_READ_BYTES = 4_000_000
"""The maximum number of bytes to read from the end of the log. They have 5,800 queries and take 65 ms."""
_SHOWN_CHANGES = 5


def read_recent(data: Path, limit: int = 500, now: datetime.datetime | None = None) -> RecentQueries:
    """Return a summary of the latest `limit` queries in the log of `data`. Ignore what cannot be read."""
    moment = now or datetime.datetime.now(datetime.UTC)
    queries, changes = read_log(data, limit, _SHOWN_CHANGES)
    return _summary(queries, tuple(_logged_change(change, moment) for change in changes))


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
        elif len(changes) < most_changes and moment_of(read.at) is not None:
            changes.append(read)
    return queries, changes


def moment_of(at: str) -> datetime.datetime | None:
    """Return the time of a log line; None for a text that is not a time with a zone."""
    try:
        moment = datetime.datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _summary(queries: Sequence[QueryLine], changes: tuple[LoggedPhaseChange, ...]) -> RecentQueries:
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
        phase_changes=changes,
    )


@frozen
class QueryLine:
    at: str
    pid: int
    method: str
    ms: float
    phase: int
    wanted: int
    fallback: str
    cached: bool
    error: str
    action: str
    keyword_match: bool


@frozen
class PhaseLine(PhaseChange):
    pid: int


_LINES: dict[str, type[QueryLine | PhaseLine]] = {"query": QueryLine, "phase": PhaseLine}
_KEYS = {event: [json_name(each) for each in fields(kind)] for event, kind in _LINES.items()}


def _read(line: dict[str, object]) -> QueryLine | PhaseLine:
    """Return a parsed line. Raise TypeError, KeyError or InvalidRequestError for another version's line."""
    event = str(line["event"])
    return structure({key: line[key] for key in _KEYS[event]}, _LINES[event])


def _logged_change(line: PhaseLine, now: datetime.datetime) -> LoggedPhaseChange:
    at = moment_of(line.at)
    assert at is not None  # `read_log` skips other lines.
    next_try = None
    if line.next_try_seconds is not None:
        next_try = round(max(0.0, line.next_try_seconds - (now - at).total_seconds()), 1)
    alive = was_alive_at(line.pid, at.timestamp())
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
