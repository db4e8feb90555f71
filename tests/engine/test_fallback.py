"""The fallback chain answers over a real index, whatever fails."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.conftest import ask
from tests.engine.engines import PATIENT, indexed

from cairn import protocol
from cairn.cli import state_text
from cairn.engine import search as searching
from cairn.engine.engine import Engine
from cairn.engine.fallback import RetrievalOffError
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import IndexUnavailableError, InvalidRequestError, ModelError
from cairn.index.indexing.worker_pool import busy_seconds_of_others, most_workers
from cairn.operations.prometheus import PrometheusMetrics
from cairn.operations.query_log import LOG_NAME, QueryLog
from cairn.retrieval import meaning
from cairn.retrieval.meaning import Meaning, choose_meaning
from cairn.settings.tree import EmbeddingSettings

QUESTION = "where is a ship moored at a berth"


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics()


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path, metrics: PrometheusMetrics) -> Iterator[Engine]:
    """The harbour, indexed."""
    with indexed(workspace, host=Host(EmbeddingSettings(), metrics), **PATIENT) as engine:
        metrics.show_figures(engine.figures)
        yield engine


def search(engine: Engine, query: str = QUESTION) -> protocol.SearchAnswer:
    return ask(engine, "search", protocol.SearchParams(query))


def set_phase(engine: Engine, phase: int | None) -> protocol.PhaseState:
    return ask(engine, "setPhase", protocol.SetPhaseParams(phase))


def break_vectors(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    class Failing:
        def vectors(self, queries: Any) -> Any:
            raise problem

    def chosen(*given: Any) -> Any:
        return None if choose_meaning(*given) is None else Failing()

    monkeypatch.setattr(meaning, "choose_meaning", chosen)


def break_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def rank(*_: Any, **__: Any) -> Any:
        raise IndexUnavailableError("The index cannot be read.")

    monkeypatch.setattr(searching, "rank", rank)


def test_an_answer_has_its_phase(engine: Engine) -> None:
    assert search(engine).retrieval == protocol.AnsweredIn(3, 3)
    assert {"embed", "file"} <= set(search(engine, "moored ship").timings)


def test_a_lower_phase_uses_fewer_legs(engine: Engine) -> None:
    set_phase(engine, 2)
    keywords = search(engine)
    assert (keywords.retrieval.phase, keywords.retrieval.fallback) == (2, "")
    assert "embed" not in keywords.timings
    assert "file" in keywords.timings
    set_phase(engine, 1)
    names = search(engine)
    assert names.retrieval.phase == 1
    assert names.results[0].path == "src/harbour/berths.py"
    assert not {"embed", "file", "exact"} & set(names.timings)


@pytest.mark.parametrize("problem", [ModelError("The model is damaged."), RuntimeError("out of memory")])
def test_keywords_answer_if_vectors_fail(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    break_vectors(monkeypatch, problem)
    answer = search(engine)
    assert answer.results[0].path == "src/harbour/berths.py"
    assert answer.retrieval.fallback == "keywords"
    assert answer.retrieval.reason
    assert status_of(engine.request()).last_error == answer.retrieval.reason


def test_keywords_answer_a_search_for_vectors_alone_without_vectors(engine: Engine) -> None:
    set_phase(engine, 2)
    answer = ask(engine, "search", protocol.SearchParams("moor_ship", alpha=1))
    assert answer.results[0].path == "src/harbour/berths.py"


def test_an_earlier_answer_is_returned_if_every_phase_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = search(engine)
    set_phase(engine, 2)  # an answer of another phase is better than none
    break_everything(monkeypatch)
    answer = search(engine)
    assert answer.results == before.results
    assert answer.retrieval == protocol.AnsweredIn(0, 2, "cache", "The index cannot be read.")
    assert not answer.index.complete, "an earlier answer may be out of date"


def test_a_message_is_the_last_fallback(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    break_everything(monkeypatch)
    answer = search(engine, "a new query")
    assert (answer.results, answer.verdict.action) == ((), "noMatch")
    assert answer.verdict.message == "The index cannot be read."
    assert answer.retrieval.fallback == "generic"


def test_a_bad_request_is_an_error_and_does_not_count(engine: Engine) -> None:
    only = protocol.SearchFilter(language=("klingon",))
    with pytest.raises(InvalidRequestError, match=r"filter\.language"):
        ask(engine, "search", protocol.SearchParams("ship", filter=only))
    assert status_of(engine.request()).retrieval.state.queries == 0


def test_failures_switch_searching_off(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        break_everything(broken)
        for number in range(20):
            search(engine, f"ship {number}")
    state = status_of(engine.request()).retrieval.state
    assert (state.phase, state.wanted) == (0, 3)
    assert "failed" in state.reason
    off = search(engine, "another ship")
    assert off.retrieval.fallback == "generic"
    assert "`cairn phase 3`" in off.verdict.message
    set_phase(engine, 3)
    assert search(engine, "another ship").retrieval.phase == 3


def test_every_method_says_that_retrieval_is_off(engine: Engine, workspace: Path) -> None:
    set_phase(engine, 0)
    found = ask(engine, "discover", protocol.DiscoverParams("how are ships moored"))
    assert found.verdict.action == "noMatch"
    assert found.answer_prompt == found.verdict.message
    assert "`cairn phase auto`" in found.answer_prompt
    document = protocol.TextDocument((workspace / "src/harbour/berths.py").as_uri())
    place = protocol.Range(protocol.Position(3, 0), protocol.Position(3, 0))
    with pytest.raises(RetrievalOffError, match="cairn phase auto"):
        ask(engine, "related", protocol.RelatedParams(document, place))
    set_phase(engine, None)
    assert ask(engine, "related", protocol.RelatedParams(document, place)).retrieval.phase == 3


def test_queries_are_logged_without_their_text(engine: Engine, bare_data_dir: Path) -> None:
    search(engine, "zanzibar lighthouse keeper")
    search(engine, "zanzibar lighthouse keeper")
    ask(engine, "discover", protocol.DiscoverParams("zanzibar lighthouse keeper"))
    (log,) = bare_data_dir.glob(f"workspaces/*/{LOG_NAME}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["method"], line["cached"], line["phase"]) for line in lines] == [
        ("search", False, 3), ("search", True, 3), ("discover", False, 3),
    ]  # fmt: skip
    assert "zanzibar" not in log.read_text()
    recent = status_of(engine.request()).retrieval.recent
    assert (recent.queries, recent.cached_share) == (3, pytest.approx(1 / 3, abs=1e-3))


def test_metrics_count_the_requests(engine: Engine, metrics: PrometheusMetrics) -> None:
    for _ in range(2):
        search(engine)
        ask(engine, "discover", protocol.DiscoverParams("how are ships moored"))
    value = metrics.registry.get_sample_value
    assert (value("cairn_cache_hits_total"), value("cairn_cache_misses_total")) == (2, 2)
    assert value("cairn_phase") == 3
    assert value("cairn_index_chunks") == status_of(engine.request()).chunks


def test_the_status_summarizes_the_latest_queries(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    search(engine)
    search(engine)
    set_phase(engine, 1)
    search(engine, "high water")
    state_text.print_status(status_of(engine.request()))
    printed = " ".join(capsys.readouterr().out.split())
    assert "phase: 1 (names and keywords). Phase 1 was set by hand." in printed
    assert "questions: the latest 3: " in printed
    shares = ("33 % from the cache", "0 % found nothing", "0 % fell back", "0 % failed")
    for part in ("ms p50", "ms p95", *shares):
        assert part in printed


def test_only_the_processor_time_of_a_searchs_threads_counts(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(engine)
    rank, vectors = searching.rank, Meaning.vectors

    def waiting(*given: Any, **named: Any) -> Any:
        time.sleep(1)
        return rank(*given, **named)

    def working(*given: Any) -> Any:
        ends = time.thread_time() + 0.3
        while time.thread_time() < ends:
            pass
        return vectors(*given)

    monkeypatch.setattr(searching, "rank", waiting)
    search(engine, "where is a ship")
    assert engine.caller.timings.questions[-1].ms > 1_000
    first = engine.caller.switch.state().p95_ms
    assert first is not None
    assert first < 1_000
    monkeypatch.setattr(Meaning, "vectors", working)  # on another thread
    search(engine, "where is a berth")
    assert 300 < (engine.caller.switch.state().p95_ms or 0) < 1_000


@pytest.mark.parametrize("problem", [OSError(errno.EINVAL, "Invalid argument"), psutil.AccessDenied(1)])
def test_figures_that_the_system_refuses_change_no_answer(
    engine: Engine, metrics: PrometheusMetrics, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    before = [result.path for result in search(engine).results]

    def refuse(*_: Any, **__: Any) -> Any:
        raise problem

    for name in ("cpu_times", "Process", "sensors_battery", "virtual_memory"):
        monkeypatch.setattr(psutil, name, refuse, raising=False)
    if isinstance(problem, OSError):
        monkeypatch.setattr(time, "thread_time", refuse)
    for name in ("search", "request", "discovery"):
        monkeypatch.setattr(metrics, name, refuse)
    monkeypatch.setattr(QueryLog, "_write", refuse)
    set_phase(engine, 2)
    set_phase(engine, 3)
    engine.caller.cache.clear()
    answer = search(engine)
    assert [result.path for result in answer.results] == before
    assert answer.retrieval == protocol.AnsweredIn(3, 3)
    assert ask(engine, "discover", protocol.DiscoverParams(QUESTION)).excerpts
    assert status_of(engine.request()).memory == 0
    assert "cairn_resident_memory_bytes 0" in metrics.text().decode()
    assert most_workers() >= 1
    assert busy_seconds_of_others([1]) <= 0
