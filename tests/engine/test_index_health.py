"""One sentence says why an index is slow or incomplete."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from attrs import evolve

from cairn import protocol
from cairn.engine.index_health import health_of, team_health
from cairn.engine.team_overview import TeamOverview, TeamRepository, TeamServer
from cairn.operations.timings import Timing, Timings

NOW = datetime.datetime(2026, 3, 5, tzinfo=datetime.UTC)
PHASE = protocol.PhaseState(3, 3, False, True, "", NOW.isoformat(), None, None, 0.0, 0.0, 0)
RECENT = protocol.RecentQueries(0, "", *[None] * 8, ())  # type: ignore[arg-type]
READY = protocol.StatusAnswer(
    state="ready", searchable=True, generation=7, phase=3, files=protocol.FileCounts(226, 226), chunks=1288,
    embedded=1288, queued=0, model=None, collections=(), last_error=None, latency=protocol.Latency(None, None),
    memory=1, retrieval=protocol.RetrievalStatus(PHASE, RECENT),
)  # fmt: skip


def timings(*ms: float, **more: Any) -> Timings:
    fields = {"phase": 3, "cached": False, "failed": False, "pid": 1} | more
    return Timings(tuple(Timing(NOW, "search", each, **fields) for each in ms))


NO_QUESTIONS = Timings()


def said(asked: Timings = NO_QUESTIONS, is_written: bool = True, **changed: Any) -> tuple[str, str]:
    phase = changed.pop("phase_state", PHASE)
    status = evolve(READY, retrieval=protocol.RetrievalStatus(phase, RECENT), **changed)
    found = health_of(status, asked, 500.0, is_written=is_written)
    return found.level, found.text


@pytest.mark.parametrize(
    ("given", "level", "words"),
    [
        ({}, "good", "226 files can be found by words and by meaning."),
        ({"asked": timings(20, 40, 60)}, "good", "and a question takes 40 ms"),
        ({"asked": timings(*[40.0] * 9, *[1900.0] * 2)}, "warn", "one in twenty took 1.9 s or more"),
        ({"asked": timings(*[1900.0] * 9)}, "good", "and a question takes 1.9 s"),
        ({"asked": timings(*[1900.0] * 20, cached=True)}, "good", "by meaning."),
        ({"state": "starting"}, "busy", "is being opened"),
        ({"state": "starting", "is_written": False}, "bad", "Run `cairn index`"),
        (
            {"state": "indexing", "remaining": ("files",), "activity": "reading", "files": protocol.FileCounts(900, 120)},
            "busy", "files are being read, 120 of 900 files can be found",
        ),
        (
            {"state": "indexing", "remaining": ("vectors",), "activity": "embedding", "queued": 300, "seconds_left": 95.0},
            "busy", "300 of 1,288 passages not yet by meaning, about 1 minute left",
        ),
        (
            {"state": "indexing", "remaining": ("vectors",), "paused": True, "queued": 300},
            "warn", "Indexing is paused: all files can be found by words, 300 of 1,288 passages not yet by meaning.",
        ),
        (
            {"state": "degraded", "remaining": ("files",), "last_error": "Nobody is indexing.", "files": protocol.FileCounts(9, 3)},
            "bad", "not complete: 3 of 9 files can be found. Nobody is indexing.",
        ),
        ({"state": "degraded"}, "warn", "Nothing is found by meaning"),
        (
            {"state": "degraded", "phase_state": evolve(PHASE, phase=2, reason="p95 was 900 ms.")},
            "warn", "answered by words alone, not by meaning. p95 was 900 ms.",
        ),
        (
            {"model": protocol.ModelInfo("m", 256, "m", True), "phase_state": evolve(PHASE, phase=2, wanted=2, reason="Phase 2 was set by hand.")},
            "warn", "answered by words alone, not by meaning. Phase 2 was set by hand.",
        ),
        ({"state": "disabled", "phase_state": evolve(PHASE, phase=0, reason="By hand.")}, "bad", "switched off. By hand."),
        ({"warnings": ("not read: a: Permission denied",)}, "warn", "not read: a"),
    ],
)  # fmt: skip
def test_health_names_the_gravest_thing(given: dict[str, Any], level: str, words: str) -> None:
    found_level, text = said(**given)
    assert found_level == level
    assert words in text


def repository(name: str, days: int, answers: bool = True) -> TeamRepository:
    at = NOW - datetime.timedelta(days=days)
    return TeamRepository(
        name, f"cairn-team:///{name}", "main", "a" * 40, at, at, 10, 100, 1, "", at, "" if answers else "north", answers
    )  # fmt: skip


def server(name: str, answers: bool) -> TeamServer:
    return TeamServer(name, "replica", answers, None, "")


@pytest.mark.parametrize(
    ("team", "level", "words"),
    [
        (TeamOverview((), None), "warn", "You may not see any repository yet"),
        (
            TeamOverview((repository("gson", 1), repository("flask", 3)), ()), "good",
            "2 repositories can be searched; flask, the one not looked at for longest, was indexed 3 days ago",
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
    found = team_health(team, NO_QUESTIONS, 500.0, NOW)
    assert found.level == level
    assert words in found.text
