"""Answers that are kept: the same question twice is free, and what is given again is as if it were found anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.conftest import ask

from cairn import protocol
from cairn.engine import discover as discovering
from cairn.engine import open_workspace
from cairn.engine.completeness import index_state
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import IndexUnavailableError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.operations.prometheus import PrometheusMetrics
from cairn.settings.tree import EmbeddingSettings

QUESTION = "how is a ship moored at a berth"
BERTHS = "src/harbour/berths.py"


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics()


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path, metrics: PrometheusMetrics) -> Iterator[Engine]:
    """Over the harbour, indexed and embedded; files that change on disk are not noticed."""
    host = Host(EmbeddingSettings(), metrics)
    engine = Engine({"index": {"watch": False}, "search": {"legDeadlineMs": 60_000}}, host=host)
    engine.add_folder(workspace)
    deadline = time.monotonic() + 120
    while (state := index_state(engine.folders)).remaining or not state.complete:
        assert time.monotonic() < deadline, status_of(engine)
        time.sleep(0.02)
    yield engine
    engine.stop()


def discover(engine: Engine, query: str = QUESTION, **params: Any) -> protocol.DiscoverAnswer:
    answer = ask(engine, "discover", protocol.DiscoverParams(query, **params))
    assert isinstance(answer, protocol.DiscoverAnswer)
    return answer


def is_cached(answer: protocol.DiscoverAnswer) -> bool:
    return set(answer.metrics.stages) == {"cached"}


def found(answer: protocol.DiscoverAnswer) -> protocol.DiscoverAnswer:
    """All of the answer but how long it took."""
    counts = evolve(answer.metrics, total_time_ms=0, stages={})
    return evolve(answer, metrics=counts)


def quoted(answer: protocol.DiscoverAnswer) -> str:
    return "\n".join([answer.answer_prompt, *(excerpt.text for excerpt in answer.excerpts)])


def test_a_discovery_asked_twice_is_answered_from_the_cache(
    engine: Engine, metrics: PrometheusMetrics
) -> None:
    first = discover(engine)
    again = discover(engine)
    assert (is_cached(first), is_cached(again)) == (False, True)
    assert found(again) == found(first)
    assert first.excerpts
    value = metrics.registry.get_sample_value
    assert (value("cairn_cache_hits_total"), value("cairn_cache_misses_total")) == (1, 1)
    assert status_of(engine).retrieval.recent.cached_share == 0.5


def test_another_question_or_another_wish_is_answered_anew(engine: Engine) -> None:
    discover(engine)
    two = {"render": {"includeMetadata": True, "maxPromptTokens": 500}}
    for params in (
        {"query": "when is high water"},
        {"max_bullets": 3},
        {"exclude": ()},
        {"format": protocol.FormatStyle.JSON},
        {"config": two},
    ):
        assert not is_cached(discover(engine, **params)), params
    other_order = {"render": dict(reversed(two["render"].items()))}
    assert is_cached(discover(engine, config=other_order))


def test_evidence_whose_file_changed_unnoticed_is_not_quoted_again(engine: Engine, workspace: Path) -> None:
    file = workspace / BERTHS
    before, first = file.read_text(encoding="utf-8"), discover(engine)
    (line,) = (line for line in before.splitlines() if "def moor_ship" in line)
    assert line in quoted(first)
    file.write_text(before.replace(line, line.replace("moor_ship", "let_go")), encoding="utf-8")
    changed = discover(engine)
    assert not is_cached(changed)
    assert line not in quoted(changed)
    assert is_cached(discover(engine))
    file.write_text(before, encoding="utf-8")
    restored = discover(engine)
    assert not is_cached(restored), "what was left out may be quoted again"
    assert found(restored) == found(first)


def test_evidence_moves_with_its_lines_where_its_file_changed_unnoticed(
    engine: Engine, workspace: Path
) -> None:
    (first, *_) = [excerpt for excerpt in discover(engine).excerpts if excerpt.path == BERTHS]
    file = workspace / BERTHS
    file.write_text("# one more line\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    (moved, *_) = [excerpt for excerpt in discover(engine).excerpts if excerpt.path == BERTHS]
    assert (moved.text, moved.range.start.line) == (first.text, first.range.start.line + 1)


def test_a_file_that_vanished_is_not_quoted(engine: Engine, workspace: Path) -> None:
    discover(engine)
    (workspace / BERTHS).unlink()
    answer = discover(engine)
    assert not is_cached(answer)
    assert BERTHS not in {quote.path for quote in (*answer.excerpts, *answer.bullets)}
    assert BERTHS not in answer.answer_prompt


def test_unsaved_text_is_quoted_as_soon_as_it_is_typed(engine: Engine, workspace: Path) -> None:
    text = (workspace / BERTHS).read_text(encoding="utf-8")
    discover(engine)
    typed = "# A ship is moored at a berth by the harbour master alone.\n"
    engine.document_changed(workspace / BERTHS, typed + text)
    assert typed.strip() in quoted(discover(engine))
    engine.document_closed(workspace / BERTHS)
    assert typed.strip() not in quoted(discover(engine))


def test_what_was_chosen_settings_and_the_phase_make_another_answer(engine: Engine) -> None:
    discover(engine)
    chosen = ask(engine, "search", protocol.SearchParams(QUESTION)).results[0]
    taken = {"query": QUESTION, "contentHash": chosen.content_hash, "action": "open"}
    ask(engine, "feedback", taken)
    assert not is_cached(discover(engine))
    assert is_cached(discover(engine))
    ask(engine, "setPhase", protocol.SetPhaseParams(2))
    assert not is_cached(discover(engine))
    ask(engine, "setPhase", protocol.SetPhaseParams(None))
    assert is_cached(discover(engine))
    engine.configure({"index": {"watch": False}, "discovery": {"maxPerDoc": 1}})
    assert not is_cached(discover(engine))


def test_collections_that_have_aged_a_day_are_ranked_anew(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=1)

    discover(engine)
    monkeypatch.setattr(discovering, "datetime", Tomorrow)
    assert not is_cached(discover(engine))


def test_an_answer_that_lacks_vectors_is_not_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def vectors(self, queries: Any) -> Any:
            raise ModelError("The model is damaged.")

    with monkeypatch.context() as broken:
        broken.setattr(open_workspace, "choose_meaning", lambda *_: Failing())
        assert discover(engine).retrieval.fallback == "keywords"
    assert not is_cached(discover(engine))


def test_no_stage_is_told_of_a_kept_answer(engine: Engine) -> None:
    stages: list[protocol.DiscoverProgress] = []
    ask(engine, "discover", protocol.DiscoverParams(QUESTION), tell=stages.append)
    assert len(stages) == 9
    stages.clear()
    assert is_cached(ask(engine, "discover", protocol.DiscoverParams(QUESTION), tell=stages.append))
    assert stages == []


def break_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise IndexUnavailableError("The index cannot be read.")

    for read in ("stats", "contents", "facts_with_unsaved"):
        monkeypatch.setattr(OverlaidReader, read, fail)


def test_what_was_answered_before_stands_in_as_far_as_its_files_do(
    engine: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = discover(engine)
    break_everything(monkeypatch)
    answer = discover(engine)
    assert answer.answer_prompt == before.answer_prompt
    assert answer.retrieval == protocol.AnsweredIn(0, 3, "cache", "The index cannot be read.")
    assert not answer.index.complete, "nobody knows whether it is up to date"
    (workspace / BERTHS).write_text("# empty\n", encoding="utf-8")
    generic = discover(engine)
    assert (generic.retrieval.fallback, generic.excerpts) == ("generic", ())
    assert generic.answer_prompt == "The index cannot be read."
