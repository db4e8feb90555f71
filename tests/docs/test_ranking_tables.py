"""The tables of signals in docs/ranking.md have the titles and weights of the code, and measured effects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cairn.retrieval import scoring, window_signals
from cairn.retrieval.scores import Signal
from cairn.retrieval.signals import SIGNALS

ROOT = Path(__file__).parents[2]
RANKING = ROOT / "docs" / "ranking.md"
RESULTS = [ROOT / "benchmarks" / "results" / name for name in ("retrieval-folder.json", "signals.json")]
"""The committed effects of leaving out a signal, the later ones last."""

UNMEASURED = {
    "defines what a report names",
    "relevance of its package",
    "words of its folder",
}
"""The signals of files without a measurement: the questions of the benchmark are short and about one folder.
This list must only become shorter."""
WINDOWS = ROOT / "benchmarks" / "results" / "evidence-tuned.json"
"""The committed effects of leaving out a signal of windows."""


@pytest.mark.parametrize(
    ("heading", "signals"),
    [
        ("# Ranking\n", SIGNALS),
        ("## Evidence\n", scoring.SIGNALS),
        ("## Passages\n", window_signals.SIGNALS),
    ],
    ids=["files", "evidence", "windows"],
)
def test_tables_have_every_signal_and_weight(heading: str, signals: Sequence[Signal[Any]]) -> None:
    listed = [(row[0], _number(row[1])) for row in _table(heading)[: len(signals)]]
    assert sorted(listed) == sorted((signal.title, signal.weight) for signal in signals)


def test_keys_and_titles_are_unique() -> None:
    for signals in (SIGNALS, scoring.SIGNALS, window_signals.SIGNALS):
        assert len({s.key for s in signals}) == len({s.title for s in signals}) == len(signals)


def test_reports_table_has_every_changed_weight() -> None:
    expected = [(s.title, s.weight, s.in_reports) for s in SIGNALS if s.in_reports is not None]
    table = _table("## Reports\n")
    assert [(title, *map(_number, weights)) for title, *weights in table] == expected


def test_each_signal_is_measured_with_its_present_weight() -> None:
    effects = _effects()
    assert {s.title for s in SIGNALS} - effects.keys() == UNMEASURED
    measured = {title: effect["weight"] for title, effect in effects.items()}
    assert measured == {s.title: s.weight for s in SIGNALS if s.title not in UNMEASURED}


def test_the_table_of_windows_has_the_measured_effects() -> None:
    effects = json.loads(WINDOWS.read_text(encoding="utf-8"))["without"]
    signals = window_signals.SIGNALS
    assert {title: effect["weight"] for title, effect in effects.items()} == {
        signal.title: signal.weight for signal in signals
    }
    shown = {row[0]: row[2] for row in _table("## Passages\n")[: len(signals)]}
    assert shown == {title: _signed(effect["shown"]) for title, effect in effects.items()}


def test_the_table_of_files_has_the_measured_effects() -> None:
    effects = {title: _signed(effect["change"]) for title, effect in _effects().items()}
    shown = {row[0]: row[2] for row in _table("# Ranking\n")[: len(SIGNALS)]}
    assert shown == {s.title: effects.get(s.title, "–") for s in SIGNALS}


def _effects() -> Mapping[str, Mapping[str, Any]]:
    """Return the effect of leaving out each signal, by its title."""
    effects: dict[str, Mapping[str, Any]] = {}
    for file in RESULTS:
        rows = json.loads(file.read_text(encoding="utf-8"))["modes"]["folder"]["signals"]
        for name, row in rows.items():
            before, _, title = name.partition("without: ")
            if not before:
                effects[title] = row
    return effects


def _table(heading: str) -> list[list[str]]:
    """Return the rows of the first table of signals in the section of the heading, and of those below it."""
    section = RANKING.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    first = next(place for place, row in enumerate(rows) if row[:2] == ["signal", "weight"])
    return rows[first + 2 :]


def _signed(change: float) -> str:
    return f"{change:+.4f}".replace("-", "−")


def _number(text: str) -> float:
    return float(text.replace("−", "-"))
