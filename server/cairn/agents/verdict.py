"""The first line of an answer: how certain it is, and how the question was understood."""

from __future__ import annotations

from cairn import protocol

NO_MATCH, CLARIFY = "noMatch", "clarify"
_MOST_CANDIDATES = 3


def verdict_text(verdict: protocol.Verdict, found: bool) -> str:
    """Return one line to read before the results; "" if there is nothing to say about them."""
    return " ".join(filter(None, (verdict.note, _decision(verdict, found))))


def _decision(verdict: protocol.Verdict, found: bool) -> str:
    if verdict.action == NO_MATCH and verdict.message:
        nearest = " The nearest:" if found else ""
        return f"Nothing matches well. Try other words or a name, or search the text itself.{nearest}"
    if verdict.action == CLARIFY and verdict.candidates:
        named = [f"{each.title} ({each.path})" for each in verdict.candidates[:_MOST_CANDIDATES]]
        return f"Unclear; it may mean {' or '.join(named)}."
    return verdict.message
