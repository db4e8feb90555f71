"""Sends the text of each issue to Cairn, over index files and a team's database, and to plain BM25, in
process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from attrs import frozen
from engine.index_file import IndexFile
from retrieval.baselines import BM25
from team.publication import READER, published

from cairn.embedding.packaged import load_packaged
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.snapshot_catalogue import read_snapshot
from cairn.index.postgres.snapshots import RequestReads
from cairn.index.postgres.transactions import Store
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.protocol.search_messages import SearchParams
from cairn.retrieval.matching import term_shares
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.place_choice import choose
from cairn.retrieval.query import understand
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.ranking import rank
from cairn.retrieval.window_ranking import by_best_passage, further_passages, passages_of_results
from cairn.settings.tree import SearchSettings
from issues.functions import Definition, changed_definitions
from issues.indexes import Indexes
from issues.sets import Issue, is_code

DEPTH = 50
"""The number of requested results; without tests and documents, enough code files remain."""
_FURTHER = SearchParams("").passages - 1
CAIRN, STORED, BM25_OF_CODE = "cairn", "cairn over a store", "bm25"


@frozen
class Found:
    """The results of one system for an issue, best first."""

    issue: Issue
    paths: tuple[str, ...]
    ms: float
    definitions: tuple[Definition, ...] = ()
    """The shown passages, by path and name: of each result its own, then the further ones of its file."""
    changed: frozenset[Definition] = frozenset()
    """The definitions that the fix changed; empty if unknown."""


def found(
    indexes: Indexes,
    issues: Sequence[Issue],
    settings: SearchSettings,
    systems: Sequence[str],
    store: str = "",
) -> Iterator[tuple[str, Found]]:
    """Yield the results of each system for each issue, with the system's name.

    `store` is the owner's URL of a team's database, into which the indexes are published for STORED; "" skips
    it.
    """
    meaning = Meaning(load_packaged())
    for issue in indexes.make_all(issues):
        folder = indexes.folder(issue)
        index = IndexFile(folder / "index.db")
        try:
            if CAIRN in systems:
                changed = changed_definitions(issue, indexes.clone(issue), index)
                query_reader = partial(
                    _by_cairn, issue=issue, meaning=meaning, settings=settings, changed=changed
                )
                yield CAIRN, query_reader(SqliteReader(folder))
                if store:
                    yield STORED, _by_store(store, issue, folder, query_reader)
            if BM25_OF_CODE in systems:
                bm25 = BM25(index, is_code)
                began = time.perf_counter()
                spans = bm25(issue.text)
                ms = (time.perf_counter() - began) * 1000
                yield BM25_OF_CODE, Found(issue, tuple(span.path for span in spans), ms)
        finally:
            index.close()


def _by_store(url: str, issue: Issue, folder: Path, query_reader: Callable[[IndexReader], Found]) -> Found:
    """Publish the index of `folder` into the database and query it there."""
    key = published(url, issue.repository, folder).key
    store = Store([url])
    try:
        memory = store.read(READER, partial(read_snapshot, key=key))
        assert memory is not None
        with RequestReads(store, READER) as session:
            return query_reader(PostgresReader.of(session, memory))
    finally:
        store.close()


def _by_cairn(
    reader: IndexReader,
    issue: Issue,
    meaning: Meaning,
    settings: SearchSettings,
    changed: set[Definition],
) -> Found:
    """Time the second of two equal requests, since the first one reads the index."""
    for _ in range(2):
        began = time.perf_counter()
        vocabulary = IndexVocabulary([reader])
        query = understand(issue.text, None, vocabulary, settings)
        ranking = rank([reader], [query], meaning, settings)
        results = ranking.results(DEPTH, settings.diversity)
        passages, _ = passages_of_results(ranking, results, meaning.table)
        results = by_best_passage(results, passages)
        words = QueryWords(query, term_shares(query, vocabulary))
        rows = choose(words, ranking, results, passages, DEPTH, best_only=False).rows
        further = further_passages(ranking, passages, rows, _FURTHER)
        ms = (time.perf_counter() - began) * 1000
    shown: list[Definition] = []
    for row, others in zip(rows, further, strict=True):
        stored = [row.ranked.stored, *(each.best.stored for each in others)]
        shown += dict.fromkeys((each.path, each.chunk.symbol) for each in stored)
    paths = tuple(dict.fromkeys(row.ranked.stored.path for row in rows))
    return Found(issue, paths, ms, tuple(shown), frozenset(changed))
