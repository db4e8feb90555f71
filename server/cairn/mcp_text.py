"""How answers read to a language model: compact, with places that can be cited, and saying what is missing.

Each function returns the blocks of text of one answer. The same answer goes out as structured content, whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cairn import progress_text, protocol
from cairn.schema import unstructure

if TYPE_CHECKING:
    from cairn.engine import Engine

_MAX_SNIPPET_CHARS = 4_000
"""Chunks hold some 1,500 characters; only a file that cannot be cut, such as one of a single line, has longer ones."""
_MAX_SKIPPED = 8
_BACKTICKS = re.compile(r"`{3,}")


def search(engine: Engine, answer: protocol.SearchAnswer, arguments: Mapping[str, Any]) -> list[str]:
    """The passages, numbered; first what the verdict has to say, last what is missing."""
    head = _verdict(answer.verdict, len(answer.results))
    if answer.query.corrections:
        head.append(f"Read as: {', '.join(answer.query.corrections)}.")
    tail = [_broken_off(answer.broken_off), incompleteness(engine)]
    return ["\n\n".join(filter(None, [*head, *_passages(answer.results, arguments), *tail]))]


def related(engine: Engine, answer: protocol.RelatedAnswer, arguments: Mapping[str, Any]) -> list[str]:
    """The passages, numbered, each with how it is related."""
    head = [] if answer.results else ["Nothing is related to that passage."]
    passages = _passages(answer.results, arguments)
    return ["\n\n".join(filter(None, [*head, *passages, incompleteness(engine)]))]


def discovery(engine: Engine, answer: protocol.DiscoverAnswer, _: Mapping[str, Any]) -> list[str]:
    """The prompt as it is, in a block of its own, after what the verdict says."""
    head = _verdict(answer.verdict, len(answer.bullets), what="pieces of evidence")
    if not answer.bullets:
        head = head or ["There is no evidence for that in the workspace."]
    return list(
        filter(None, ["\n\n".join(filter(None, [*head, incompleteness(engine)])), answer.answer_prompt])
    )


def page(engine: Engine, answer: protocol.PageAnswer, arguments: Mapping[str, Any]) -> list[str]:
    """What it is, then the text as it is, in a block of its own."""
    lines = len(answer.text.splitlines())
    about = (
        f"{arguments['path']}, {answer.language or 'text'}, {lines:,} {'line' if lines == 1 else 'lines'}:"
    )
    return [about, answer.text] if answer.text else [f"{arguments['path']} is empty."]


def status(engine: Engine, answer: protocol.StatusAnswer, _: Mapping[str, Any]) -> list[str]:
    """State, counts, collections, problems."""
    counts = f"{answer.files.indexed:,} of {max(answer.files.total, answer.files.indexed):,} files, {answer.chunks:,} passages"
    lines = [f"State: {answer.state}. {counts}, {answer.embedded:,} of them with vectors."]
    if answer.last_error:
        lines.append(f"Problem: {answer.last_error}")
    lines += filter(None, [incompleteness(engine)])
    lines.append(f"Model: {answer.model.name if answer.model else 'none, answers use keywords alone'}.")
    by_folder: dict[str, list[protocol.CollectionInfo]] = {}
    for collection in answer.collections:
        by_folder.setdefault(collection.folder, []).append(collection)
    for folder, collections in by_folder.items():
        lines.append(f"Collections in {folder}:")
        lines += [
            f"- {c.name} ({c.kind}): {_count(c.files, 'file')}, {c.chunks:,} passages" for c in collections
        ]
    skipped = sorted(answer.skipped.items(), key=lambda item: -item[1])[:_MAX_SKIPPED]
    if skipped:
        lines.append("Not indexed: " + "; ".join(f"{count:,} × {rule}" for rule, count in skipped) + ".")
    lines += [f"Warning: {warning}" for warning in answer.warnings]
    return ["\n".join(lines)]


def stage(engine: Engine, answer: Any, _: Mapping[str, Any]) -> list[str]:
    """Compact JSON: it is what the next stage takes."""
    data = json.dumps(unstructure(answer), ensure_ascii=False, separators=(",", ":"))
    return list(filter(None, [data, incompleteness(engine)]))


def incompleteness(engine: Engine) -> str:
    """What the index has not taken in yet, in one sentence or two; "" where nothing is missing."""
    if engine.progress().complete:
        return ""
    now = engine.status()
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
    pace = ", ".join(progress_text.pace(0.0, now.seconds_left))
    why = "; indexing is paused" if now.paused else f"; {pace} left" if pace else ""
    if now.state == "degraded" and now.last_error:
        why = f". {now.last_error.removesuffix('.')}"
    return f"The index is not complete: {'; '.join(parts)}{why}."


def _verdict(verdict: protocol.Verdict, found: int, what: str = "passages") -> list[str]:
    """What there is to say before the results."""
    if verdict.action == "noMatch":
        weak = f" The {what} below are the nearest." if found else ""
        return [f"Nothing matches well.{weak} Ask in other words, or with fewer filters."]
    if verdict.action == "clarify":
        others = [f"{c.title} ({c.path})" for c in verdict.candidates if c.title not in verdict.message]
        also = f" Or {', '.join(others)}." if others else ""
        return [f"Unclear: {verdict.message}{also} Ask again with one of them, or use what is below."]
    return [verdict.message] if verdict.message else []


def _broken_off(steps: Sequence[str]) -> str:
    return (
        f"Out of time before everything was looked at ({', '.join(steps)}); ask again for more."
        if steps
        else ""
    )


def _passages(results: Sequence[protocol.SearchResult], with_context: bool) -> list[str]:
    """Each with its place; the folder is named once where they have one in common."""
    if not results:
        return []
    folders = {result.folder for result in results}
    head = [f"Paths are relative to {results[0].folder}"] if len(folders) == 1 else []
    shown = [
        _passage(number, result, with_context, len(folders) > 1) for number, result in enumerate(results, 1)
    ]
    return [*head, *shown]


def _passage(number: int, result: protocol.SearchResult, with_context: bool, with_folder: bool) -> str:
    lines = [" ".join(filter(None, [f"{number}. {place(result)}", _what(result)]))]
    if with_folder:
        lines.append(f"   folder: {result.folder}")
    if reasons := result.reasons or result.match_explain:
        lines.append(f"   why: {'; '.join(reasons)}")
    if result.match_explain:
        lines += [f"   · {line}" for line in result.match_explain]
    texts = (
        [result.context.before, result.snippet, result.context.after] if with_context else [result.snippet]
    )
    lines.append(_fenced("\n".join(text.strip("\n") for text in texts if text.strip()), result.language))
    return "\n".join(lines)


def place(result: protocol.SearchResult) -> str:
    """`path:first-last`, 1-based and inclusive."""
    first, last = result.range.start.line + 1, result.range.end.line
    return f"{result.path}:{first}-{last}" if last > first else f"{result.path}:{first}"


def _what(result: protocol.SearchResult) -> str:
    """`— Berth › moor_ship (method)`; "" for a passage that has no name."""
    name = result.header_path or result.title or result.symbol
    kind = result.symbol_kind if result.symbol else result.type.value
    return (
        f"— {name} ({kind or result.type.value})"
        if name and name != result.path
        else f"({result.type.value})"
    )


def _fenced(text: str, language: str) -> str:
    """As a fenced block, with a fence that the text does not hold."""
    if len(text) > _MAX_SNIPPET_CHARS:
        text = text[:_MAX_SNIPPET_CHARS] + "\n… cut; cairn_fetch_page has the rest"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
