"""How answers read to a language model: compact, with places that can be cited, and saying what is missing.

Each function returns the blocks of text of one answer, which goes out as structured content, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cairn import protocol
from cairn.embedding.packaged import LARGER_MODEL
from cairn.engine import progress_text
from cairn.schema.convert import structure

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

Data = Mapping[str, Any]
"""An answer as JSON data."""

_MAX_SNIPPET_CHARS = 4_000
"""Chunks hold some 1,500 characters; only a file that cannot be cut, such as one of a single line, has longer ones."""
_MAX_SKIPPED = 8
_BY_PHASE = {2: "by keywords alone", 1: "by names and keywords alone", 0: "with retrieval switched off"}
_BY = {"cache": "with what was found before", "generic": "with a message alone"}
"""What stood in where every phase failed."""
_BACKTICKS = re.compile(r"`{3,}")


def search(engine: Engine, data: Data, arguments: Mapping[str, Any]) -> list[str]:
    """The passages, numbered; first what the verdict has to say, last what is missing."""
    answer = structure(data, protocol.SearchAnswer)
    head = _verdict(answer.verdict, len(answer.results))
    if answer.query.corrections:
        head.append(f"Read as: {', '.join(answer.query.corrections)}.")
    if answer.broken_off:
        steps = ", ".join(answer.broken_off)
        broken_off = f"Out of time before everything was looked at ({steps}); ask again for more."
    else:
        broken_off = ""
    passages = _passages(answer.results, arguments, brief=answer.verdict.action == "noMatch")
    return [_paragraphs(*head, *passages, broken_off, *_missing(engine, answer))]


def related(engine: Engine, data: Data, arguments: Mapping[str, Any]) -> list[str]:
    """The passages, numbered, each with how it is related."""
    answer = structure(data, protocol.RelatedAnswer)
    head = [] if answer.results else ["Nothing is related to that passage."]
    passages = _passages(answer.results, arguments, with_lines=True)
    return [_paragraphs(*head, *passages, *_missing(engine, answer))]


def references(engine: Engine, data: Data, arguments: Mapping[str, Any]) -> list[str]:
    """The definitions, then the references, each a line below the one that it was found from."""
    answer = structure(data, protocol.ReferencesAnswer)
    folders = {each.folder for each in answer.definitions} | {each.folder for each in answer.references}
    with_folder = len(folders) > 1
    head = [answer.message, *(f"Paths are relative to {folder}" for folder in folders if not with_folder)]
    defined = [
        f"{_definition(each, with_folder=with_folder)}\n    {each.line.strip()}"
        for each in answer.definitions
    ]
    direction = arguments.get("direction", protocol.ReferenceDirection.CALLERS)
    found = [f"No {direction} were found."] if answer.definitions and not answer.references else []
    below: dict[int | None, list[int]] = {}
    for number, reference in enumerate(answer.references):
        below.setdefault(reference.parent, []).append(number)
    stack = below.get(None, [])[::-1]
    while stack:
        number = stack.pop()
        stack += below.get(number, [])[::-1]
        reference = answer.references[number]
        is_down = direction == protocol.ReferenceDirection.CALLEES
        found.append("  " * (reference.depth - 1) + _reference(reference, is_down, with_folder=with_folder))
    more = "" if answer.complete else "These are not all; ask with a higher limit for more."
    missing = [answer.index.source, answer.index.note, incompleteness(engine)]
    return [_paragraphs(*head, *defined, "\n".join(found), more, *missing)]


def discovery(engine: Engine, data: Data, _: Mapping[str, Any]) -> list[str]:
    """The prompt as it is, in a block of its own, after what the verdict says: it holds the excerpts already."""
    answer = structure(data, protocol.DiscoverAnswer)
    found = len(answer.excerpts or answer.bullets)
    head = _verdict(answer.verdict, found, what="pieces of evidence")
    if not found and not head:
        head = ["There is no evidence for that in the workspace."]
    about = _paragraphs(*head, *_missing(engine, answer))
    return [text for text in (about, answer.answer_prompt) if text]


def page(engine: Engine, data: Data, arguments: Mapping[str, Any]) -> list[str]:
    """What it is, then the text as it is, in a block of its own."""
    answer = structure(data, protocol.PageAnswer)
    lines = len(answer.text.splitlines())
    about = f"{arguments['path']}, {answer.language or 'text'}, {_count(lines, 'line')}:"
    return [about, answer.text] if answer.text else [f"{arguments['path']} is empty."]


def status(engine: Engine, data: Data, _: Mapping[str, Any]) -> list[str]:
    """State, counts, collections, problems."""
    answer = structure(data, protocol.StatusAnswer)
    counts = f"{answer.files.indexed:,} of {max(answer.files.total, answer.files.indexed):,} files, {answer.chunks:,} passages"
    lines = [f"State: {answer.state}. {counts}, {answer.embedded:,} of them with vectors."]
    if answer.last_error:
        lines.append(f"Problem: {answer.last_error}")
    lines += filter(None, [incompleteness(engine)])
    lines.append(f"Model: {_model(answer.model)}.")
    for folder in dict.fromkeys(collection.folder for collection in answer.collections):
        lines.append(f"Collections in {folder}:")
        lines += [
            f"- {c.name} ({c.kind}): {_count(c.files, 'file')}, {c.chunks:,} passages"
            for c in answer.collections
            if c.folder == folder
        ]
    skipped = sorted(answer.skipped.items(), key=lambda item: -item[1])[:_MAX_SKIPPED]
    if skipped:
        lines.append("Not indexed: " + "; ".join(f"{count:,} × {rule}" for rule, count in skipped) + ".")
    lines += [f"Warning: {warning}" for warning in answer.warnings]
    return ["\n".join(lines)]


def _definition(place: protocol.SymbolPlace, *, with_folder: bool) -> str:
    """`Berth.moor_ship (method), src/harbour/berths.py:12-16`."""
    folder = f" in {place.folder}" if with_folder else ""
    return f"{place.symbol} ({place.kind}), {place.path}:{_lines(place.range)}{folder}"


def _reference(reference: protocol.FoundReference, is_down: bool, *, with_folder: bool) -> str:
    """Where it is, what is around it or what it leads to, its code, and why it is thought to mean this one."""
    folder = f" of {reference.folder}" if with_folder else ""
    about = f" in {reference.enclosing.symbol}" if reference.enclosing is not None else ""
    sure = f"{reference.confidence:g}, {reference.via}"
    if is_down and reference.target is not None:
        about = f" calls {_definition(reference.target, with_folder=with_folder)}"
    elif is_down:
        about, sure = f" calls {reference.symbol}", "not defined in the workspace"
    elif reference.kind != "call":
        sure = f"{reference.kind}, {sure}"
    line = reference.range.start.line + 1
    return f"- {reference.path}:{line}{folder}{about}: {reference.line.strip()} ({sure})"


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _model(model: protocol.ModelInfo | None) -> str:
    if model is None:
        return "none, answers use keywords alone"
    return f"{model.name}, which comes with Cairn; {LARGER_MODEL}" if model.packaged else model.name


def stage(engine: Engine, data: Data, _: Mapping[str, Any]) -> list[str]:
    """Compact JSON: it is what the next stage takes."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return list(filter(None, [text, incompleteness(engine)]))


def incompleteness(engine: Engine) -> str:
    """What the index has not taken in yet, in one sentence or two; "" where nothing is missing."""
    if engine.progress().complete:
        return ""
    from cairn.engine.status import status_of  # which imports the index

    now = status_of(engine)
    parts = []
    if now.files.indexed < now.files.total or not now.generation:
        read = f"{now.files.indexed:,} of {now.files.total:,} files read"
        parts.append(read if now.files.total else "no file read yet")
    if now.model is not None and (missing := now.chunks - now.embedded) > 0:
        parts.append(f"{now.chunks - missing:,} of {now.chunks:,} passages have vectors")
    if uncounted := [what for what in now.remaining if what in ("history", "imports")]:
        parts.append(f"{' and '.join(uncounted)} not counted yet")
    if not parts:
        return ""
    pace = ", ".join(progress_text.pace(0.0, now.seconds_left))
    why = "; indexing is paused" if now.paused else f"; {pace} left" if pace else ""
    if now.state == "degraded" and now.last_error:
        why = f". {now.last_error.removesuffix('.')}"
    return f"The index is not complete: {'; '.join(parts)}{why}."


def _verdict(verdict: protocol.Verdict, found: int, what: str = "passages") -> list[str]:
    """What there is to say before the results."""
    return [text for text in (verdict.note, _decision(verdict, found, what)) if text]


def _decision(verdict: protocol.Verdict, found: int, what: str) -> str:
    if verdict.action == "noMatch":
        weak = f" The nearest {what} are below." if found else ""
        return f"Nothing matches well.{weak} Ask in other words, or with fewer filters."
    if verdict.action == "clarify":
        others = [f"{c.title} ({c.path})" for c in verdict.candidates if c.title not in verdict.message]
        also = f" Or {', '.join(others)}." if others else ""
        return f"Unclear: {verdict.message}{also} Ask again with one of them, or use what is below."
    return verdict.message


def _missing(
    engine: Engine, answer: protocol.SearchAnswer | protocol.RelatedAnswer | protocol.DiscoverAnswer
) -> list[str]:
    """What the answer was made without, and why."""
    retrieval = answer.retrieval
    by = _BY[retrieval.fallback] if retrieval.fallback in _BY else _BY_PHASE.get(retrieval.phase, "")
    why = f": {retrieval.reason.removesuffix('.')}" if retrieval.reason else ""
    lowered = f"Answered {by}{why}." if by else ""
    return [lowered, answer.index.source, answer.index.note, incompleteness(engine)]


def _passages(
    results: Sequence[protocol.SearchResult],
    arguments: Mapping[str, Any],
    *,
    brief: bool = False,
    with_lines: bool = False,
) -> list[str]:
    """Each with its place and, unless `brief`, its text; the folder is named once where they have one in common.

    `with_lines` tells the line to go to, or those that count.
    """
    folders = {result.folder for result in results}
    shown = []
    for number, result in enumerate(results, 1):
        lines = [" ".join(filter(None, [f"{number}. {place(result)}", _what(result)]))]
        if len(folders) > 1:
            lines.append(f"   folder: {result.folder}")
        if result.reasons:
            lines.append(f"   why: {'; '.join(result.reasons)}")
        if with_lines:
            lines.append(f"   see: {_lines(result.selection_range)}")
        if arguments.get("explain"):
            lines += [f"   · {line}" for line in result.match_explain or ()]
        if not brief:
            lines += _text(result, with_neighbours="context" in arguments)
            for passage in result.passages:
                lines += _further(passage, result.language)
        shown.append("\n".join(lines))
    return [*(f"Paths are relative to {folder}" for folder in folders if len(folders) == 1), *shown]


def _text(result: protocol.SearchResult, *, with_neighbours: bool) -> list[str]:
    """The text of a passage, or what stands before and after it as well, which it says."""
    around = (result.context.before, result.snippet, result.context.after)
    if not with_neighbours or around == ("", result.snippet, ""):
        return [_fenced(result.snippet.strip("\n"), result.language)]
    whole = "\n\n".join(text.strip("\n") for text in around if text.strip())
    return ["   with what stands before and after it:", _fenced(whole, result.language)]


def _further(passage: protocol.FilePassage, language: str) -> list[str]:
    """A further passage of the same file: its lines, what it is, its text."""
    title = f" — {passage.header_path}" if passage.header_path else ""
    return [f"   also {_lines(passage.range)}{title}", _fenced(passage.text.strip("\n"), language)]


def place(result: protocol.SearchResult) -> str:
    """`path:first-last`, 1-based and inclusive."""
    return f"{result.path}:{_lines(result.range)}"


def _lines(lines: protocol.Range) -> str:
    first, last = lines.start.line + 1, lines.end.line
    return f"{first}-{last}" if last > first else str(first)


def _what(result: protocol.SearchResult) -> str:
    """`— Berth › moor_ship (method)`; "" for a passage that has no name."""
    name = result.header_path or result.title or result.symbol
    kind = result.symbol_kind if result.symbol else result.type.value
    if not name or name == result.path:
        return f"({result.type.value})"
    return f"— {name} ({kind or result.type.value})"


def _fenced(text: str, language: str) -> str:
    """As a fenced block, with a fence that the text does not hold."""
    if len(text) > _MAX_SNIPPET_CHARS:
        text = text[:_MAX_SNIPPET_CHARS] + "\n… cut; cairn_fetch_page has the rest"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
