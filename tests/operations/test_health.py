"""The health of an index says in a sentence why it is slow or incomplete."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from attrs import evolve

from cairn import protocol
from cairn.index.postgres.postgres_server import ServerState
from cairn.index.postgres.shards import OtherServer
from cairn.index.postgres.snapshots import VisibleRepository
from cairn.operations.health import TeamOverview, health_of, team_health
from cairn.operations.query_log import QueryLine
from cairn.operations.recent_queries import Timings

NOW = datetime.datetime(2026, 3, 5, tzinfo=datetime.UTC)
PHASE = protocol.PhaseState(3, 3, False, True, "", NOW.isoformat(), None, None, 0.0, 0.0, 0)
RECENT = protocol.RecentQueries(0, "", *[None] * 8, ())  # type: ignore[arg-type]
READY = protocol.StatusAnswer(
    state="ready", searchable=True, generation=7, phase=3, files=protocol.FileCounts(226, 226), chunks=1288,
    embedded=1288, queued=0, model=None, collections=(), last_error=None, memory=1,
    latency=protocol.Latency(None, None), retrieval=protocol.RetrievalStatus(PHASE, RECENT),
)  # fmt: skip


def timings(*ms: float, **more: Any) -> Timings:
    at, fields = NOW.isoformat(), {"cached": False, "error": ""} | more
    return Timings(
        tuple(
            QueryLine(at, 1, "search", each, 3, 3, "", action="", keyword_match=False, **fields)
            for each in ms
        )
    )


NO_TIMINGS = Timings()
LOWERED = evolve(PHASE, phase=2, reason="p95 was 900 ms.")
BY_HAND = evolve(PHASE, phase=2, wanted=2, reason="Set by hand.")
OFF = evolve(PHASE, phase=0, reason="By hand.")
MODEL = protocol.ModelInfo("m", 256, "m", True)


def counts(total: int, indexed: int) -> protocol.FileCounts:
    return protocol.FileCounts(total, indexed)


# fmt: off
HEALTH: list[tuple[dict[str, Any], str, str]] = [
    ({}, "good", "226 files can be found by words and by meaning."),
    ({"times": timings(20, 40, 60)}, "good", "and a question takes 40 ms"),
    ({"times": timings(*[40.0] * 9, *[1900.0] * 2)}, "warn", "one in twenty took 1.9 s or more"),
    ({"times": timings(*[1900.0] * 9)}, "good", "and a question takes 1.9 s"),
    ({"times": timings(*[1900.0] * 20, cached=True)}, "good", "by meaning."),
    ({"state": "starting"}, "busy", "is being opened"),
    ({"state": "starting", "last_error": "Run `cairn index`."}, "bad", "Run `cairn index`."),
    ({"state": "indexing", "remaining": ("files",), "activity": "reading", "files": counts(900, 120)},
     "busy", "reading files, 120 of 900 files can be found"),
    ({"state": "indexing", "remaining": ("vectors",), "activity": "embedding", "queued": 300,
      "seconds_left": 95},
     "busy", "300 of 1,288 passages not yet by meaning, about 2 min left"),
    ({"state": "indexing", "remaining": ("vectors",), "paused": True, "queued": 300},
     "warn", "paused: all files can be found by words, 300 of 1,288 passages not yet by meaning."),
    ({"state": "degraded", "remaining": ("files",), "last_error": "It failed.", "files": counts(9, 3)},
     "bad", "not complete: 3 of 9 files can be found. It failed."),
    ({"state": "degraded"}, "warn", "Nothing is found by meaning"),
    ({"state": "degraded", "phase_state": LOWERED}, "warn", "by keywords alone. p95 was 900 ms."),
    ({"model": MODEL, "phase_state": BY_HAND}, "warn", "by keywords alone. Set by hand."),
    ({"state": "disabled", "phase_state": OFF}, "bad", "switched off. By hand."),
    ({"paused": True}, "warn", "but paused: `cairn resume`"),
    ({"warnings": ("not read: a: Permission denied",)}, "warn", "not read: a"),
]
# fmt: on


@pytest.mark.parametrize(("given", "level", "words"), HEALTH)
def test_health_names_the_worst_problem(given: dict[str, Any], level: str, words: str) -> None:
    given = dict(given)
    times = given.pop("times", NO_TIMINGS)
    retrieval = protocol.RetrievalStatus(given.pop("phase_state", PHASE), RECENT)
    found = health_of(evolve(READY, retrieval=retrieval, **given), times, 500.0)
    assert found.level == level
    assert words in found.text


def repository(name: str, days: int, answers: bool = True) -> VisibleRepository:
    at, server = NOW - datetime.timedelta(days=days), OtherServer("north")
    server._retry_at = -math.inf if answers else math.inf
    return VisibleRepository(name, "main", "a" * 40, at, at, 10, 100, 1, 1, "main", at, server)


def server(name: str, answers: bool) -> ServerState:
    return ServerState(name, answers, "replica")


@pytest.mark.parametrize(
    ("team", "level", "words"),
    [
        (TeamOverview((), None), "warn", "You may not see any repository yet"),
        (
            TeamOverview((repository("gson", 1), repository("flask", 3)), ()), "good",
            "2 repositories can be searched; flask, the one not looked at for longest, was indexed 3 days",
        ),
        (
            TeamOverview((repository("gson", 1), repository("flask", 3, answers=False)), ()), "bad",
            "flask is left out of answers: the server north does not answer",
        ),
        (
            TeamOverview((repository("gson", 1),), (server("db:1", True), server("db:2", False))), "warn",
            "db:2 does not answer; the other servers do",
        ),
    ],
)  # fmt: skip
def test_team_health_names_what_is_left_out(team: TeamOverview, level: str, words: str) -> None:
    found = team_health(team, NO_TIMINGS, 500.0, NOW)
    assert found.level == level
    assert words in found.text
