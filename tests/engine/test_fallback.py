"""What stands in for an answer where something fails: S2's fallback chain, over a real index."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import STEADY, ask

from cairn import protocol
from cairn.cli import state_text
from cairn.engine import open_workspace
from cairn.engine import search as searching
from cairn.engine.engine import Engine
from cairn.engine.fallback import RetrievalOffError
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import IndexUnavailableError, InvalidRequestError, ModelError
from cairn.operations.concurrency import CONCURRENT_QUERIES
from cairn.operations.prometheus import PrometheusMetrics
from cairn.operations.query_log import LOG_NAME
from cairn.retrieval.meaning import choose_meaning
from cairn.settings.tree import EmbeddingSettings

QUESTION = "where is a ship moored at a berth"


@pytest.fixture
def decides_by_itself(steady: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STEADY)


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics()


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path, metrics: PrometheusMetrics) -> Iterator[Engine]:
    """Over the harbour, indexed and embedded."""
    host = Host(EmbeddingSettings(), metrics)
    engine = Engine({"index": {"watch": False}, "search": {"legDeadlineMs": 60_000}}, host=host)
    metrics.show_figures(engine.figures)
    engine.add_folder(workspace)
    deadline = time.monotonic() + 120
    while not engine.progress().complete:
        assert time.monotonic() < deadline, status_of(engine)
        time.sleep(0.02)
    yield engine
    engine.stop()


def search(engine: Engine, query: str = QUESTION) -> protocol.SearchAnswer:
    return ask(engine, "search", protocol.SearchParams(query))


def set_phase(engine: Engine, phase: int | None) -> protocol.PhaseState:
    return ask(engine, "setPhase", protocol.SetPhaseParams(phase))


class Failing:
    """Stands where meaning is compared and fails as it may."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def vectors(self, queries: Any) -> Any:
        raise self.problem


def break_meaning(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    def chosen(*given: Any) -> Any:
        return None if choose_meaning(*given) is None else Failing(problem)

    monkeypatch.setattr(open_workspace, "choose_meaning", chosen)


def break_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def rank(*_: Any, **__: Any) -> Any:
        raise IndexUnavailableError("The index cannot be read.")

    monkeypatch.setattr(searching, "rank", rank)


def test_an_answer_says_in_which_phase_it_was_made(engine: Engine) -> None:
    assert search(engine).retrieval == protocol.AnsweredIn(3, 3)
    assert {"embed", "keyword", "exact", "file"} & set(search(engine, "moored ship").timings) >= {
        "embed",
        "file",
    }


def test_a_lower_phase_leaves_legs_out(engine: Engine) -> None:
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
def test_keywords_answer_where_vectors_fail(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    break_meaning(monkeypatch, problem)
    answer = search(engine)
    assert answer.results[0].path == "src/harbour/berths.py"
    assert answer.retrieval.fallback == "keywords"
    assert answer.retrieval.reason
    assert status_of(engine).last_error == answer.retrieval.reason


def test_meaning_alone_gives_way_to_keywords_where_it_cannot_be_compared(engine: Engine) -> None:
    set_phase(engine, 2)
    answer = ask(engine, "search", protocol.SearchParams("moor_ship", alpha=1))
    assert answer.results[0].path == "src/harbour/berths.py"


def test_what_was_answered_before_stands_in_where_every_phase_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = search(engine)
    set_phase(engine, 2)  # an answer of another phase is another answer, but better than none
    break_everything(monkeypatch)
    answer = search(engine)
    assert answer.results == before.results
    assert answer.retrieval == protocol.AnsweredIn(0, 2, "cache", "The index cannot be read.")
    assert not answer.index.complete, "nobody knows whether it is up to date"


def test_a_message_is_the_last_resort(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    break_everything(monkeypatch)
    answer = search(engine, "never asked before")
    assert (answer.results, answer.verdict.action) == ((), "noMatch")
    assert answer.verdict.message == "The index cannot be read."
    assert answer.retrieval.fallback == "generic"


def test_a_bad_request_is_no_failure_that_something_stands_in_for(engine: Engine) -> None:
    only = protocol.SearchFilter(language=("klingon",))
    with pytest.raises(InvalidRequestError, match=r"filter\.language"):
        ask(engine, "search", protocol.SearchParams("ship", filter=only))
    assert status_of(engine).retrieval.state.queries == 0


@pytest.mark.usefixtures("decides_by_itself")
def test_failures_switch_searching_off_and_it_says_when_it_is_tried_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        break_everything(broken)
        for number in range(20):
            search(engine, f"ship {number}")
    state = status_of(engine).retrieval.state
    assert (state.phase, state.wanted) == (0, 3)
    assert "failed" in state.reason
    off = search(engine, "another ship")
    assert off.retrieval.fallback == "generic"
    assert "`cairn phase 3`" in off.verdict.message
    set_phase(engine, 3)
    assert search(engine, "another ship").retrieval.phase == 3


def test_retrieval_that_is_off_says_so_everywhere(engine: Engine, workspace: Path) -> None:
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


def test_what_was_asked_is_logged_without_its_words(engine: Engine, bare_data_dir: Path) -> None:
    search(engine, "zanzibar lighthouse keeper")
    search(engine, "zanzibar lighthouse keeper")
    ask(engine, "discover", protocol.DiscoverParams("zanzibar lighthouse keeper"))
    (log,) = bare_data_dir.glob(f"workspaces/*/{LOG_NAME}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["method"], line["cached"], line["phase"]) for line in lines] == [
        ("search", False, 3),
        ("search", True, 3),
        ("discover", False, 3),
    ]
    assert "zanzibar" not in log.read_text()
    recent = status_of(engine).retrieval.recent
    assert (recent.queries, recent.cached_share) == (3, pytest.approx(1 / 3, abs=1e-3))


def test_what_is_counted_is_what_was_asked(engine: Engine, metrics: PrometheusMetrics) -> None:
    for _ in range(2):
        search(engine)
        ask(engine, "discover", protocol.DiscoverParams("how are ships moored"))
    value = metrics.registry.get_sample_value
    assert (value("cairn_cache_hits_total"), value("cairn_cache_misses_total")) == (2, 2)
    assert value("cairn_phase") == 3
    assert value("cairn_index_chunks") == status_of(engine).chunks


def test_the_status_sums_up_the_latest_questions_for_people(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    search(engine)
    search(engine)
    set_phase(engine, 1)
    search(engine, "high water")
    state_text.print_status(status_of(engine))
    printed = " ".join(capsys.readouterr().out.split())
    assert "phase: 1 (names and keywords). Phase 1 was set by hand." in printed
    assert "questions: the latest 3: " in printed
    for part in (
        "ms p50",
        "ms p95",
        "33 % from the cache",
        "0 % found nothing",
        "0 % fell back",
        "0 % failed",
    ):
        assert part in printed


def test_of_a_question_among_several_its_share_is_judged(engine: Engine) -> None:
    with CONCURRENT_QUERIES.counted(), CONCURRENT_QUERIES.counted(), CONCURRENT_QUERIES.counted():
        search(engine)
    judged, taken = engine.fallback.switch.state().p95_ms, engine.fallback.latency[-1]
    assert judged is not None
    assert judged == pytest.approx(taken / 4, rel=0.3)


@pytest.mark.usefixtures("decides_by_itself")
def test_a_search_beside_a_save_says_nothing_of_how_long_searches_take(
    engine: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank = searching.rank

    def beside_a_save(*given: Any, **named: Any) -> Any:
        (workspace / "src" / "new.py").write_text("def cast_off():\n    return 1\n")
        content = engine.folders[0].reader.facts().content
        engine.changed(workspace / "src" / "new.py")
        deadline = time.monotonic() + 60
        while engine.folders[0].reader.facts().content == content:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return rank(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(searching, "rank", beside_a_save)
        search(engine)
    state = engine.fallback.switch.state()
    assert (state.queries, state.p95_ms) == (1, None)
    deadline = time.monotonic() + 120
    while not engine.progress().complete:
        assert time.monotonic() < deadline, status_of(engine)
        time.sleep(0.02)
    search(engine, "where is a ship")
    assert engine.fallback.switch.state().p95_ms
