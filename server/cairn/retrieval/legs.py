"""The search legs of one query: each finds chunks in its own way, and what they find is pooled."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field

from cairn.config import SearchSettings
from cairn.errors import CairnError, OutOfTimeError, QueryCancelledError
from cairn.index.reader import ChunkFilter, ColumnWeights, Hit, IndexReader
from cairn.index.until import Until
from cairn.retrieval.meaning import ModelVector, QueryVector
from cairn.retrieval.query import Query

logger = logging.getLogger(__name__)

ALL_COLUMNS = ColumnWeights(text=1.0, identifiers=1.0, path=2.0, symbol=2.5)
"""Body 1, folders 1 to file stem 2.5, defined names 2.5 (docs/ranking.md)."""
NAMES_ONLY = ColumnWeights(text=0.0, identifiers=0.0, path=0.0, symbol=1.0)

_MAX_SYMBOLS = 50
_MAX_LITERALS = 4
_RESPELLED = 0.8
"""What the name counts in another convention: less than the name in another case, 0.9."""

ChunkScores = dict[int, dict[str, float]]
"""For each chunk of one index, what each leg says of it."""


@define
class Legs:
    """Runs legs over several indexes. A leg that fails is left out; the others still answer."""

    readers: Sequence[IndexReader]
    only: ChunkFilter
    settings: SearchSettings
    cancelled: Callable[[], bool]
    pools: list[ChunkScores] = field(init=False)
    """What was found, by index, in the order of `readers`."""
    timings: dict[str, float] = field(factory=dict, init=False)
    """Milliseconds by leg."""
    problems: list[CairnError] = field(factory=list, init=False)
    cut: bool = field(default=False, init=False)
    """Whether a leg found as many chunks as it may, so that there may be more."""
    broken_off: list[str] = field(factory=list, init=False)
    """Legs whose time was over before they had looked everywhere."""

    def __attrs_post_init__(self) -> None:
        self.pools = [defaultdict(dict) for _ in self.readers]

    def by_words(self, query: Query) -> None:
        """Keywords in all columns, keywords among defined names, and the very name of a definition."""
        match, limit = query.match(), self.settings.candidates
        names = f"{{symbol_words}} : ({match})" if match else ""
        self._run(
            "keyword", lambda index, _, until: index.keywords(match, ALL_COLUMNS, limit, self.only, until)
        )
        self._run(
            "definition", lambda index, _, until: index.keywords(names, NAMES_ONLY, limit, self.only, until)
        )
        self._run("symbol", lambda index, _, __: self._defining(index, query))

    def by_text(self, query: Query, *, case: bool = False, word: bool = False) -> None:
        """The query's literals as they are written. What other legs found is looked at first: it stands high anyway.

        `case` and `word`: whether upper and lower case must be the same, and whether a literal may not be part of a
        longer word; a query that has no literals is one then.
        """
        wanted = _literals(query, case or word)

        def find(index: IndexReader, pool: ChunkScores, until: Until) -> Iterable[Hit]:
            scores: dict[int, float] = defaultdict(float)
            for literal in wanted:
                found = index.containing(
                    literal,
                    case=case,
                    word=word,
                    limit=self.settings.candidates,
                    only=self.only,
                    cancelled=self.cancelled,
                    deadline_ms=until.ms_left,
                    first=list(pool),
                )
                for hit in found.hits:
                    scores[hit.chunk_id] += hit.score / len(wanted)
            return [Hit(chunk, score) for chunk, score in scores.items()]

        if wanted:
            self._run("exact", find)

    def _defining(self, index: IndexReader, query: Query) -> list[Hit]:
        respelled = index.defining(query.respelled, _MAX_SYMBOLS, self.only) if query.respelled else []
        found = {hit.chunk_id: _RESPELLED * hit.score for hit in respelled}
        found |= {hit.chunk_id: hit.score for hit in index.defining(query.names, _MAX_SYMBOLS, self.only)}
        return [Hit(chunk, score) for chunk, score in found.items()]

    def by_meaning(self, asked: QueryVector) -> None:
        """The nearest chunks to the question, and the similarity of all that other legs found."""
        limit = self.settings.candidates
        self._run("similarity", lambda index, _, until: asked.nearest(index, limit, self.only, until))
        if isinstance(asked, ModelVector) and asked.some_wait:
            # Found, but not compared: the two kinds of similarity have nothing in common.
            self._run("static", lambda index, _, __: asked.without_vector(index))

        def compare(index: IndexReader, pool: ChunkScores, _: Until) -> Iterable[Hit]:
            unknown = [chunk for chunk, scores in pool.items() if "similarity" not in scores]
            return [Hit(chunk, score) for chunk, score in asked.similarities(index, unknown).items()]

        self._run("compared", compare)

    def _run(self, leg: str, find: Callable[[IndexReader, ChunkScores, Until], Iterable[Hit]]) -> None:
        started = time.perf_counter()
        until = Until(self.cancelled, self.settings.leg_deadline_ms)
        for reader, pool in zip(self.readers, self.pools, strict=True):
            try:
                hits = list(find(reader, pool, until))
            except QueryCancelledError:
                raise
            except OutOfTimeError:
                continue
            except CairnError as problem:
                logger.warning("the %s leg failed: %s", leg, problem)
                self.problems.append(problem)
                continue
            self.cut = self.cut or len(hits) >= self.settings.candidates
            for hit in hits:
                pool[hit.chunk_id][leg] = hit.score
        self.timings[leg] = (time.perf_counter() - started) * 1000
        if until.is_over:
            logger.info("the %s leg was broken off after %.0f ms", leg, self.timings[leg])
            self.broken_off.append(leg)
            self.cut = True
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")


def _literals(query: Query, all_of_it: bool) -> tuple[str, ...]:
    """What is to be found as it is written; with `all_of_it`, the whole query where no part of it is."""
    marked: tuple[str, ...] = getattr(query, "literals", ()) or query.phrases
    return marked[:_MAX_LITERALS] or ((query.text.strip(),) if all_of_it else ())
