"""The tables of signals in docs/ranking.md have the names and weights of the code."""

from __future__ import annotations

from pathlib import Path

from cairn.retrieval.signals import SIGNALS as SIGNALS_OF_FILES
from cairn.retrieval.window_signals import SIGNALS

RANKING = Path(__file__).parents[2] / "docs" / "ranking.md"


def test_passages_table_has_every_signal_and_weight() -> None:
    table = _table("## Passages\n", ["signal", "weight", "value"])[: len(SIGNALS)]
    listed = [(name, _number(weight)) for name, weight, _ in table]
    assert listed == [(signal.title, signal.weight) for signal in SIGNALS]


def test_reports_table_has_every_changed_weight() -> None:
    expected = [(s.title, s.weight, s.in_reports) for s in SIGNALS_OF_FILES if s.in_reports is not None]
    table = _table("## Reports\n", ["signal", "weight", "in reports"])
    assert [(name, *map(_number, weights)) for name, *weights in table] == expected


def _table(heading: str, columns: list[str]) -> list[list[str]]:
    """Return the rows from the table with these columns on, in the section of the heading."""
    section = RANKING.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    return rows[rows.index(columns) + 2 :]


def _number(text: str) -> float:
    return float(text.replace("−", "-"))
