"""What an answer says about its certainty and about the index, and the tool `status`.

No text for an agent may suggest indexing: Cairn indexes in the background, and an agent that starts it again
only waits. This module removes such sentences from the engine's texts, which are written for people.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import field, frozen

from cairn import protocol
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, ToolCall, joined
from cairn.operations.health import named_as_text
from cairn.schema.bounds import within
from cairn.text.counts import about, counted, listed

if TYPE_CHECKING:
    from cairn.engine.request import Request

NO_MATCH, CLARIFY = "noMatch", "clarify"
_MOST_CANDIDATES = 3
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
TOKENS = 500
_MOST_SKIPPED = 4
_MOST_COLLECTIONS = 12
_MOST_WARNINGS = 3


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
    left = about(now.seconds_left) if now.seconds_left is not None else "some seconds"
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


# --- the tool -------------------------------------------------------------------------------------------


@frozen
class StatusArguments:
    """The arguments of `status`, all of them optional."""

    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))


def status_data(call: ToolCall, _: StatusArguments) -> protocol.StatusAnswer:
    answer: protocol.StatusAnswer = call.request("status", {})
    return answer


def status(call: ToolCall, arguments: StatusArguments) -> str:
    answer = status_data(call, arguments)
    indexed, total = answer.files.indexed, max(answer.files.total, answer.files.indexed)
    files = f"{indexed:,} of {total:,} files" if indexed < total else counted(indexed, "file")
    lines = [f"{answer.state}: {files}, {counted(answer.chunks, 'passage')}"]
    folders = [folder.label for folder in call.asked.folders]
    if folders:
        lines.append(f"{'folder' if len(folders) == 1 else 'folders'}: {', '.join(folders)}")
    lines.append(freshness(call.asked))
    if answer.last_error:
        lines.append(f"problem: {without_index_advice(answer.last_error)}")
    if answer.model is None:
        lines.append("no vectors: answers use keywords alone")
    lines.append(_collections(answer))
    lines += [_left_out(answer), named_as_text(answer)]
    lines += [
        f"note: {shown}"
        for warning in answer.warnings[:_MOST_WARNINGS]
        if (shown := without_index_advice(warning))
    ]
    text = joined(*lines)
    return call.budget(arguments.max_tokens, TOKENS).cut(text)


def _collections(answer: protocol.StatusAnswer) -> str:
    """Return one line with the collections and their numbers of files, the largest first."""
    files: dict[str, int] = {}
    for each in answer.collections:
        files[each.name] = files.get(each.name, 0) + each.files
    ordered = sorted(files, key=lambda name: -files[name])
    shown = listed([f"{name} ({files[name]:,})" for name in ordered], _MOST_COLLECTIONS)
    return f"collections (files): {shown}" if shown else ""


def _left_out(answer: protocol.StatusAnswer) -> str:
    skipped = sorted(answer.skipped.items(), key=lambda item: -item[1])[:_MOST_SKIPPED]
    return "left out: " + ", ".join(f"{count:,} × {rule}" for rule, count in skipped) if skipped else ""
