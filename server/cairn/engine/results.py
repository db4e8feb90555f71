"""Turns what retrieval and discovery found into the protocol's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from cairn import protocol
from cairn.chunking.definition_place import definition_lines, kind_at
from cairn.chunking.model import Chunk
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.neighbours import neighbours
from cairn.retrieval.query import Query
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import matched_terms
from cairn.text.languages import language_of

UriOf = Callable[[int, str], tuple[str, str]]
"""From a folder's number and a path in it to the URIs of the folder and the file."""


_REASONS = 3
"""As many as fit in a line; `explain` tells all of them."""


def search_results(
    ranked: Sequence[Ranked],
    query: Query,
    readers: Sequence[IndexReader],
    uri_of: UriOf,
    context: int,
    explain: bool,
) -> tuple[protocol.SearchResult, ...]:
    """The results as shown, each with `context` chunks before and after it."""
    around = contexts(ranked, readers, context)
    return tuple(
        search_result(r, matched_terms(query, r.stored), shown, uri_of, explain, _asked_for(r, query))
        for r, shown in zip(ranked, around, strict=True)
    )


def _asked_for(ranked: Ranked, query: Query) -> str:
    """The definition in the chunk that the question names."""
    return next((name for name in ranked.stored.chunk.defines if name in query.names), "")


def _as(name: str, chunk: Chunk) -> Chunk:
    """The chunk, called after another definition in it than its main one."""
    line = definition_lines(chunk, name)[0]
    header = chunk.header_path
    if chunk.symbol and header.endswith(chunk.symbol):
        header = header.removesuffix(chunk.symbol) + name
    return evolve(chunk, symbol=name, symbol_kind=kind_at(chunk, line), title=name, header_path=header)


def search_result(
    ranked: Ranked,
    matched: tuple[str, ...],
    context: protocol.Context,
    uri_of: UriOf,
    explain: bool,
    asked_for: str = "",
) -> protocol.SearchResult:
    """One result as shown. `asked_for` is the definition in it that the question names, "" for none."""
    stored, chunk = ranked.stored, ranked.stored.chunk
    folder_uri, uri = uri_of(ranked.folder, stored.path)
    if asked_for and asked_for != chunk.symbol:
        chunk = _as(asked_for, chunk)
    named = definition_lines(stored.chunk, chunk.symbol)[0] if chunk.symbol else chunk.start_line
    return protocol.SearchResult(
        path=stored.path,
        folder=folder_uri,
        uri=uri,
        range=protocol.whole_lines(chunk.start_line, chunk.end_line),
        selection_range=protocol.whole_lines(named, named + 1),
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
        reasons=ranked.spoken_for_by()[:_REASONS],
        snippet=chunk.text,
        context=context,
        content_hash=stored.content_hash,
        match_explain=tuple(map(str, ranked.reasons)) if explain else None,
    )


def contexts(ranked: Sequence[Ranked], readers: Sequence[IndexReader], window: int) -> list[protocol.Context]:
    """What stands before and after each result, up to `window` chunks; one query a folder."""
    every = []
    for result, around in zip(ranked, neighbours(ranked, readers, window), strict=True):
        position = result.stored.chunk.position
        before = [other.chunk.text for other in around if other.chunk.position < position]
        after = [other.chunk.text for other in around if other.chunk.position > position]
        every.append(protocol.Context("".join(before), "".join(after)))
    return every


def query_info(query: Query) -> protocol.QueryInfo:
    return protocol.QueryInfo(query.normalized, query.terms, query.type.value, query.alpha, query.corrections)


def rounded(bullets: Sequence[protocol.Bullet]) -> tuple[protocol.Bullet, ...]:
    """The bullets with scores as they are shown."""
    return tuple(evolve(bullet, score=round(bullet.score, 4)) for bullet in bullets)


def rounded_plan(plan: protocol.AnswerPlan) -> protocol.AnswerPlan:
    sections = (evolve(section, bullets=rounded(section.bullets)) for section in plan.sections)
    return evolve(plan, sections=tuple(sections))


def in_order(chunks: Sequence[protocol.ScoredChunk], found: dict[str, Ranked]) -> list[Ranked]:
    """The passages behind `chunks`, in their order and with their scores."""
    return [
        Ranked(r.folder, r.stored, min(1.0, chunk.score), r.source, r.reasons)
        for chunk in chunks
        if (r := found.get(chunk.doc_id))
    ]


def page(chunks: Sequence[StoredChunk]) -> protocol.PageAnswer:
    """A whole file from its chunks, which cover it without overlapping."""
    text = "".join(stored.chunk.text for stored in chunks)
    return protocol.PageAnswer(
        text=text,
        language=language_of(chunks[0].path, text),
        chunks=tuple(
            protocol.PageChunk(
                protocol.whole_lines(s.chunk.start_line, s.chunk.end_line),
                s.chunk.title,
                s.chunk.type,
                s.chunk.symbol,
            )
            for s in chunks
        ),
    )
