"""A repeated discovery is answered from the cache, but never with evidence that has changed since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from tests.conftest import ask
from tests.engine.engines import PATIENT, indexed

from cairn import protocol
from cairn.engine import discover as discovering
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import IndexUnavailableError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.operations.prometheus import PrometheusMetrics
from cairn.retrieval import meaning
from cairn.settings.tree import EmbeddingSettings

QUESTION = "how is a ship moored at a berth"
BERTHS = "src/harbour/berths.py"


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics()


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path, metrics: PrometheusMetrics) -> Iterator[Engine]:
    """An engine of the indexed harbour that indexes no changes."""
    with indexed(workspace, **PATIENT):
        pass
    engine = Engine(PATIENT, host=Host(EmbeddingSettings(), metrics))
    engine.add_folder(workspace, keep_indexed=False)
    yield engine
    engine.stop()


def discover(engine: Engine, query: str = QUESTION, **params: Any) -> protocol.DiscoverAnswer:
    answer = ask(engine, "discover", protocol.DiscoverParams(query, **params))
    assert isinstance(answer, protocol.DiscoverAnswer)
    return answer


def is_cached(answer: protocol.DiscoverAnswer) -> bool:
    return set(answer.metrics.stages) == {"cached"}


def without_times(answer: protocol.DiscoverAnswer) -> protocol.DiscoverAnswer:
    return evolve(answer, metrics=evolve(answer.metrics, total_time_ms=0, stages={}))


def quoted(answer: protocol.DiscoverAnswer) -> str:
    return "\n".join([answer.answer_prompt, *(excerpt.text for excerpt in answer.excerpts)])


def test_a_repeated_discovery_is_answered_from_the_cache(engine: Engine, metrics: PrometheusMetrics) -> None:
    first = discover(engine)
    again = discover(engine)
    assert (is_cached(first), is_cached(again)) == (False, True)
    assert without_times(again) == without_times(first)
    assert first.excerpts
    value = metrics.registry.get_sample_value
    assert (value("cairn_cache_hits_total"), value("cairn_cache_misses_total")) == (1, 1)
    assert status_of(engine.request()).retrieval.recent.cached_share == 0.5


def test_other_params_are_not_answered_from_the_cache(engine: Engine) -> None:
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


def test_evidence_of_a_changed_file_is_not_quoted_again(engine: Engine, workspace: Path) -> None:
    file = workspace / BERTHS
    written_at = file.stat().st_mtime_ns
    before, first = file.read_text(encoding="utf-8"), discover(engine)
    (line,) = (line for line in before.splitlines() if "def moor_ship" in line)
    assert line in quoted(first)
    file.write_text(before.replace(line, line.replace("moor_ship", "let_go")), encoding="utf-8")
    changed = discover(engine)
    assert not is_cached(changed)
    assert line not in quoted(changed)
    assert is_cached(discover(engine))
    file.write_text(before, encoding="utf-8")
    os.utime(file, ns=(written_at, written_at))
    restored = discover(engine)
    assert not is_cached(restored), "the restored line may be quoted again"
    assert without_times(restored) == without_times(first)


def test_evidence_moves_with_its_lines(engine: Engine, workspace: Path) -> None:
    (first, *_) = [excerpt for excerpt in discover(engine).excerpts if excerpt.path == BERTHS]
    file = workspace / BERTHS
    file.write_text("# one more line\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    (moved, *_) = [excerpt for excerpt in discover(engine).excerpts if excerpt.path == BERTHS]
    assert (moved.text, moved.range.start.line) == (first.text, first.range.start.line + 1)


def test_a_deleted_file_is_not_quoted(engine: Engine, workspace: Path) -> None:
    discover(engine)
    (workspace / BERTHS).unlink()
    answer = discover(engine)
    assert not is_cached(answer)
    assert BERTHS not in {quote.path for quote in (*answer.excerpts, *answer.bullets)}
    assert BERTHS not in answer.answer_prompt


def test_unsaved_text_is_quoted_at_once(engine: Engine, workspace: Path) -> None:
    text = (workspace / BERTHS).read_text(encoding="utf-8")
    discover(engine)
    typed = "# A ship is moored at a berth by the harbour master alone.\n"
    engine.document_changed(workspace / BERTHS, typed + text)
    assert typed.strip() in quoted(discover(engine))
    engine.document_closed(workspace / BERTHS)
    assert typed.strip() not in quoted(discover(engine))


def test_feedback_settings_and_the_phase_are_parts_of_the_key(engine: Engine) -> None:
    discover(engine)
    chosen = ask(engine, "search", protocol.SearchParams(QUESTION)).results[0]
    ask(engine, "feedback", {"query": QUESTION, "contentHash": chosen.content_hash, "action": "open"})
    assert not is_cached(discover(engine))
    assert is_cached(discover(engine))
    ask(engine, "setPhase", protocol.SetPhaseParams(2))
    assert not is_cached(discover(engine))
    ask(engine, "setPhase", protocol.SetPhaseParams(None))
    assert is_cached(discover(engine))
    engine.configure({"index": {"watch": False}, "discovery": {"maxPerDoc": 1}})
    assert not is_cached(discover(engine))


def test_the_age_of_collections_in_days_is_part_of_the_key(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=1)

    discover(engine)
    monkeypatch.setattr(discovering, "datetime", Tomorrow)
    assert not is_cached(discover(engine))


def test_an_answer_without_vectors_is_not_cached(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def vectors(self, queries: Any) -> Any:
            raise ModelError("The model is damaged.")

    with monkeypatch.context() as broken:
        broken.setattr(meaning, "choose_meaning", lambda *_: Failing())
        assert discover(engine).retrieval.fallback == "keywords"
    assert not is_cached(discover(engine))


def test_a_cached_answer_reports_no_stages(engine: Engine) -> None:
    stages: list[protocol.DiscoverProgress] = []
    ask(engine, "discover", protocol.DiscoverParams(QUESTION), tell=stages.append)
    assert len(stages) == 9
    stages.clear()
    assert is_cached(ask(engine, "discover", protocol.DiscoverParams(QUESTION), tell=stages.append))
    assert stages == []


def test_an_unreadable_index_is_answered_from_the_cache_while_files_last(
    engine: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise IndexUnavailableError("The index cannot be read.")

    before = discover(engine)
    for read in ("stats", "contents"):
        monkeypatch.setattr(OverlaidReader, read, fail)
    answer = discover(engine)
    assert answer.answer_prompt == before.answer_prompt
    assert answer.retrieval == protocol.AnsweredIn(0, 3, "cache", "The index cannot be read.")
    assert not answer.index.complete, "an earlier answer may be out of date"
    (workspace / BERTHS).write_text("# empty\n", encoding="utf-8")
    generic = discover(engine)
    assert (generic.retrieval.fallback, generic.excerpts) == ("generic", ())
    assert generic.answer_prompt == "The index cannot be read."
