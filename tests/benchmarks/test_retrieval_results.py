"""Tests of means, effects of signals, tables and plot of the retrieval benchmark."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from retrieval import plot, report
from retrieval.ablation import FULL, IN_PROCESS, Variant, signals
from retrieval.asking import Answer, answer
from retrieval.measurement import Answers, Measured
from retrieval.metrics import Span
from retrieval.results import results
from retrieval.sets import Question, Repository
from retrieval.summary import summary
from retrieval.tried_signals import TRIAL_WEIGHTS, tried_signals

from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.signals import SIGNALS
from cairn.settings.tree import SearchSettings
from tests.retrieval.indexed_folder import IndexedFolder

QUAY = Repository("quay", "python", "https://example.org/quay", "abc", "lib")
PIER = Repository("pier", "go", "https://example.org/pier", "def", ".")
WITHOUT_NAME = Variant("without: file name", {"file name": 0.0}, default=2.0)


def answer_at(repository: Repository, query: str, rank: int, ms: float = 5.0) -> Answer:
    """Return an answer with the only target at that rank."""
    question = Question(repository, query, (Span("a.py"),), (), "symbol")
    return answer(question, [*(Span(f"x{place}") for place in range(1, rank)), Span("a.py")], ms)


FIRST, SECOND, THIRD = 1.0, 0.6309, 0.5
"""The NDCG@10 of one target at that rank."""


def test_means_over_questions_and_over_repositories() -> None:
    three = [
        answer_at(QUAY, "one", 1, 1.0),
        answer_at(QUAY, "two", 1, 2.0),
        answer_at(PIER, "three", 3, 30.0),
    ]
    means = summary(three)
    assert means["mean_of_questions"]["ndcg_at_10"] == pytest.approx((FIRST + FIRST + THIRD) / 3, abs=1e-4)
    assert means["mean_of_repositories"]["ndcg_at_10"] == pytest.approx((FIRST + THIRD) / 2)
    assert {name: part["questions"] for name, part in means["by_language"].items()} == {"python": 2, "go": 1}
    assert means["by_language"]["go"]["mrr"] == pytest.approx(1 / 3, abs=1e-4)
    assert means["ms"] == {"p50": 2.0, "p95": 30.0}


def measured() -> Measured:
    answers = Answers()
    for variant in (FULL, IN_PROCESS):
        answers.by_system[variant.name] = [answer_at(QUAY, "one", 1), answer_at(QUAY, "two", 2)]
    answers.by_system[WITHOUT_NAME.name] = [answer_at(QUAY, "one", 2), answer_at(QUAY, "two", 2)]
    answers.unavailable["ripgrep"] = "there is no rg on the path"
    index = {"model": "tiny", "files": 3, "chunks": 9, "index_mb": 0.1}
    return Measured(
        {"folder": answers},
        {"quay": {"folder": {**index, "all_files_indexed_s": 1.0, "ready_s": None}}},
    )


def test_effect_of_a_signal_is_the_loss_without_it() -> None:
    record = results(measured(), [QUAY], [FULL.name, "ripgrep"], [WITHOUT_NAME])
    effect = record["modes"]["folder"]["signals"][WITHOUT_NAME.name]
    assert effect["change"] == pytest.approx((SECOND - FIRST) / 2, abs=1e-4)
    assert (effect["weight"], effect["tried"]) == (2.0, 0.0)
    assert (effect["questions_better"], effect["questions_worse"]) == (0, 1)


def test_unavailable_systems_are_reported_and_not_plotted() -> None:
    record = results(measured(), [QUAY], [FULL.name, "ripgrep"], [WITHOUT_NAME])
    assert "| ripgrep | not available: there is no rg on the path |" in report.markdown(record)
    assert [(point.system, point.mode) for point in plot.points(record)] == [("cairn", "folder")]
    drawn = ElementTree.fromstring(plot.svg(plot.points(record)))
    assert {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")} >= {"cairn", "folder"}


def test_ablations_omit_each_signal_once_and_add_tried_ones() -> None:
    without = [variant for variant in signals() if variant.default]
    assert [variant.weights for variant in without] == [{signal.title: 0.0} for signal in SIGNALS]
    tried = {variant.name: variant.weights for variant in signals() if not variant.default}
    assert tried["with: words close together"] == {"words close together": 0.5}


def test_each_signal_of_the_past_can_be_tried(tmp_path: Path) -> None:
    folder = IndexedFolder(
        tmp_path, {"src/moor.py": "def moor(ship):\n    return rope\n", "README.md": "# Moor\n"}
    )
    known = tried_signals(folder.reader)
    assert {signal.title for signal in known} == TRIAL_WEIGHTS.keys()
    settings = SearchSettings(weights=TRIAL_WEIGHTS)
    ranking = rank([folder.reader], [understand("moor ropes tightly")], None, settings, signals=known)
    reasons = {each.signal: each.value for each in ranking.results(2, settings.diversity)[0].reasons}
    assert reasons["share of the words in the text"] == 1.0  # The most of any file.
    folder.close()
