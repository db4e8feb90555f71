"""Runs Cairn's own ranking over a complete index, without a daemon, so that the source of the vectors can be
chosen.

Otherwise it equals the daemon's searches: the same query, legs, signals and chunks, but without the bonus of
the best passages.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import apsw
import numpy as np
from attrs import evolve, frozen
from engine.index_file import index_path
from numpy.typing import NDArray

from cairn.embedding.shared import TextEncoder
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import ChunkText, VectorStore, static_vectors
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.scores import Ranked, score_files
from cairn.retrieval.scoring import best_of_file
from cairn.retrieval.signals import SIGNALS, weighted
from cairn.settings.tree import EmbeddingSettings, SearchSettings
from retrieval.asking import Answer, answer
from retrieval.metrics import DEPTH, Span
from retrieval.sets import Question
from retrieval.tried_signals import tried_signals

_PAGE = 4_096


def copied_index(data: Path, folder: Path) -> Path:
    """Copy the index in the data folder `data` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    source = apsw.Connection(str(index_path(data)), flags=apsw.SQLITE_OPEN_READONLY)
    target = apsw.Connection(str(folder / DATABASE_NAME))
    try:
        with target.backup("main", source, "main") as backup:
            backup.step(-1)
    finally:
        target.close()
        source.close()
    return folder


def use_table(folder: Path, table: TextEncoder) -> None:
    """Replace the vectors of the index in `folder` with those of a table or another model."""
    writer = IndexWriter(folder)
    try:
        store = VectorStore(writer.db)
        store.use_no_static()
        store.use_static(table.id, table.dimension)
        ids = chunk_ids(writer.db)
        for start in range(0, len(ids), _PAGE):
            texts = store.texts(ids[start : start + _PAGE])
            store.store_static([text.chunk_id for text in texts], embedded(table, texts), 0)
        writer.note(static=1, static_queued=0)
    finally:
        writer.close()


def embedded(table: TextEncoder, texts: Sequence[ChunkText]) -> NDArray[np.int8]:
    """Return int8[n, dimension] for the texts, with as many tokens as Cairn gives to their kind."""
    return static_vectors(table, texts, EmbeddingSettings())


def chunk_ids(db: apsw.Connection) -> list[int]:
    """Return the ids of all chunks, in the order of paths and lines."""
    rows = db.execute(
        "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id ORDER BY f.path, c.position"
    )
    return [int(row[0]) for row in rows]


def _span(found: Ranked) -> Span:
    chunk = found.stored.chunk
    return Span(found.stored.path, chunk.start_line + 1, chunk.end_line)


@frozen
class OpenIndex:
    """An open index in `folder`."""

    folder: Path
    reader: IndexReader

    @classmethod
    def at(cls, folder: Path) -> OpenIndex:
        """Open the index; raises what SqliteReader does if there is none."""
        return cls(folder, SqliteReader(folder))

    def ranked(self, questions: Iterable[Question], meaning: Meaning | None) -> list[Answer]:
        """Return Cairn's answers; without `meaning`, from keyword legs alone, as with `alpha` 0."""
        return self.ranked_by([{}], questions, meaning)[0]

    def ranked_by(
        self, weights: Sequence[Mapping[str, float]], questions: Iterable[Question], meaning: Meaning | None
    ) -> list[list[Answer]]:
        """Return the answers with each of the `weights`, which may name tried signals. The legs run once for
        all of them."""
        signals = (*SIGNALS, *tried_signals(self.reader)) if any(weights) else SIGNALS
        settings = SearchSettings(leg_deadline_ms=60_000.0)
        answers: list[list[Answer]] = [[] for _ in weights]
        for question in questions:
            began = time.perf_counter()
            query = understand(
                question.query, None if meaning else 0.0, IndexVocabulary([self.reader]), settings
            )
            ranking = rank([self.reader], [query], meaning, settings, signals=signals)
            for given, own in zip(weights, answers, strict=True):
                scores = score_files(ranking.inputs, weighted(given, signals))
                values = best_of_file(ranking.candidates, scores, [ranking.legs])
                found = evolve(ranking, scores=scores, values=values).results(DEPTH, settings.diversity)
                ms = (time.perf_counter() - began) * 1000
                own.append(answer(question, list(map(_span, found)), ms))
                began = time.perf_counter()
        return answers

    def alone(self, questions: Sequence[Question], meaning: Meaning) -> list[Answer]:
        """Rank files only by the cosine of their best chunk to the question, with every chunk compared."""
        db = apsw.Connection(str(self.folder / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
        ids = chunk_ids(db)
        db.close()
        stored = self.reader.chunks(ids)
        began = time.perf_counter()
        vectors = meaning.vectors([each.query for each in questions])
        cosines = [self.reader.static_similarities(ids, vector) for vector in vectors]
        ms = (time.perf_counter() - began) * 1000 / max(1, len(questions))
        answers = []
        for question, known in zip(questions, cosines, strict=True):
            best: dict[str, Span] = {}
            for chunk_id in sorted(ids, key=lambda each: -known.get(each, -1.0)):
                chunk = stored[chunk_id].chunk
                best.setdefault(stored[chunk_id].path, Span("", chunk.start_line + 1, chunk.end_line))
                if len(best) == DEPTH:
                    break
            spans = [Span(path, span.start_line, span.end_line) for path, span in best.items()]
            answers.append(answer(question, spans, ms))
        return answers
