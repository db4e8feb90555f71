"""One line on what an answer lacks and what to do about it, or nothing.

No text for an agent may suggest indexing: Cairn indexes in the background, and an agent that starts it again
only waits. This module removes such sentences from the engine's texts, which are written for people.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cairn import protocol
from cairn.engine import progress_text

if TYPE_CHECKING:
    from cairn.engine.request import Request

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_ADVICE = re.compile(
    r"`cairn (?:index|reindex|pause|resume|phase|model|serve|team)\b|re-?index"
    r"|\b(?:made|make|built|build|read) anew\b|\bindex(?:es)? (?:it|them|everything) again",
    re.IGNORECASE,
)
NOTHING_TO_DO = "Cairn cannot answer from its index now. Use your own search, and tell the user."
_BY_PHASE = {
    2: "keywords alone",
    1: "names and keywords alone",
    0: "no index, since retrieval is switched off",
}
_BY = {"cache": "an earlier answer", "generic": "no index"}
"""The source of an answer after every phase failed, by the kind of fallback."""


def without_index_advice(text: str) -> str:
    """Return the text without sentences that advise indexing; if none is left, say what to do instead."""
    kept = [sentence for sentence in _SENTENCE.split(text) if not _ADVICE.search(sentence)]
    shown = " ".join(kept).strip().rstrip(";").strip()
    return shown if shown or not text else NOTHING_TO_DO


def freshness(request: Request) -> str:
    """Return a line on what is not indexed yet and what to do meanwhile; "" if the index is complete."""
    from cairn.engine.status import progress_of, status_of  # This import loads the index, which is slow.

    if progress_of(request.folders).complete:
        return ""

    now = status_of(request)
    parts = []
    if now.files.indexed < now.files.total or not now.generation:
        parts.append(
            f"{now.files.indexed:,} of {now.files.total:,} files read"
            if now.files.total
            else "no file read yet"
        )
    if now.model is not None and (missing := now.chunks - now.embedded) > 0:
        parts.append(f"{now.chunks - missing:,} of {now.chunks:,} passages have vectors")
    if not parts:
        return ""
    return f"Index incomplete: {'; '.join(parts)}. {_advice(now)}"


def _advice(now: protocol.StatusAnswer) -> str:
    if (
        now.state == "degraded"
        and now.last_error
        and (why := without_index_advice(now.last_error)) != NOTHING_TO_DO
    ):
        return f"{why.removesuffix('.')}. Use your own search for what is not found."
    if now.paused or now.state == "degraded":
        return "It will stay so for now: use your own search for what is not found."
    left = progress_text.duration(now.seconds_left) if now.seconds_left is not None else "some seconds"
    return f"Ask again in {left}, or use your own search for what is not found."


def lacking(request: Request, answered: protocol.AnsweredIn | None, index: protocol.IndexState) -> str:
    """Return a line on what the engine lacked for an answer; "" if nothing."""
    lowered = ""
    if answered is not None:
        by = _BY.get(answered.fallback) or _BY_PHASE.get(answered.phase, "")
        why = f" ({without_index_advice(answered.reason).removesuffix('.')})" if answered.reason else ""
        lowered = f"Answered from {by}{why}." if by else ""
    return " ".join(
        filter(None, (lowered, index.source, without_index_advice(index.note), freshness(request)))
    )
