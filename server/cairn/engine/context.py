"""Answers `cairn/context`: from a place in a document to what belongs to it, and to a text for a language model."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

from attrs import frozen

from cairn import protocol
from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import Chunk, content_key
from cairn.context import editor
from cairn.context.budgets import part_budgets
from cairn.context.builder import TokenCounter, assemble
from cairn.context.concepts import concept_items, readmes_above
from cairn.context.markdown import text_lines
from cairn.context.model import Assembled, Item, Part, PartName
from cairn.context.passages import Grouped, passage_items, related_passages, with_query
from cairn.discovery.render import estimate_tokens
from cairn.embedding.shared import SharedModel
from cairn.engine import results as answers
from cairn.engine.context_memory import ContextMemory
from cairn.engine.feedback import learned_from
from cairn.engine.folders import Folder, index_state, path_of_uri, uris
from cairn.engine.open_workspace import OpenWorkspace
from cairn.engine.related import covered, indexed_page, shared_names
from cairn.engine.request import Attempt
from cairn.engine.search import answer_key, meaning_of
from cairn.errors import InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.store.reader import ChunkFilter, StoredChunk
from cairn.index.store.readmes import readme_paths
from cairn.index.store.relations import PassageVector, vector_of_texts
from cairn.index.text.known_words import IndexVocabulary
from cairn.index.vectors.store import ChunkText
from cairn.index.vectors.vectors import static_vectors
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.learned import Learned
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.related import ChunkRange, relate
from cairn.retrieval.verdict import matched_terms
from cairn.settings.tree import Settings
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import may_hold_secrets
from cairn.workspace.collections import file_kind
from cairn.workspace.content_rules import is_private_key

_DOCUMENTS = ChunkFilter(types=(ChunkType.PROSE.value,))
_OTHER_FIELDS = 500
"""Characters of a passage beside its text, about: path, titles, reasons."""


@frozen
class _Asked:
    """The place that is asked about, and what everything made for it depends on."""

    folders: Sequence[Folder]
    readers: Sequence[OverlaidReader]
    model: SharedModel
    settings: Settings
    params: protocol.ContextParams
    passage: ChunkRange
    """Without chunks where the document holds nothing."""
    shown: editor.CursorPassage
    indexed: bool
    """Whether the passage is one of the index, or of what is on the screen."""
    learned: Mapping[int, Learned]
    """From earlier choices, by folder."""
    state: Hashable
    """Of indexes, screen, model and settings: what everything depends on that is read of them."""

    @property
    def readme_patterns(self) -> tuple[str, ...]:
        return self.settings.discovery.readme.readme_patterns


def context(
    request: OpenWorkspace, params: protocol.ContextParams
) -> protocol.ContextAnswer | Attempt[protocol.ContextAnswer]:
    """`cairn/context`; with a query, also why a leg of its search failed, if one did.

    Raises InvalidRequestError for a document that is not indexed and whose text is not given, and QueryCancelledError
    soon after the request was cancelled.
    """
    started = time.perf_counter()
    memory = request.engine.context_memory
    asked = _asked(request, params, memory)
    placed = time.perf_counter()
    query = _query(asked)
    key = _passages_key(asked)
    kept = memory.passages.get(key)
    passages, problem, whole = (
        (kept, None, True) if kept is not None else _passages(asked, query, request.cancelled)
    )
    if kept is None and problem is None and whole:
        memory.passages.put(key, passages, _characters(passages))
    found = time.perf_counter()
    request.check_cancelled()
    budgets = part_budgets(request.settings.context, params.budget)
    count, counts_by_line = _counter(request.model, memory)
    assembled = assemble(_parts(asked, passages, memory), budgets, count, counts_by_line)
    timings = {
        "place": _milliseconds(started, placed),
        "passages": _milliseconds(placed, found),
        "assemble": _milliseconds(found, time.perf_counter()),
        "total": _milliseconds(started, time.perf_counter()),
    }
    if kept is not None:
        timings["cached"] = 1
    answer = _answer(asked, query, passages, assembled, sum(budgets.values()), timings)
    return Attempt(answer, problem) if params.query else answer


def _milliseconds(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)


# --- the place ---------------------------------------------------------------------------------------


def _asked(request: OpenWorkspace, params: protocol.ContextParams, memory: ContextMemory) -> _Asked:
    folders, model, settings, readers = request.folders, request.model, request.settings, request.readers
    uri = well_formed(params.text_document.uri)
    # What was chosen before ranks what a query finds, and nothing else.
    learned = learned_from(folders) if params.query.strip() else {}
    state = answer_key(folders, readers, model, settings, None, learned)
    page = memory.pages.get((state, uri))
    indexed = True
    if page is None:
        try:
            page = indexed_page(folders, readers, uri)
            memory.pages.put((state, uri), page, sum(len(stored.chunk.text) for stored in page[2]))
        except InvalidRequestError:
            if params.text is None or len(params.text) > settings.index.max_file_bytes:
                raise
            indexed, page = False, _page_of_text(folders, uri, well_formed(params.text), memory)
    number, path, chunks = page
    at, field = _range(params)
    there = tuple(covered(chunks, at, field)) if chunks else ()
    shown = _shown(path, there, at)
    passage = ChunkRange(number, path, there)
    return _Asked(folders, readers, model, settings, params, passage, shown, indexed, learned, state)


def _page_of_text(
    folders: Sequence[Folder], uri: str, text: str, memory: ContextMemory
) -> tuple[int, str, list[StoredChunk]]:
    """A document that no index holds, as one would. Raises InvalidRequestError for one that may hold secrets."""
    path = path_of_uri(uri)
    if is_private_key(text) or may_hold_secrets(path.as_posix() if path else _name(uri)):
        raise InvalidRequestError(
            "textDocument.uri", f"{_name(uri)!r} may hold secrets, whose text is kept out of contexts"
        )
    key = ("text", tuple(folder.uri for folder in folders), uri, content_key(text))
    page = memory.pages.get(key)
    if page is None:
        places = [
            (number, inside)
            for number, folder in enumerate(folders)
            if path is not None and (inside := folder.place_of(path)) is not None
        ]
        number, called = next(iter(places), (0, _name(uri)))
        kind = file_kind(called)
        chunks = [
            StoredChunk(0, called, kind, "", chunk, chunk.content_hash) for chunk in chunk_text(called, text)
        ]
        page = number, called, chunks
        memory.pages.put(key, page, len(text))
    return page


def _name(uri: str) -> str:
    """What a document outside the workspace is called."""
    return PurePosixPath(unquote(uri.partition(":")[2] or uri)).name or uri


def _range(params: protocol.ContextParams) -> tuple[protocol.Range, str]:
    """What is asked about, and the field that says so."""
    if params.range is not None:
        return params.range, "range"
    position = params.position or protocol.Position(0, 0)
    return protocol.Range(position, position), "position"


def _shown(path: str, there: Sequence[StoredChunk], at: protocol.Range) -> editor.CursorPassage:
    """What the editor shows at the place: the passage around a cursor, or the lines that are selected."""
    if not there:
        return editor.CursorPassage(path, "", (0, 0), 0)
    first, last = there[0].chunk, there[-1].chunk
    text = "".join(stored.chunk.text for stored in there)
    start, end = first.start_line, last.end_line
    selected = at.start != at.end
    lines = text_lines(text)
    if selected and len(lines) == end - start:  # a notebook's cells may have lines of their own
        until = at.end.line + (at.end.character > 0 or at.end.line == at.start.line)
        from_line, to_line = max(start, at.start.line), min(end, until)
        if from_line < to_line:
            text = "".join(lines[from_line - start : to_line - start])
            start, end = from_line, to_line
    return editor.CursorPassage(
        path,
        text,
        (start, end),
        at.start.line,
        selected,
        first.language,
        first.title,
        first.header_path,
        first.symbol,
    )


# --- what belongs to it ------------------------------------------------------------------------------


def _query(asked: _Asked) -> Query | None:
    if not asked.params.query.strip():
        return None
    return understand(asked.params.query, None, IndexVocabulary(asked.readers), asked.settings.search)


def _passages_key(asked: _Asked) -> Hashable:
    """All that the passages depend on; the same for every cursor place in a chunk."""
    passage = asked.passage
    # A chunk's id says which text it is, as long as the index and the screen stay the same.
    chunks = [stored.id or stored.chunk for stored in passage.chunks]
    return (asked.state, passage.folder, passage.path, *chunks, asked.params.query, asked.params.limit)


def _passages(
    asked: _Asked, query: Query | None, cancelled: Callable[[], bool]
) -> tuple[tuple[Grouped, ...], str | None, bool]:
    """What belongs to the place, why a leg of the search failed, and whether nothing was broken off."""
    passage, limit = asked.passage, asked.params.limit
    related: list[Grouped] = []
    if passage.chunks and asked.readers:
        vector = None if asked.indexed else _vector(asked)
        found = relate(asked.readers, passage, cancelled, besides=_DOCUMENTS, vector=vector)
        related = related_passages(found, limit, asked.readme_patterns)
    if query is None or not asked.readers:
        return tuple(related), None, True
    ranking = rank(
        asked.readers,
        [query],
        meaning_of(asked.readers, asked.model, asked.settings),
        asked.settings.search,
        learned=asked.learned,
        cancelled=cancelled,
    )
    ranked = ranking.results(limit + len(passage.chunks), asked.settings.search.diversity)
    others = [r for r in ranked if r.folder != passage.folder or r.stored.id not in passage.ids]
    passages = with_query(others, related, limit, asked.readme_patterns)
    return tuple(passages), next(iter(ranking.problems), None), not ranking.broken_off


def _characters(passages: Sequence[Grouped]) -> int:
    return sum(len(each.ranked.stored.chunk.text) + _OTHER_FIELDS for each in passages)


def _vector(asked: _Asked) -> PassageVector:
    """A vector of text that is not indexed: a static one, which takes no time."""
    table = asked.model.static_table()
    if table is None:
        return PassageVector()
    texts = [ChunkText.of(stored.chunk, asked.passage.path, "") for stored in asked.passage.chunks]
    return vector_of_texts(table.id, static_vectors(table, texts, asked.settings.embedding))


def _parts(asked: _Asked, passages: Sequence[Grouped], memory: ContextMemory) -> tuple[Part, ...]:
    params, path = asked.params, asked.passage.path
    queries = memory.recent.latest() if params.recent_queries is None else params.recent_queries
    problems = [_problem(each) for each in params.diagnostics]
    other = [text for text in queries if text.strip() != params.query.strip()]
    asking = [params.query] if params.query.strip() else []
    return (
        Part(PartName.CORE_CONCEPTS, _concepts(asked, memory)),
        Part(PartName.PASSAGES, passage_items(passages)),
        Part(PartName.EDITOR_STATE, editor.editor_items(asked.shown, _open_documents(asked))),
        Part(PartName.DIAGNOSTICS, editor.diagnostic_items(path, problems, asked.shown.cursor)),
        Part(PartName.RECENT_QUERIES, editor.query_items([*asking, *other])),
    )


def _concepts(asked: _Asked, memory: ContextMemory) -> tuple[Item, ...]:
    """The core concepts; what is typed changes them only where a README is on the screen."""
    if not asked.readers:
        return ()
    folder, search = asked.passage.folder, asked.settings.search
    reader = asked.readers[folder]
    facts, shown = reader.facts(), reader.overlay
    index = (asked.folders[folder].uri, reader, reader.identity(), asked.readme_patterns)
    files = (*index, facts.paths, shown.hidden)
    readmes = memory.readmes.get(files)
    if readmes is None:
        readmes = readme_paths(reader, asked.readme_patterns)
        memory.readmes.put(files, readmes, sum(map(len, readmes)))
    above = readmes_above(readmes, asked.passage.path)
    typed = None if set(above).isdisjoint(shown.hidden) else shown.generation
    collection = asked.passage.chunks[0].collection if asked.passage.chunks else ""
    key = (*index, facts.content, above, typed, collection, search.core_concepts)
    kept = memory.concepts.get(key)
    if kept is None:
        kept = concept_items(reader, collection, search.core_concepts, above)
        memory.concepts.put(key, kept, sum(len(item.text) for item in kept))
    return kept


def _open_documents(asked: _Asked) -> list[str]:
    """What the open documents are called: paths in the workspace, names of others."""
    if asked.params.open_documents is None:
        return [path for folder in asked.folders for path in sorted(folder.open_paths)]
    return [_called(asked.folders, well_formed(uri)) for uri in asked.params.open_documents]


def _called(folders: Sequence[Folder], uri: str) -> str:
    path = path_of_uri(uri)
    inside = (folder.place_of(path) for folder in folders) if path is not None else ()
    return next((place for place in inside if place is not None), _name(uri))


def _problem(given: protocol.Diagnostic) -> editor.Problem:
    start, end = given.range.start, given.range.end
    last = end.line + (end.character > 0 or end.line == start.line)
    code = "" if given.code is None else str(given.code)
    return editor.Problem(
        start.line, last, given.severity or 1, well_formed(given.message), given.source or "", code
    )


# --- the answer --------------------------------------------------------------------------------------


def _counter(model: SharedModel, memory: ContextMemory) -> tuple[TokenCounter, bool]:
    """How to count, and whether by line: by the installed model's tokenizer, or by an estimate where none is installed."""
    tokenizer = model.tokenizer()
    if tokenizer is None:
        return estimate_tokens, False
    return memory.counting(model.version(), tokenizer.count), tokenizer.counts_by_line


def _answer(
    asked: _Asked,
    query: Query | None,
    passages: Sequence[Grouped],
    assembled: Assembled,
    budget: int,
    timings: dict[str, float],
) -> protocol.ContextAnswer:
    return protocol.ContextAnswer(
        passages=_shown_passages(asked, query, passages),
        context=assembled.text,
        parts=assembled.parts,
        dropped=assembled.dropped,
        tokens=assembled.tokens,
        budget=budget,
        place=_place(asked),
        index=index_state(asked.folders),
        timings=timings,
    )


def _shown_passages(
    asked: _Asked, query: Query | None, passages: Sequence[Grouped]
) -> tuple[protocol.ContextPassage, ...]:
    used, defined = asked.passage.used, asked.passage.defined
    uri_of = uris(asked.folders)

    def shown(each: Grouped) -> protocol.ContextPassage:
        names = shared_names(used, defined, each.ranked)
        matched = (*matched_terms(query, each.ranked.stored), *names) if query else names
        terms = tuple(dict.fromkeys(matched))
        result = answers.search_result(each.ranked, terms, protocol.Context(), uri_of, explain=True)
        return protocol.ContextPassage(each.group, each.reasons, result)

    return tuple(map(shown, passages))


def _place(asked: _Asked) -> protocol.ContextPlace:
    chunks: list[Chunk] = [stored.chunk for stored in asked.passage.chunks]
    first = chunks[0] if chunks else None
    return protocol.ContextPlace(
        path=asked.passage.path,
        uri=asked.params.text_document.uri,
        range=protocol.whole_lines(chunks[0].start_line, chunks[-1].end_line)
        if chunks
        else protocol.whole_lines(0, 0),
        title=first.title if first else "",
        header_path=first.header_path if first else "",
        symbol=first.symbol if first else "",
    )
