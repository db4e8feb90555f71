"""Describes in a sentence whether an index is complete, slow or broken, and why."""

from __future__ import annotations

import datetime

from attrs import frozen

from cairn import protocol
from cairn.engine.team_overview import TeamOverview
from cairn.operations.kill_switch import KEYWORDS, NAMES, OFF, VECTORS
from cairn.operations.timings import Timings

GOOD, BUSY, WARN, BAD = "good", "busy", "warn", "bad"
_FEWEST = 10
"""The minimum number of answered queries for a statement that queries are slow."""
_SHARE = 0.95
_DOING = {
    "checking": "the index is being checked",
    "scanning": "the folder is being looked through",
    "reading": "files are being read",
    "static": "vectors are being made",
    "history": "the history of git is being followed",
    "counting": "imports are being counted",
    "embedding": "vectors are being made",
    "tidying": "the index is being tidied",
}
_WITHOUT = {KEYWORDS: "by words alone, not by meaning", NAMES: "by names and words alone", OFF: "not at all"}


@frozen
class IndexHealth:
    level: str
    """The level is `good`, `busy` while indexing runs, `warn` if answers lack something, or `bad`."""
    text: str


def health_of(
    status: protocol.StatusAnswer, timings: Timings, slow_ms: float, *, is_written: bool
) -> IndexHealth:
    """Return the health of local folders. `is_written` says for each index whether a process updates it;
    queries are slow if over 5 % of them take longer than `slow_ms`.
    """
    state, retrieval = status.state, (status.retrieval.state if status.retrieval else None)
    if not status.collections and retrieval is None:
        return IndexHealth(BAD, "No folder is open here.")
    if state == "disabled":
        return IndexHealth(BAD, f"Searching is switched off. {retrieval.reason if retrieval else ''}".strip())
    if state == "starting" and not is_written:
        return IndexHealth(BAD, "There is no index yet, and nothing is making one. Run `cairn index`.")
    if state == "starting":
        return IndexHealth(BUSY, "The index is being opened; what is in it can be found in a moment.")
    progress = _progress(status)
    if status.paused and status.remaining:
        return IndexHealth(WARN, f"Indexing is paused: {progress}. `cairn resume` goes on with it.")
    if state == "indexing":
        left = f", about {_duration(status.seconds_left)} left" if status.seconds_left else ""
        doing = _DOING.get(status.activity, "it is being indexed")
        return IndexHealth(BUSY, f"The index is not complete yet: {doing}, {progress}{left}.")
    slow = _slow(timings, slow_ms)
    # The level is also `warn` if the user chose the lower phase, in the settings or by hand.
    if retrieval and (retrieval.phase < retrieval.wanted or (status.model and retrieval.phase < VECTORS)):
        how = _WITHOUT[retrieval.phase]
        reason = f" {retrieval.reason}" if retrieval.reason else ""
        return IndexHealth(WARN, f"The index is complete, but questions are answered {how}.{reason}")
    if state == "degraded":
        lacking = f"The index is not complete: {progress}." if status.remaining else ""
        why = status.last_error or ("" if lacking else "Nothing is found by meaning: there are no vectors.")
        return IndexHealth(BAD if status.remaining else WARN, " ".join(filter(None, [lacking, why])))
    if slow:
        return IndexHealth(WARN, f"The index is complete, but {slow}.")
    if status.warnings or status.last_error:
        return IndexHealth(WARN, f"The index is complete. {status.last_error or status.warnings[0]}")
    return IndexHealth(
        GOOD,
        f"The index is complete: {_many(status.files.indexed, 'file')} can be found by words and by meaning"
        f"{_speed(timings)}.",
    )


def team_health(team: TeamOverview, timings: Timings, slow_ms: float, now: datetime.datetime) -> IndexHealth:
    if not team.repositories:
        return IndexHealth(
            WARN,
            "You may not see any repository yet. The owner of the index adds one with `cairn team index`, and"
            " lets you see it with `cairn team grant`.",
        )
    away = [each for each in team.repositories if not each.answers]
    if away:
        named = away[0].name + (f" and {len(away) - 1:,} more" if len(away) > 1 else "")
        verb = "are" if len(away) > 1 else "is"
        return IndexHealth(
            BAD, f"{named} {verb} left out of answers: the server {away[0].server} does not answer."
        )
    silent = [each.name for each in team.servers or () if not each.answers]
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        return IndexHealth(WARN, f"{' and '.join(silent)} {verb} not answer; the other servers do.")
    slow = _slow(timings, slow_ms)
    if slow:
        return IndexHealth(WARN, f"All repositories can be searched, but {slow}.")
    oldest = min(team.repositories, key=lambda each: each.indexed_at)
    age = _duration((now - oldest.indexed_at).total_seconds())
    many = _many(len(team.repositories), "repository", "repositories")
    which = (
        "it was" if len(team.repositories) == 1 else f"{oldest.name}, the one not looked at for longest, was"
    )
    return IndexHealth(GOOD, f"{many} can be searched; {which} indexed {age} ago{_speed(timings)}.")


def _progress(status: protocol.StatusAnswer) -> str:
    files = status.files
    if "files" in status.remaining:
        if files.total > files.indexed:
            return f"{files.indexed:,} of {_many(files.total, 'file')} can be found"
        return f"{_many(files.indexed, 'file')} can be found so far"
    if status.queued:
        passages = _many(status.chunks, "passage")
        return f"all files can be found by words, {status.queued:,} of {passages} not yet by meaning"
    lacks = [each for each in status.remaining if each in ("history", "imports")]
    if lacks:
        return f"all files can be found, the {' and the '.join(lacks)} that ranking goes by are not there yet"
    return f"{_many(files.indexed, 'file')} can be found"


def _slow(timings: Timings, slow_ms: float) -> str:
    answered = [each for each in timings.questions if not (each.cached or each.failed)]
    p95 = timings.percentile(_SHARE)
    if p95 is None or p95 <= slow_ms or len(answered) < _FEWEST:
        return ""
    return f"questions are slow: of the latest {len(answered):,}, one in twenty took {_ms(p95)} or more"


def _speed(timings: Timings) -> str:
    p50 = timings.percentile(0.5)
    return f", and a question takes {_ms(p50)}" if p50 is not None else ""


def _ms(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{max(1, round(ms))} ms"


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _duration(seconds: float) -> str:
    """Return a text such as `40 seconds` or `12 days`."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return _many(int(seconds // size), name)
    return _many(max(1, round(seconds)), "second")
