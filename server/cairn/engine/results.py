"""Converts ranked passages to the protocol's results."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.place_choice import Shown
from cairn.retrieval.query import Query
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.ranking import neighbours
from cairn.retrieval.scores import Ranked
from cairn.retrieval.signals import DEFINES
from cairn.retrieval.verdict import matched_terms
from cairn.retrieval.window_ranking import NO_PASSAGES, FurtherPassage, Passages
from cairn.text.unicode import utf16_length
from cairn.text.verbatim import lines_of

_REASONS = 3
"""The maximum number of reasons of a result, so that they fit in a line. `explain` shows all."""
_LONGEST_LINE, _LONGEST_BEFORE = 200, 80
"""The maximum number of characters of a matched line, and of those before the first matching word."""
_OF_NAME = 0.01
"""How much less a line with the name counts, which the row's label already shows."""
_OTHER_FIELDS = 500
"""The estimated number of characters of a result's other fields, such as paths, titles and hashes."""


def search_results(
    request: Request,
    rows: Sequence[Shown],
    words: QueryWords,
    context: int = 0,
    passages: Sequence[Passages] = (),
    *,
    explain: bool = False,
) -> tuple[protocol.SearchResult, ...]:
    """Return the rows as results, each with up to `context` chunks before and after it, and with its
    `passages`."""
    around = contexts([row.ranked for row in rows], request.readers, context)
    return tuple(
        search_result(
            request.folders,
            row,
            matched_terms(words.query, row.ranked.stored),
            near,
            explain=explain,
            best=_matched_line(row, words),
            passages=of_row,
            reasons=_reasons(row, words.query),
        )
        for row, near, of_row in zip(rows, around, passages or [NO_PASSAGES] * len(rows), strict=True)
    )


def search_result(
    folders: Sequence[Folder],
    row: Shown,
    matched: tuple[str, ...],
    context: protocol.Context,
    *,
    explain: bool = True,
    best: protocol.MatchedLine | None = None,
    passages: Passages = NO_PASSAGES,
    reasons: Sequence[str] | None = None,
) -> protocol.SearchResult:
    ranked = row.ranked
    line = row.first if row.line is None else row.line
    selected = ranked.lines or (line, line + 1)
    if row.line is None and best is not None:
        selected = (best.line, best.line + 1)
    stored, chunk = ranked.stored, ranked.stored.chunk
    folder = folders[ranked.folder]
    return protocol.SearchResult(
        path=stored.path,
        folder=folder.uri,
        uri=folder.uri_of(stored.path),
        range=protocol.whole_lines(row.first, row.last),
        selection_range=protocol.whole_lines(*selected),
        collection=stored.collection,
        title=chunk.title,
        header_path=chunk.header_path,
        symbol=chunk.symbol,
        symbol_kind=chunk.symbol_kind,
        type=chunk.type,
        language=chunk.language,
        score=round(ranked.score, 4),
        source=ranked.source,
        matched_terms=matched,
        reasons=tuple(ranked.positive_signals() if reasons is None else reasons)[:_REASONS],
        snippet=row.text,
        context=context,
        content_hash=stored.content_hash,
        match_explain=tuple(map(str, ranked.reasons)) if explain else None,
        head=row.head.strip(),
        matched_line=best,
        passages=tuple(map(_passage, passages.further)),
        best_lines=passages.best and protocol.whole_lines(*passages.best),
    )


def _reasons(row: Shown, query: Query) -> list[str]:
    """Return why the row's file was found, strongest first. Another part of the file may define the name."""
    names = set(map(_bare, query.names))
    own = (row.place.name,) if row.place.is_definition else ()
    defines = not names.isdisjoint(map(_bare, (*own, *row.ranked.stored.chunk.defines)))
    return [reason for reason in row.ranked.positive_signals() if defines or reason != DEFINES]


def _bare(name: str) -> str:
    return name.lower().lstrip("$@_#")


def _matched_line(row: Shown, words: QueryWords) -> protocol.MatchedLine | None:
    """Return the shown line with the rarest words of the query. Of equal lines, the first below the name."""
    lines = lines_of(row.text)
    shares = [words.share(terms) if terms else 0.0 for terms in words.in_lines(lines)]
    named = -1 if row.line is None else row.line - row.first
    if 0 <= named < len(shares):
        shares[named] -= _OF_NAME
    best = max(range(len(lines)), key=shares.__getitem__)
    if shares[best] <= 0:
        return None
    text = lines[best].strip()
    marks = words.marks(text)
    if marks and marks[0][0] > _LONGEST_BEFORE:
        text = "…" + text[marks[0][0] - _LONGEST_BEFORE // 2 :]
        marks = words.marks(text)
    text = text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"
    shown = (protocol.Mark(start, end) for start, end in marks if end <= utf16_length(text))
    return protocol.MatchedLine(row.first + best, text, tuple(shown))


def _passage(passage: FurtherPassage) -> protocol.FilePassage:
    return protocol.FilePassage(
        range=protocol.whole_lines(passage.first, passage.last),
        text=passage.text,
        symbol=passage.best.stored.chunk.symbol,
        header_path=passage.best.stored.chunk.header_path,
        score=round(passage.best.score, 4),
    )


def contexts(ranked: Sequence[Ranked], readers: Sequence[IndexReader], window: int) -> list[protocol.Context]:
    """Return up to `window` chunks before and after each result. This takes one query per folder."""
    every = []
    for result, around in zip(ranked, neighbours(ranked, readers, window), strict=True):
        position = result.stored.chunk.position
        before = [other.chunk.text for other in around if other.chunk.position < position]
        after = [other.chunk.text for other in around if other.chunk.position > position]
        every.append(protocol.Context("".join(before), "".join(after)))
    return every


def characters_of(results: Sequence[protocol.SearchResult]) -> int:
    """Estimate the size of the results in characters."""
    return sum(
        _OTHER_FIELDS
        + len(result.snippet + result.context.before + result.context.after)
        + sum(map(len, result.match_explain or ()))
        + sum(len(passage.text) for passage in result.passages)
        for result in results
    )


def milliseconds(start: float, end: float | None = None) -> float:
    """Return the milliseconds between two values of `time.perf_counter`, or from `start` to now."""
    return round(((time.perf_counter() if end is None else end) - start) * 1000, 3)
