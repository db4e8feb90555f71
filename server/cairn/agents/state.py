"""What an answer lacks, and what to do about it: one line, and nothing where nothing is missing.

No text that an agent sees may send it to index anything: indexing goes on by itself, and an agent that starts it again would only
wait. Texts of the engine, which are written for people, lose such advice here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cairn import protocol
from cairn.engine import progress_text

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_ADVICE = re.compile(
    r"`cairn (?:index|reindex|pause|resume|phase|model|serve|team)\b|re-?index|\b(?:made|make|built|build|read) anew\b|\bindex(?:es)? (?:it|them|everything) again",
    re.IGNORECASE,
)
NOTHING_TO_DO = "Cairn cannot answer from its index now. Use your own search, and tell the user."
_BY_PHASE = {
    2: "keywords alone",
    1: "names and keywords alone",
    0: "no index, since retrieval is switched off",
}
_BY = {"cache": "an earlier answer", "generic": "no index"}
"""What stood in where every phase failed."""


def for_agents(text: str) -> str:
    """The text without sentences that tell people to have something indexed; what to do instead where nothing is left."""
    kept = [sentence for sentence in _SENTENCE.split(text) if not _ADVICE.search(sentence)]
    shown = " ".join(kept).strip().rstrip(";").strip()
    return shown if shown or not text else NOTHING_TO_DO


def freshness(engine: Engine) -> str:
    """What the index has not taken in yet and what to do until then; "" where nothing is missing."""
    if engine.progress().complete:
        return ""
    from cairn.engine.status import status_of  # which imports the index

    now = status_of(engine)
    parts = []
    if now.files.indexed < now.files.total or not now.generation:
        parts.append(
            f"{now.files.indexed:,} of {now.files.total:,} files read"
            if now.files.total
            else "no file read yet"
        )
    if now.model is not None and (missing := now.chunks - now.embedded) > 0:
        parts.append(f"{now.chunks - missing:,} of {now.chunks:,} passages have vectors")
    if uncounted := [what for what in now.remaining if what in ("history", "imports")]:
        parts.append(f"{' and '.join(uncounted)} not counted yet")
    if not parts:
        return ""
    return f"Index incomplete: {'; '.join(parts)}. {_until_then(now)}"


def _until_then(now: protocol.StatusAnswer) -> str:
    if now.state == "degraded" and now.last_error and (why := for_agents(now.last_error)) != NOTHING_TO_DO:
        return f"{why.removesuffix('.')}. For what is not found, use your own search."
    if now.paused or now.state == "degraded":
        return "It stays so for now: for what is not found, use your own search."
    left = progress_text.duration(now.seconds_left) if now.seconds_left is not None else "some seconds"
    return f"Ask again in {left}, or use your own search for what is not found."


def lacking(engine: Engine, answered: protocol.AnsweredIn | None, index: protocol.IndexState) -> str:
    """What an answer was made without, in one line; "" where nothing is missing."""
    lowered = ""
    if answered is not None:
        by = _BY.get(answered.fallback) or _BY_PHASE.get(answered.phase, "")
        why = f" ({for_agents(answered.reason).removesuffix('.')})" if answered.reason else ""
        lowered = f"Answered from {by}{why}." if by else ""
    return " ".join(filter(None, (lowered, index.source, for_agents(index.note), freshness(engine))))
