"""Writes Markdown tables for the reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a title for each column; cells must not contain `|`."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.strip() for cell in line) + " |" for line in lines)
