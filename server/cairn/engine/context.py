"""Answers `cairn/context`: collects what is related to a place in a document, as passages and as a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from attrs import define, evolve

from cairn import protocol
from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import content_key
from cairn.context.builder import Item, PartName, assemble, part_budgets
from cairn.context.grouped_passages import Grouped, passage_item, related_passages, with_query
from cairn.context.place_items import (
    CursorPassage,
    concept_items,
    diagnostic_items,
    editor_items,
    query_items,
    readmes_above,
    touched_lines,
)
from cairn.engine.answer_cache import AnswerCache
from cairn.engine.completeness import index_state
from cairn.engine.folders import path_of_uri, places_of_uri
from cairn.engine.related import covered, indexed_page, lines_of_range, shared_names, table_for
from cairn.engine.request import Attempt, Request
from cairn.engine.results import milliseconds, search_result
from cairn.errors import InvalidRequestError
from cairn.index.queries.file_queries import readme_paths, readme_rule
from cairn.index.queries.relations import PassageVector, vector_of_texts
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import StoredChunk
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.index.vectors.vector_store import ChunkText, static_vectors
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.document_names import is_document
from cairn.retrieval.feedback_values import Learned
from cairn.retrieval.meaning import table_of
from cairn.retrieval.place_choice import Shown, whole_chunks
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.referrals import definitions_around
from cairn.retrieval.related_chunks import ChunkRange, relate
from cairn.retrieval.related_lines import with_lines
from cairn.retrieval.verdict import matched_terms
from cairn.retrieval.window_ranking import best_chunks
from cairn.text.verbatim import lines_with_ends
from cairn.workspace.builtin_rules import holds_secret
from cairn.workspace.collections import file_kind

_DOCUMENTS = ChunkFilter(types=(ChunkType.PROSE.value,))
_OTHER_FIELDS = 500
"""The estimated size of a passage's fields besides its text, such as path and titles, in characters."""
_MOST_SAID, _MOST_LINES = 3, 25
"""The maximum numbers of functions in a message, and of lines whose cursor positions get the same answer."""
_Page = tuple[int, str, list[StoredChunk]]
"""A document's folder number, path in that folder, and chunks."""


def context(
    request: Request, params: protocol.ContextParams
) -> protocol.ContextAnswer | Attempt[protocol.ContextAnswer]:
    """Answer `cairn/context`. With a query, the Attempt also says why a part of its search failed, such as
    the vectors.

    Raise InvalidRequestError for a document that is neither indexed nor sent as text.
    """
    started = time.perf_counter()
    asked = _Asked(request, params)
    place = asked.place
    placed = time.perf_counter()
    passages, problem, is_cached = asked.passages()
    found = time.perf_counter()
    check_end()
    budgets = part_budgets(request.settings.context, params.budget)
    assembled = assemble(asked.parts(passages), budgets, request.host.model.count_tokens)
    answer = protocol.ContextAnswer(
        passages=asked.shown(passages),
        context=assembled.text,
        parts=assembled.parts,
        dropped=assembled.dropped,
        tokens=assembled.tokens,
        budget=sum(budgets.values()),
        place=place,
        index=index_state(request),
        timings={
            "place": milliseconds(started, placed),
            "passages": milliseconds(placed, found),
            "assemble": milliseconds(found),
            "total": milliseconds(started),
            **({"cached": 1} if is_cached else {}),
        },
        message="" if passages else asked.looked_for,
    )
    return Attempt(answer, problem) if params.query else answer


@define(slots=False)
class _Asked:
    """A place in a document, and what is found for it. Each property is computed once, on first use."""

    request: Request
    params: protocol.ContextParams
    is_indexed: bool = True
    """Whether the passage is in the index or its overlay of unsaved text. Valid after `passage` was read."""

    @property
    def known(self) -> AnswerCache[Any]:
        return self.request.caller.context_parts

    # --- the place -------------------------------------------------------------------------------------

    @cached_property
    def learned(self) -> Mapping[int, Learned]:
        """What earlier feedback taught, by folder number. Only the search for a query uses it."""
        return self.request.learned if self.params.query.strip() else {}

    @cached_property
    def state(self) -> Hashable:
        return self.request.state(self.learned)

    @cached_property
    def passage(self) -> ChunkRange:
        """The passage at the place; it has no chunks if the document is empty."""
        number, path, chunks = self._page()
        field = "position" if self.params.range is None else "range"
        passage = tuple(covered(chunks, self._range, field)) if chunks else ()
        return ChunkRange(number, path, passage, focus=lines_of_range(self._range))

    @property
    def _range(self) -> protocol.Range:
        position = self.params.position or protocol.Position(0, 0)
        return self.params.range or protocol.Range(position, position)

    def _page(self) -> _Page:
        request, text, uri = self.request, self.params.text, self.params.text_document.uri
        try:
            return self._page_once(
                ("page", self.state, uri), lambda: indexed_page(request.folders, request.readers, uri)
            )
        except InvalidRequestError:
            if text is None or len(text) > request.settings.index.max_file_bytes:
                raise
        self.is_indexed = False
        path = path_of_uri(uri)
        if holds_secret(path.as_posix() if path else _name(uri), text):
            raise InvalidRequestError(
                "textDocument.uri", f"{_name(uri)!r} may hold secrets, whose text is kept out of contexts"
            )
        key = ("text", request.folder_uris, uri, content_key(text))
        return self._page_once(key, lambda: self._page_of_text(uri, text))

    def _page_once(self, key: Hashable, make: Callable[[], _Page]) -> _Page:
        page: _Page = self.known.get_or_make(
            key, make, lambda page: sum(len(stored.chunk.text) for stored in page[2])
        )
        return page

    def _page_of_text(self, uri: str, text: str) -> _Page:
        folders = self.request.folders
        places = [(folders.index(folder), inside) for folder, inside in places_of_uri(folders, uri)]
        number, path = next(iter(places), (0, _name(uri)))
        kind = file_kind(path)
        chunks = chunk_text(path, text)
        return number, path, [StoredChunk(0, path, kind, "", c, c.content_hash) for c in chunks]

    @cached_property
    def at_cursor(self) -> CursorPassage:
        path, at = self.passage.path, self._range
        if not self.passage.chunks:
            return CursorPassage(path, "", (0, 0), 0)
        first, last = self.passage.chunks[0].chunk, self.passage.chunks[-1].chunk
        text = "".join(stored.chunk.text for stored in self.passage.chunks)
        start, end = first.start_line, last.end_line
        selected = at.start != at.end
        lines = lines_with_ends(text)
        if selected and len(lines) == end - start:  # Lines of a notebook's cells may have other numbers.
            from_line, to_line = max(start, at.start.line), min(end, touched_lines(at)[1])
            if from_line < to_line:
                text = "".join(lines[from_line - start : to_line - start])
                start, end = from_line, to_line
        return CursorPassage(path, text, (start, end), at.start.line, selected, first.language)

    # --- what belongs to it ----------------------------------------------------------------------------

    @cached_property
    def query(self) -> Query | None:
        text, settings = self.params.query, self.request.settings.search
        return understand(text, None, self.request.vocabulary, settings) if text.strip() else None

    def passages(self) -> tuple[tuple[Grouped, ...], str | None, bool]:
        """Return the passages, why a part of the search failed, and whether they are from the cache."""
        passage, params = self.passage, self.params
        # A chunk's id identifies its text while `state`, which covers index and unsaved text, is unchanged.
        ids = [stored.id or stored.chunk for stored in passage.chunks]
        near = passage.focus if self.at_cursor.selected else self.lines
        place = (passage.folder, passage.path, *ids, self.functions, near)
        key = ("passages", self.state, place, params.query, params.limit, params.section)
        cached = self.known.get(key)
        if cached is not None:
            return cached, None, True
        found, problem, is_whole = self._found()
        if problem is None and is_whole:
            size = sum(len(each.ranked.stored.chunk.text) + _OTHER_FIELDS for each in found)
            self.known.put(key, found, size)
        return found, problem, False

    @cached_property
    def functions(self) -> tuple[Place, ...]:
        """The functions and types that contain the place or, if there are none, those in its passage."""
        passage = self.passage
        if not (self.is_indexed and passage.chunks and self.request.readers):
            return ()
        return tuple(definitions_around(self.graph, passage.path, passage.lines, passage.focus))

    @cached_property
    def lines(self) -> tuple[int, int]:
        """The lines `[first, last)` whose cursor positions get the same answer: the function or passage at
        the cursor, or a part of a long one, because what is near the cursor counts more."""
        passage, (first, last) = self.passage, self.passage.lines
        if self.at_cursor.selected or not passage.chunks:
            return first, last
        line = min(self.at_cursor.cursor, last - 1)
        if self.functions:
            first, last = self.graph.lines_alone(passage.path, line, first, last)
        first += max(0, line - first) // _MOST_LINES * _MOST_LINES
        return first, min(last, first + _MOST_LINES)

    @cached_property
    def graph(self) -> ReferenceGraph:
        return ReferenceGraph(self.request.readers[self.passage.folder])

    @cached_property
    def place(self) -> protocol.ContextPlace:
        """The place that the answer describes. All cursor positions within its range get the same answer."""
        passage, uri = self.passage, self.params.text_document.uri
        if not passage.chunks:
            return protocol.ContextPlace(passage.path, uri, protocol.whole_lines(0, 0), "", "", "")
        chunk = passage.chunks[0].chunk
        title, header, symbol = chunk.title, chunk.header_path, chunk.symbol
        if self.functions and not self.at_cursor.selected:
            place = self.graph.around(passage.path, min(self.at_cursor.cursor, passage.lines[1] - 1))
            if place is not None and place.name != symbol:
                header = " > ".join(place.qualified.split("."))
                title = symbol = place.name
        return protocol.ContextPlace(
            passage.path, uri, protocol.whole_lines(*self.lines), title, header, symbol
        )

    @property
    def looked_for(self) -> str:
        """What was looked for, in one sentence."""
        passage = self.passage
        if not passage.chunks:
            return "The document is empty."
        if not self.request.readers:
            return "The index is not ready yet."
        if any(map(is_document, passage.chunks)):
            return "This passage names no code of the workspace, and no other document is about the same."
        if not self.functions:
            return "Nothing uses, tests or explains what is here. Go to a function or a type."
        names = ", ".join(f"`{each.name}`" for each in self.functions[:_MOST_SAID])
        return f"No callers, overrides, tests or documents of {names} were found, and nothing that it uses."

    def _found(self) -> tuple[tuple[Grouped, ...], str | None, bool]:
        """Return the passages, why a part of the search failed, and whether every part ran to its end."""
        request, passage, limit = self.request, self.passage, self.params.limit
        readme_patterns = request.settings.discovery.readme.readme_patterns
        related = self._related() if passage.chunks and request.readers else []
        if self.query is None or not request.readers:
            return tuple(related), None, True
        ranking = rank(
            request.readers,
            [self.query],
            request.meaning,
            request.settings.search,
            learned=self.learned,
        )
        most = limit + len(passage.chunks)
        ranked = best_chunks(ranking, table_of(request.meaning), most) or ranking.results(
            most, request.settings.search.diversity
        )
        others = [r for r in ranked if r.folder != passage.folder or r.stored.id not in passage.ids]
        passages = with_query(others, related, limit, readme_patterns)
        return tuple(passages), ranking.problem, not ranking.legs.broken_off

    def _related(self) -> list[Grouped]:
        request, limit = self.request, self.params.limit
        vector = None if self.is_indexed else self._vector()
        relations = relate(
            request.readers,
            self.passage,
            besides=_DOCUMENTS,
            vector=vector,
            thorough=self.params.section is not None,
        )
        patterns = request.settings.discovery.readme.readme_patterns
        related = related_passages(relations.found, self.passage, limit, patterns, self.params.section)
        ranked = with_lines([each.ranked for each in related], relations, table_for(request, relations))
        return [
            Grouped(each.group, each.section, result.positive_signals(), result)
            for each, result in zip(related, ranked, strict=True)
        ]

    def _vector(self) -> PassageVector:
        """Return the vector of text that is not indexed."""
        meaning = self.request.meaning
        if meaning is None:
            return PassageVector()
        chunks = [stored.chunk for stored in self.passage.chunks]
        texts = [ChunkText.of(chunk, composite_text(self.passage.path, "", chunk)) for chunk in chunks]
        vectors = static_vectors(meaning.encoder, texts, self.request.settings.embedding)
        return vector_of_texts(meaning.encoder.id, vectors)

    def parts(self, passages: Sequence[Grouped]) -> dict[PartName, Sequence[Item]]:
        """Return every candidate item for each part of the context."""
        params, path = self.params, self.passage.path
        queries = (
            self.request.caller.queries.latest() if params.recent_queries is None else params.recent_queries
        )
        place = self.place
        shown = evolve(self.at_cursor, title=place.title, header_path=place.header_path, symbol=place.symbol)
        other = [text for text in queries if text.strip() != params.query.strip()]
        return {
            PartName.CORE_CONCEPTS: self._concepts(),
            PartName.PASSAGES: [passage_item(each) for each in passages],
            PartName.EDITOR_STATE: editor_items(shown, self._open_documents()),
            PartName.DIAGNOSTICS: diagnostic_items(path, params.diagnostics, self.at_cursor.cursor),
            PartName.RECENT_QUERIES: query_items([params.query, *other]),
        }

    def _concepts(self) -> tuple[Item, ...]:
        """Return the core concepts. Unsaved text changes them only if it is the text of a README of the
        document's directory or of a directory above it."""
        request = self.request
        if not request.readers:
            return ()
        folder, search = self.passage.folder, request.settings.search
        patterns = request.settings.discovery.readme.readme_patterns
        reader = request.readers[folder]
        facts, unsaved = reader.facts(), reader.overlay
        index = (request.folders[folder].uri, reader.key, reader.identity(), patterns)
        saved: list[str] = self.known.get_or_make(
            ("readmes", *index, facts.paths),
            lambda: readme_paths(reader, patterns),
            lambda paths: sum(map(len, paths)),
        )
        new = set(filter(readme_rule(patterns), unsaved.hidden)).difference(saved)
        above = readmes_above(sorted(new.union(saved)) if new else saved, self.passage.path)
        typed = None if set(above).isdisjoint(unsaved.hidden) else unsaved.generation
        collection = self.passage.chunks[0].collection if self.passage.chunks else ""
        key = ("concepts", *index, facts.content, above, typed, collection, search.core_concepts)
        concepts: tuple[Item, ...] = self.known.get_or_make(
            key,
            lambda: concept_items(reader, collection, search.core_concepts, above),
            lambda items: sum(len(item.text) for item in items),
        )
        return concepts

    def _open_documents(self) -> list[str]:
        """Return the paths of open documents in the request, and the names of those outside it."""
        folders, given = self.request.folders, self.params.open_documents
        if given is None:
            return [path for folder in folders for path in sorted(folder.open_paths)]
        return [next((path for _, path in places_of_uri(folders, uri)), _name(uri)) for uri in given]

    # --- the answer ------------------------------------------------------------------------------------

    def shown(self, passages: Sequence[Grouped]) -> tuple[protocol.ContextPassage, ...]:
        query, used, defined = self.query, self.passage.used, self.passage.defined

        rows = whole_chunks(self.request.readers, [each.ranked for each in passages])

        def shown(each: Grouped, row: Shown) -> protocol.ContextPassage:
            names = shared_names(used, defined, each.ranked)
            matched = (*matched_terms(query, each.ranked.stored), *names) if query else names
            terms = tuple(dict.fromkeys(matched))
            result = search_result(self.request.folders, row, terms, protocol.Context())
            return protocol.ContextPassage(each.group, each.section, each.reasons, result)

        return tuple(map(shown, passages, rows))


def _name(uri: str) -> str:
    return PurePosixPath(unquote(uri.partition(":")[2] or uri)).name or uri
