"""Writes numbers of things."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return "1 token", "1,200 tokens" or, with a plural of its own, "2 branches"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
