"""Format counts of things."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return "1 token" or "1,200 tokens". An irregular plural can be given: "2 branches"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
