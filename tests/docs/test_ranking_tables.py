"""What the documents say of the ranking is what it does."""

from __future__ import annotations

from pathlib import Path

from cairn.retrieval.passages.signals import SIGNALS

RANKING = Path(__file__).parents[2] / "docs" / "ranking.md"


def test_the_table_of_passages_has_every_signal_with_its_weight() -> None:
    section = RANKING.read_text(encoding="utf-8").partition("## Passages\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    table = rows[rows.index(["signal", "weight", "what it looks at"]) + 2 :][: len(SIGNALS)]
    told = [(name, float(weight.replace("−", "-"))) for name, weight, _ in table]
    assert told == [(signal.name, signal.weight) for signal in SIGNALS]
