"""Converts ranked passages to the protocol's results."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import evolve

from cairn import protocol
from cairn.chunking.definition_place import definition_lines, kind_at
from cairn.chunking.model import Chunk
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.query import Query
from cairn.retrieval.ranking import neighbours
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import matched_terms
from cairn.retrieval.window_ranking import FurtherPassage

_REASONS = 3
"""The maximum number of reasons of a result, so that they fit in a line. `explain` shows all."""
_OTHER_FIELDS = 500
"""The estimated number of characters of a result's other fields, such as paths, titles and hashes."""


def search_results(
    request: Request,
    ranked: Sequence[Ranked],
    query: Query,
    context: int = 0,
    *,
    explain: bool = False,
) -> tuple[protocol.SearchResult, ...]:
    """Return the passages as results, each with up to `context` chunks before and after it."""
    around = contexts(ranked, request.readers, context)
    return tuple(
        search_result(
            request.folders,
            each,
            matched_terms(query, each.stored),
            shown,
            explain=explain,
            # This is a definition in the chunk whose name is in the query.
            named=next((name for name in each.stored.chunk.defines if name in query.names), ""),
        )
        for each, shown in zip(ranked, around, strict=True)
    )


def _titled(name: str, chunk: Chunk) -> Chunk:
    """Return the chunk with the title of `name`, which is a definition in it but not its main one."""
    line = definition_lines(chunk, name)[0]
    header = chunk.header_path
    if chunk.symbol and header.endswith(chunk.symbol):
        header = header.removesuffix(chunk.symbol) + name
    return evolve(chunk, symbol=name, symbol_kind=kind_at(chunk, line), title=name, header_path=header)


def search_result(
    folders: Sequence[Folder],
    ranked: Ranked,
    matched: tuple[str, ...],
    context: protocol.Context,
    *,
    explain: bool = True,
    named: str = "",
) -> protocol.SearchResult:
    """Return one result. `named` is the name of a definition in it that is also in the query, or ""."""
    stored, chunk = ranked.stored, ranked.stored.chunk
    folder = folders[ranked.folder]
    if named and named != chunk.symbol:
        chunk = _titled(named, chunk)
    line = definition_lines(stored.chunk, chunk.symbol)[0] if chunk.symbol else chunk.start_line
    selected = ranked.lines or (line, line + 1)
    return protocol.SearchResult(
        path=stored.path,
        folder=folder.uri,
        uri=folder.uri_of(stored.path),
        range=protocol.whole_lines(chunk.start_line, chunk.end_line),
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
        reasons=ranked.positive_signals()[:_REASONS],
        snippet=chunk.text,
        context=context,
        content_hash=stored.content_hash,
        match_explain=tuple(map(str, ranked.reasons)) if explain else None,
    )


def with_passages(result: protocol.SearchResult, further: Sequence[FurtherPassage]) -> protocol.SearchResult:
    shown = (
        protocol.FilePassage(
            range=protocol.whole_lines(passage.first, passage.last),
            text=passage.text,
            symbol=passage.best.stored.chunk.symbol,
            header_path=passage.best.stored.chunk.header_path,
            score=round(passage.best.score, 4),
        )
        for passage in further
    )
    return evolve(result, passages=tuple(shown))


def with_best_lines(result: protocol.SearchResult, lines: tuple[int, int] | None) -> protocol.SearchResult:
    """Return the result with its best lines, lines `[first, last)` of the file."""
    return result if lines is None else evolve(result, best_lines=protocol.whole_lines(*lines))


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
