"""The tool `status`: what is indexed, and whether something is missing."""

from __future__ import annotations

from attrs import field, frozen

from cairn import protocol
from cairn.agents.budget import LEAST_TOKENS, MOST_TOKENS, joined
from cairn.agents.call import ToolCall
from cairn.agents.state import freshness, without_index_advice
from cairn.schema.bounds import within
from cairn.text.counts import counted, listed

TOKENS = 500
_MOST_SKIPPED = 4
_MOST_COLLECTIONS = 12
_MOST_WARNINGS = 3


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
    lines.append(_left_out(answer))
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
