"""Several processes log queries at once, without their text; a log that cannot be written stops no answer."""

from __future__ import annotations

import datetime
import json
import logging
import multiprocessing
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import filelock
import psutil
import pytest
from attrs import evolve
from tests.operations.answers import discover_answer, search_answer, verdict

from cairn import protocol
from cairn.operations.kill_switch import PhaseChange
from cairn.operations.query_log import Answer, QueryLine, QueryLog
from cairn.operations.recent_queries import logged_timings
from cairn.settings.tree import LogSettings

PROCESSES, LINES = 3, 500

TEXT = "Where do the walruses moor?"
ANSWER = search_answer(("src/harbour.py", 0.9, ("moor", "walruses")), ("docs/ships.md", 0.5, ()))


def in_phase(phase: int, wanted: int = 3, fallback: str = "") -> protocol.SearchAnswer:
    return evolve(ANSWER, retrieval=protocol.AnsweredIn(phase, wanted, fallback))


def log_of(data: Path, **settings: Any) -> QueryLog:
    log_settings = LogSettings(**settings)
    return QueryLog(data, lambda: log_settings)


def add(
    log: QueryLog,
    answer: Answer = ANSWER,
    ms: float = 12.3456,
    text: str = TEXT,
    *,
    method: str = "search",
    **how: Any,
) -> None:
    log.add(QueryLine.of(method, answer, ms, **how), text, answer)


def read_recent(data: Path, now: datetime.datetime | None = None) -> protocol.RecentQueries:
    return logged_timings([data]).figures(now or datetime.datetime.now(datetime.UTC))


def lines(data: Path) -> list[dict[str, Any]]:
    """Parse all lines of both files, the older file first."""
    files = [data / "queries.1.jsonl", data / "queries.jsonl"]
    texts = [line for file in files if file.exists() for line in file.read_text("ascii").splitlines()]
    return [json.loads(line) for line in texts]


def change(at: datetime.datetime, after: int = 2) -> PhaseChange:
    return PhaseChange(at.isoformat(), 3, after, "It was slow.", 300.0)


# --- writing -------------------------------------------------------------------------------------------


def test_a_line_describes_the_query_without_its_text(tmp_path: Path) -> None:
    add(log_of(tmp_path / "made"))
    (line,) = lines(tmp_path / "made")
    assert datetime.datetime.fromisoformat(line.pop("at")).tzinfo is not None
    assert line.pop("version")
    results = [
        {"path": "src/harbour.py", "score": 0.9, "matchedTerms": 2},
        {"path": "docs/ships.md", "score": 0.5, "matchedTerms": 0},
    ]
    assert line == {
        "event": "query", "method": "search", "action": "answer", "confidence": 0.41, "ms": 12.346,
        "phase": 3, "wanted": 3, "fallback": "", "cached": False, "error": "", "complete": True,
        "type": "natural", "termCount": 2, "resultCount": 2, "keywordMatch": True, "results": results,
        "pid": os.getpid(),
    }  # fmt: skip


def test_the_text_is_logged_only_if_the_settings_say_so(tmp_path: Path) -> None:
    add(log_of(tmp_path / "without"))
    add(log_of(tmp_path / "with", query_text=True))
    without, with_text = ((tmp_path / name / "queries.jsonl").read_text() for name in ("without", "with"))
    for word in ("walrus", "moor", "Where"):
        assert word not in without
        assert word in with_text
    (line,) = lines(tmp_path / "with")
    assert line["query"] == TEXT
    assert line["terms"] == ["walruses", "moor"]
    assert line["results"][0]["matchedTerms"] == ["moor", "walruses"]


def test_a_log_that_is_off_writes_nothing(tmp_path: Path) -> None:
    log = log_of(tmp_path / "data", queries=False)
    add(log)
    log.add_phase_change(change(datetime.datetime.now(datetime.UTC)))
    assert list(tmp_path.iterdir()) == []


def test_a_line_has_five_results_but_matches_of_all(tmp_path: Path) -> None:
    results = (*((f"{n}.py", 0.1, ()) for n in range(9)), ("last.py", 0.1, ("moor",)))
    add(log_of(tmp_path), search_answer(*results))
    (line,) = lines(tmp_path)
    assert [result["path"] for result in line["results"]] == [f"{n}.py" for n in range(5)]
    assert (line["resultCount"], line["keywordMatch"]) == (10, True)


def test_any_text_stays_on_one_line_of_bounded_length(tmp_path: Path) -> None:
    log = log_of(tmp_path, query_text=True)
    for text in ("a\nb\r\u2028c", "half \ud800 of a pair", "ship " * 100_000):
        add(log, search_answer(terms=tuple(text.split())), text=text)
    first, second, third = lines(tmp_path)
    assert first["query"] == "a\nb\r\u2028c"
    assert second["query"] == "half \ud800 of a pair"
    assert len(json.dumps(third)) < 10_000
    assert third["termCount"] == 100_000


def test_a_discovery_is_logged_by_the_passages_of_its_evidence(tmp_path: Path) -> None:
    answer = discover_answer(("src/harbour.py", 0.9, ("moor",)))
    add(log_of(tmp_path, query_text=True), answer, method="discover")
    (line,) = lines(tmp_path)
    assert (line["method"], line["type"], line["termCount"], line["terms"]) == ("discover", "", 0, [])
    assert line["results"] == [{"path": "src/harbour.py", "score": 0.9, "matchedTerms": ["moor"]}]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_only_the_owner_may_read_the_log(tmp_path: Path) -> None:
    add(log_of(tmp_path))
    assert stat.S_IMODE((tmp_path / "queries.jsonl").stat().st_mode) == 0o600


# --- rotation and failures -----------------------------------------------------------------------------


def test_a_full_log_replaces_the_older_file(tmp_path: Path) -> None:
    add(log_of(tmp_path))
    size = (tmp_path / "queries.jsonl").stat().st_size
    (tmp_path / "queries.jsonl").unlink()
    log = log_of(tmp_path, max_bytes=3 * size + 100)
    for number in range(8):
        add(log, in_phase(number))
    assert [line["phase"] for line in lines(tmp_path)] == [3, 4, 5, 6, 7]
    for name in ("queries.jsonl", "queries.1.jsonl"):
        assert (tmp_path / name).stat().st_size <= 3 * size + 100


def test_a_line_larger_than_the_limit_is_logged(tmp_path: Path) -> None:
    log = log_of(tmp_path, max_bytes=0)
    for number in range(3):
        add(log, in_phase(number))
    assert [line["phase"] for line in lines(tmp_path)] == [1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, appending waits for the same lock")
def test_lines_are_appended_while_another_process_rotates(tmp_path: Path) -> None:
    log = log_of(tmp_path, max_bytes=1)
    add(log)
    with filelock.FileLock(tmp_path / "queries.lock"):
        add(log)
        add(log)
        assert not (tmp_path / "queries.1.jsonl").exists()
    assert len(lines(tmp_path)) == 3
    add(log)
    assert len((tmp_path / "queries.1.jsonl").read_text().splitlines()) == 3


def test_a_failed_rotation_is_retried_and_loses_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError("another process reads it")

    log = log_of(tmp_path, max_bytes=1)
    add(log)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        add(log)
    assert log.failures == 0
    assert len((tmp_path / "queries.jsonl").read_text().splitlines()) == 2
    add(log)
    assert len((tmp_path / "queries.1.jsonl").read_text().splitlines()) == 2


def test_failures_are_counted_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    data = tmp_path / "data"
    data.write_text("a file in place of the folder")
    log = log_of(data)
    for _ in range(3):
        add(log)
    log.add_phase_change(change(datetime.datetime.now(datetime.UTC)))
    assert log.failures == 4
    assert log.problem is not None
    assert len(caplog.records) == 1
    data.unlink()
    add(log)
    assert (log.failures, log.problem) == (4, None)
    assert len(lines(data)) == 1


def test_a_partly_written_line_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    log = log_of(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, line: write(file, line[:10]))
        add(log)
    assert log.failures == 1
    add(log)
    add(log)
    assert read_recent(tmp_path).queries == 2


def _append(data: str, number: int, max_bytes: int) -> None:
    log = log_of(Path(data), max_bytes=max_bytes)
    for line in range(LINES):
        add(log, in_phase(number, wanted=line))
    assert log.failures == 0


def test_processes_that_rotate_one_log_lose_and_mix_no_line(tmp_path: Path) -> None:
    add(log_of(tmp_path / "one"))
    size = (tmp_path / "one" / "queries.jsonl").stat().st_size + 20
    max_bytes = (
        size * PROCESSES * LINES * 2 // 3
    )  # two thirds of all lines: one rotation, which drops nothing
    spawn = multiprocessing.get_context("spawn")
    processes = [
        spawn.Process(target=_append, args=(str(tmp_path), number, max_bytes)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    assert (tmp_path / "queries.1.jsonl").exists()
    found = lines(tmp_path)
    assert len(found) == PROCESSES * LINES
    for number in range(PROCESSES):
        assert sorted(line["wanted"] for line in found if line["phase"] == number) == list(range(LINES))


def test_threads_that_rotate_often_leave_whole_lines(tmp_path: Path) -> None:
    log = log_of(tmp_path, max_bytes=5_000)
    threads = [threading.Thread(target=lambda: [add(log, ANSWER) for _ in range(300)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.failures == 0
    assert {line["method"] for line in lines(tmp_path)} == {"search"}


# --- reading -------------------------------------------------------------------------------------------


def test_a_missing_log_has_no_figures(tmp_path: Path) -> None:
    recent = read_recent(tmp_path / "none")
    assert (recent.queries, recent.since, recent.phase_changes) == (0, "", ())
    assert (recent.p50_ms, recent.p95_ms, recent.cached_share, recent.error_share) == (None,) * 4


def test_the_shares_are_those_of_the_logged_queries(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    for ms in range(1, 17):
        add(log, ms=float(ms))
    add(log, evolve(ANSWER, verdict=verdict("clarify")), ms=900.0, cached=True)
    add(log, search_answer(action="noMatch", phase=2), ms=16.0)
    add(log, in_phase(3, fallback="keywords"), ms=16.0)
    add(log, search_answer(action="noMatch"), ms=5_000.0, error="IndexUnavailableError")
    recent = read_recent(tmp_path)
    assert recent.queries == 20
    assert (recent.p50_ms, recent.p95_ms) == (9.0, 16.0)
    assert recent.error_share == 0.05
    assert recent.below_wanted_share == 0.1
    assert recent.cached_share == recent.no_match_share == recent.clarify_share == round(1 / 19, 4)
    assert recent.keyword_match_share == round(18 / 19, 4)


def test_the_latest_queries_of_both_files_count(tmp_path: Path) -> None:
    log = log_of(tmp_path, max_bytes=40_000)
    for number in range(100):
        add(log, ms=float(number))
    assert (tmp_path / "queries.1.jsonl").exists()
    assert len((tmp_path / "queries.jsonl").read_text().splitlines()) < 70
    recent = read_recent(tmp_path)
    assert (recent.queries, recent.p50_ms, recent.p95_ms) == (100, 49.0, 94.0)


def test_long_lines_are_read(tmp_path: Path) -> None:
    log = log_of(tmp_path, max_bytes=10_000_000)
    long_path = "x" * 15_000
    for number in range(20):
        add(log, search_answer(*[(long_path, 0.5, ())] * 5), ms=float(number))
    assert read_recent(tmp_path).queries == 20


BROKEN = [
    b"\n",
    b'{"event":"query","ms":',
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'{"event":"query"}',
    b'{"event":"query","at":5,"ms":"1"}',
    b'{"event":"phase","at":"yesterday","before":3,"after":2,"reason":"","until":1,"pid":1}',
    b'{"event":"phase","at":"2026-01-01","before":3,"after":2,"reason":"","until":1,"pid":1}',
    b'{"event":"later than this version"}',
    *(
        b'{"event":"query","at":"2026-01-01T00:00:00Z","pid":1,"method":"search","ms":%b,"phase":3,"wanted":3,'
        b'"fallback":"","cached":false,"error":"","action":"answer","keywordMatch":true}' % ms
        for ms in (b"NaN", b"-1", b"Infinity")
    ),
    b"[" * 200_000,
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_broken_lines_are_ignored(tmp_path: Path, broken: bytes) -> None:
    log = log_of(tmp_path)
    add(log)
    with (tmp_path / "queries.jsonl").open("ab") as file:
        file.write(broken + b"\n")
    add(log)
    recent = read_recent(tmp_path)
    assert (recent.queries, recent.phase_changes) == (2, ())


def test_phase_changes_say_whether_their_process_lives(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    now = datetime.datetime.now(datetime.UTC)
    log.add_phase_change(change(now))
    for _ in range(600):
        add(log)
    ended = lines(tmp_path)[0] | {"pid": _ended_process(), "after": 1, "until": None}
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write(json.dumps(ended, separators=(",", ":")) + "\n")
    recent = read_recent(tmp_path, now=now + datetime.timedelta(seconds=100))
    gone, here = recent.phase_changes
    assert recent.queries == 500
    assert (here.pid, here.alive, here.before, here.after) == (os.getpid(), True, 3, 2)
    assert here.reason == "It was slow."
    assert here.next_try_seconds == 200.0
    assert (gone.alive, gone.after, gone.next_try_seconds) == (False, 1, None)
    later = read_recent(tmp_path, now=now + datetime.timedelta(seconds=1_000))
    assert later.phase_changes[1].next_try_seconds == 0.0


def test_a_reused_process_id_does_not_count_as_alive(tmp_path: Path) -> None:
    began = datetime.datetime.fromtimestamp(psutil.Process().create_time(), datetime.UTC)
    log_of(tmp_path).add_phase_change(change(began - datetime.timedelta(hours=1)))
    (before,) = read_recent(tmp_path).phase_changes
    assert (before.pid, before.alive) == (os.getpid(), False)


def test_the_latest_five_changes_are_read(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    for number in range(8):
        log.add_phase_change(change(datetime.datetime.now(datetime.UTC), after=number))
    assert [each.after for each in read_recent(tmp_path).phase_changes] == [7, 6, 5, 4, 3]


def _nothing() -> None:
    pass


def _ended_process() -> int:
    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    process.start()
    process.join()
    assert process.pid is not None
    return process.pid
