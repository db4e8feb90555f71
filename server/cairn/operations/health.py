"""Judges what is wrong with an index and what to do, for `cairn status`, `cairn doctor` and the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from cairn import protocol
from cairn.operations.kill_switch import OFF, PHASES, VECTORS
from cairn.operations.recent_queries import Timings
from cairn.text.counts import about, counted, duration, took

if TYPE_CHECKING:
    import datetime

    from cairn.index.postgres.postgres_server import ServerState
    from cairn.index.postgres.snapshots import VisibleRepository

GOOD, BUSY, WARN, BAD = "good", "busy", "warn", "bad"
_FEWEST = 10
"""The minimum number of answered queries for a statement that queries are slow."""
_SHARE = 0.95
DOING = {
    "checking": "checking the index",
    "scanning": "looking for files",
    "reading": "reading files",
    "static": "making vectors",
    "history": "reading the history",
    "counting": "counting imports",
    "embedding": "making vectors",
    "tidying": "tidying",
}
"""The activities of indexing, in words."""


@frozen
class Health:
    level: str
    """The level is `good`, `busy` while indexing runs, `warn` if answers lack something, or `bad`."""
    text: str


@frozen
class TeamOverview:
    """What one caller sees of a team's index."""

    repositories: Sequence[VisibleRepository]
    """The repositories, sorted by name."""
    servers: Sequence[ServerState] | None
    """The servers; None until the first check ends."""


def health_of(
    status: protocol.StatusAnswer, timings: Timings | None = None, slow_ms: float = math.inf
) -> Health:
    """Return the health of local folders. Queries are slow if over 5 % of them take longer than `slow_ms`."""
    state, retrieval = status.state, (status.retrieval.state if status.retrieval else None)
    if not status.collections and retrieval is None:
        return Health(BAD, "No folder is open here.")
    if state == "disabled":
        return Health(BAD, f"Searching is switched off. {retrieval.reason if retrieval else ''}".strip())
    if state == "starting":
        opening = "The index is being opened; what is in it can be found in a moment."
        return Health(BAD, status.last_error) if status.last_error else Health(BUSY, opening)
    progress = _progress(status)
    if status.paused and status.remaining:
        return Health(WARN, f"Indexing is paused: {progress}. `cairn resume` goes on with it.")
    if state == "indexing":
        left = f", {about(status.seconds_left)} left" if status.seconds_left else ""
        doing = DOING.get(status.activity, "reading files")
        return Health(BUSY, f"The index is not complete yet: {doing}, {progress}{left}.")
    # The level is also `warn` if the user chose the lower phase, in the settings or by hand.
    if retrieval and (retrieval.phase < retrieval.wanted or (status.model and retrieval.phase < VECTORS)):
        how = "not at all" if retrieval.phase == OFF else f"by {PHASES[retrieval.phase]} alone"
        return Health(
            WARN, f"The index is complete, but questions are answered {how}. {retrieval.reason}".rstrip()
        )
    if state == "degraded":
        lacking = f"The index is not complete: {progress}." if status.remaining else ""
        why = status.last_error or ("" if lacking else "Nothing is found by meaning: there are no vectors.")
        return Health(BAD if status.remaining else WARN, " ".join(filter(None, [lacking, why])))
    timings = timings or Timings()
    if slow := _slow(timings, slow_ms):
        return Health(WARN, f"The index is complete, but {slow}.")
    if status.paused:
        return Health(WARN, "The index is complete, but paused: `cairn resume` goes on with new vectors.")
    if status.warnings or status.last_error:
        return Health(WARN, f"The index is complete. {status.last_error or status.warnings[0]}")
    files = counted(status.files.indexed, "file")
    return Health(
        GOOD, f"The index is complete: {files} can be found by words and by meaning{_speed(timings)}."
    )


def named_as_text(status: protocol.StatusAnswer) -> str:
    """Return a sentence about the files that are named as text, but are binary; "" if there are none."""
    files = status.named_as_text
    if not files.count:
        return ""
    more = f" and {files.count - len(files.examples):,} more" if files.count > len(files.examples) else ""
    verb = "was" if files.count == 1 else "were"
    named = f"{counted(files.count, 'file')} named as text {verb} left out as binary"
    return f"{named}: {', '.join(files.examples)}{more}"


def team_health(team: TeamOverview, timings: Timings, slow_ms: float, now: datetime.datetime) -> Health:
    if not team.repositories:
        return Health(
            WARN,
            "You may not see any repository yet. The owner of the index adds one with `cairn team index`, and"
            " lets you see it with `cairn team grant`.",
        )
    away = [
        (each.name, each.server.name) for each in team.repositories if each.server and each.server.is_away
    ]
    if away:
        name, server = away[0]
        named = f"{name} and {len(away) - 1:,} more are" if len(away) > 1 else f"{name} is"
        return Health(BAD, f"{named} left out of answers: the server {server} does not answer.")
    silent = [each.name for each in team.servers or () if not each.answers]
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        return Health(WARN, f"{' and '.join(silent)} {verb} not answer; the other servers do.")
    if slow := _slow(timings, slow_ms):
        return Health(WARN, f"All repositories can be searched, but {slow}.")
    oldest = min(team.repositories, key=lambda each: each.indexed_at)
    age = duration((now - oldest.indexed_at).total_seconds())
    many = counted(len(team.repositories), "repository", "repositories")
    which = (
        "it was" if len(team.repositories) == 1 else f"{oldest.name}, the one not looked at for longest, was"
    )
    return Health(GOOD, f"{many} can be searched; {which} indexed {age} ago{_speed(timings)}.")


def _progress(status: protocol.StatusAnswer) -> str:
    files = status.files
    if "files" in status.remaining:
        if files.total > files.indexed:
            return f"{files.indexed:,} of {counted(files.total, 'file')} can be found"
        return f"{counted(files.indexed, 'file')} can be found so far"
    if status.queued:
        passages = counted(status.chunks, "passage")
        return f"all files can be found by words, {status.queued:,} of {passages} not yet by meaning"
    lacks = [each for each in status.remaining if each in ("history", "imports")]
    if lacks:
        return f"all files can be found, the {' and the '.join(lacks)} that ranking goes by are not there yet"
    return f"{counted(files.indexed, 'file')} can be found"


def _slow(timings: Timings, slow_ms: float) -> str:
    p95, count = timings.percentile(_SHARE), len(timings.answered)
    if p95 is None or p95 <= slow_ms or count < _FEWEST:
        return ""
    return f"questions are slow: of the latest {count:,}, one in twenty took {took(p95)} or more"


def _speed(timings: Timings) -> str:
    p50 = timings.percentile(0.5)
    return f", and a question takes {took(p50)}" if p50 is not None else ""
