"""The search legs of one query: each finds chunks or files in its own way, and what they find is pooled.

Words and meaning are looked for side by side: SQLite and the model both work without Python's lock.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

from attrs import define, field, frozen

from cairn.errors import CairnError, OutOfTimeError, QueryCancelledError
from cairn.index.store.file_queries import best_by_file, files_at, files_by_path, files_by_subjects
from cairn.index.store.reader import ChunkFilter, ColumnWeights, Hit, IndexReader
from cairn.index.store.until import Until
from cairn.index.text.holding import Holding, chunks_holding
from cairn.index.text.keyword_counts import KeywordCounts, keyword_counts
from cairn.retrieval.keyword_plan import Plan, plan_keywords
from cairn.retrieval.meaning import Meaning, ModelVector, QueryVector
from cairn.retrieval.query import Query
from cairn.retrieval.reexports import hands_on
from cairn.settings.tree import Leg, SearchSettings
from cairn.text.words import stem

logger = logging.getLogger(__name__)

T = TypeVar("T")

KEYWORD_WEIGHTS = ColumnWeights(text=1.0, identifiers=1.0, symbol=2.5)
"""Defined names count 2.5 times (docs/ranking.md)."""

_MAX_SYMBOLS = 50
_MAX_LITERALS = 4
_MAX_FILES = 40
"""Files that may be found as wholes, by their paths and by their commits each."""
_SUBJECT_ROWS = 4_000
"""Files whose commits' subjects are scored: a third of the chunks, for there are fewer files than chunks."""
_RESPELLED = 0.5
"""What the name counts in another convention: `from_request` is seldom what `FromRequest` asks for. In another case, 0.9."""
_SIGILS = ("$", "@", "_", "#")
"""Marks that some languages write before a name, and nobody asks for."""
_SIGILLED = 0.9


_OF_MEANING = frozenset({"similarity", "compared"})
_LONGEST_MEANING_MS = 2_000.0
"""Nobody waits longer for vectors: S2 calls that an error. A model's call cannot be broken off, so it goes on."""


@frozen
class HeldWord:
    """A word of the question, and where it stands."""

    stems: frozenset[str]
    """Of the word and what counts as it."""
    weight: float
    """How much it tells."""
    held: Holding


@define
class Pool:
    """What was found in one index."""

    found: defaultdict[str, dict[int, float]] = field(factory=lambda: defaultdict(dict))
    """For each leg, what it says of each chunk that it found."""
    words: list[HeldWord] = field(factory=list)
    """Those of the question that tell something."""
    files: dict[str, None] = field(factory=dict)
    """Paths of files that were found as wholes."""
    named: frozenset[str] = frozenset()
    """Those that the question names."""
    subjects: Mapping[str, float] = field(factory=dict)
    """BM25 over the subjects of their commits, as a share of what is possible, by path."""

    def chunks(self) -> list[int]:
        """All that was found, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.found.values())))

    def legs_of(self, chunk: int) -> set[str]:
        """The legs that found the chunk."""
        return {leg for leg, found in self.found.items() if chunk in found}


@define
class Legs:
    """Runs legs over several indexes. A leg that fails is left out; the others still answer."""

    readers: Sequence[IndexReader]
    only: ChunkFilter
    settings: SearchSettings
    cancelled: Callable[[], bool]
    pools: list[Pool] = field(init=False)
    """What was found, by index, in the order of `readers`."""
    timings: dict[str, float] = field(factory=dict, init=False)
    """Milliseconds by leg."""
    problems: list[CairnError] = field(factory=list, init=False)
    without_vectors: bool = field(default=False, init=False)
    """Whether meaning was to be compared and could not be."""
    broken_off: list[str] = field(factory=list, init=False)
    """Legs whose time was over before they had looked everywhere."""

    def __attrs_post_init__(self) -> None:
        self.pools = [Pool() for _ in self.readers]

    def by_name(self, query: Query) -> None:
        """The definitions of what is asked for by name."""
        if self._takes(Leg.NAMES):
            self._run(
                "symbol", lambda index, pool, _: self._add(pool, "symbol", self._defining(index, query))
            )

    @property
    def is_defined(self) -> bool:
        """Whether `by_name` found a definition of the very name, in whatever case."""
        return any(score > _RESPELLED for pool in self.pools for score in pool.found["symbol"].values())

    def by_words(self, query: Query) -> None:
        """Keywords in chunks, in paths and in the subjects of commits."""
        self.by_keywords(query)
        if self._takes(Leg.FILES):
            self._run("file", lambda index, pool, until: self._files(index, pool, query, until))

    def by_keywords(self, query: Query) -> None:
        """Keywords in chunks alone."""
        if self._takes(Leg.KEYWORDS):
            self._run("keyword", lambda index, pool, until: self._keywords(index, pool, query, until))

    def _keywords(self, index: IndexReader, pool: Pool, query: Query, until: Until) -> None:
        plan = self._plan(index, query, "chunks_fts", self.settings.keyword_rows, until)
        hits = index.keywords(plan.match, KEYWORD_WEIGHTS, self.settings.candidates, self.only, until)
        self._add(pool, "keyword", hits)
        pool.found["definition"].update((hit.chunk_id, hit.names) for hit in hits if hit.names > 0)
        for word in plan.telling:
            held = chunks_holding(index, word.expression, until)
            stems = (stem(part) for one in query.groups[word.group] for part in one.split())
            pool.words.append(HeldWord(frozenset(stems), word.weight, held))

    def _files(self, index: IndexReader, pool: Pool, query: Query, until: Until) -> None:
        plan = self._plan(index, query, "subjects_fts", _SUBJECT_ROWS, until)
        found_by = files_by_subjects(index, plan.match, until)
        pool.subjects = {path: score / (plan.possible or 1.0) for path, score in found_by.items()}
        pool.named = frozenset(files_at(index, query.paths, _MAX_FILES, until))
        by_path = self._plan(index, query, "paths_fts", _SUBJECT_ROWS, until)
        found = [
            *sorted(pool.named),
            *files_by_path(index, by_path.match, _MAX_FILES, until),
            *best_by_file(pool.subjects, _MAX_FILES),
        ]
        pool.files = dict.fromkeys(found)

    def _plan(self, index: IndexReader, query: Query, table: str, rows: int, until: Until) -> Plan:
        def count(words: Sequence[str]) -> KeywordCounts:
            counted = index.read(lambda db: keyword_counts(index, db, table, words, rows + 1), until)
            return counted or KeywordCounts()

        return plan_keywords(query, count, rows)

    def _defining(self, index: IndexReader, query: Query) -> list[Hit]:
        found: dict[int, float] = {}
        spellings = (
            (query.respelled, _RESPELLED),
            ([sigil + name for name in query.names for sigil in _SIGILS], _SIGILLED),
            (query.names, 1.0),
        )
        for names, share in spellings:
            for hit in index.defining(names, _MAX_SYMBOLS, self.only) if names else ():
                found[hit.chunk_id] = max(share * hit.score, found.get(hit.chunk_id, 0.0))
        return [Hit(chunk, score) for chunk, score in found.items()]

    def by_text(self, query: Query, *, case: bool = False, word: bool = False) -> None:
        """The query's literals as they are written. What other legs found is looked at first: it stands high anyway.

        `case` and `word`: whether upper and lower case must be the same, and whether a literal may not be part of a
        longer word; then the whole query is one, where it quotes none.
        """
        if not self._takes(Leg.EXACT):
            return
        wanted = _literals(query, case or word) or self._undefined_name(query)

        def find(index: IndexReader, pool: Pool, until: Until) -> None:
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
                    first=pool.chunks(),
                )
                for hit in found.hits:
                    scores[hit.chunk_id] += hit.score / len(wanted)
            self._add(pool, "exact", [Hit(chunk, score) for chunk, score in scores.items()])

        if wanted:
            self._run("exact", find)

    def by_reexports(self, query: Query) -> None:
        """What hands the name on that is asked for, where nothing is called so: its definition is elsewhere."""
        if not query.is_symbol or self.is_defined or not self._takes(Leg.EXACT):
            return

        def find(index: IndexReader, pool: Pool, until: Until) -> None:
            for name in query.names:
                held = index.containing(
                    name,
                    case=True,
                    word=True,
                    limit=_MAX_SYMBOLS,
                    only=self.only,
                    cancelled=self.cancelled,
                    deadline_ms=until.ms_left,
                )
                for chunk_id, stored in index.chunks([hit.chunk_id for hit in held.hits]).items():
                    if hands_on(name, stored.path, stored.chunk.text):
                        pool.found["reexport"][chunk_id] = 1.0

        self._run("reexport", find)

    def _undefined_name(self, query: Query) -> tuple[str, ...]:
        """The query, where it is one name or piece of code that nothing is called: it may be part of a name.

        A plain word is one only where it stands nowhere as a word.
        """
        name = query.text.strip().removesuffix("()")
        found = {leg for pool in self.pools for leg, chunks in pool.found.items() if chunks}
        is_one = len(name) > 1 and not re.search(r"\s", name) and not query.paths
        is_plain = name.isalpha() and name[1:].islower()
        return (name,) if is_one and not found & {"symbol", *(("keyword",) if is_plain else ())} else ()

    def by_meaning(self, query: Query, meaning: Meaning, vector: QueryVector | None) -> QueryVector:
        """The nearest chunks to the question; its vector, which `vector` is where the caller has it already."""
        if self.cancelled():  # a model's call cannot be broken off
            raise QueryCancelledError("The request was cancelled.")
        began = time.perf_counter()
        asked = vector or meaning.vectors([query.meant])[0]
        self.timings["embed"] = (time.perf_counter() - began) * 1000
        # Static vectors find without comparing: the model's are compared with all that was found, whichever leg did.
        finder, leg = _finder(asked)
        limit = self.settings.neighbours
        self._run(
            "similarity",
            lambda index, pool, until: self._add(pool, leg, finder.nearest(index, limit, self.only, until)),
        )
        return asked

    def compare(self, asked: QueryVector) -> None:
        """The similarity of all that was found and has none yet."""

        def find(index: IndexReader, pool: Pool, _: Until) -> None:
            known = pool.found["similarity"]
            unknown = [chunk for chunk in pool.chunks() if chunk not in known]
            pool.found["compared"].update(asked.similarities(index, unknown))

        self._run("compared", find)

    def merge(self, other: Legs) -> None:
        """Add the chunks that `other` found, which looked in the same indexes."""
        for pool, theirs in zip(self.pools, other.pools, strict=True):
            for leg, found in theirs.found.items():
                pool.found[leg].update(found)
        self.timings |= other.timings
        self.problems += other.problems
        self.broken_off += other.broken_off
        self.without_vectors |= other.without_vectors

    def _takes(self, leg: Leg) -> bool:
        return leg in self.settings.legs

    @staticmethod
    def _add(pool: Pool, leg: str, hits: Iterable[Hit]) -> None:
        pool.found[leg].update((hit.chunk_id, hit.score) for hit in hits)

    def _run(self, leg: str, find: Callable[[IndexReader, Pool, Until], None]) -> None:
        started = time.perf_counter()
        until = Until(self.cancelled, self.settings.leg_deadline_ms)
        for reader, pool in zip(self.readers, self.pools, strict=True):
            try:
                find(reader, pool, until)
            except QueryCancelledError:
                raise
            except OutOfTimeError:
                continue
            except CairnError as problem:
                logger.warning("the %s leg failed: %s", leg, problem)
                self.problems.append(problem)
                self.without_vectors |= leg in _OF_MEANING
        self.timings[leg] = (time.perf_counter() - started) * 1000
        if until.is_over:
            logger.info("the %s leg was broken off after %.0f ms", leg, self.timings[leg])
            self.broken_off.append(leg)
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")


def _finder(asked: QueryVector) -> tuple[QueryVector, str]:
    """What finds the nearest chunks to `asked`, and the leg that it is."""
    if isinstance(asked, ModelVector) and asked.static is not None:
        return asked.static, "static"
    return asked, "similarity"


side_by_side = ThreadPoolExecutor(max_workers=4, thread_name_prefix="cairn-leg")
"""Threads for legs beside the one that asks; each keeps a connection to every index that it reads."""
comparing = ThreadPoolExecutor(max_workers=4, thread_name_prefix="cairn-meaning")
"""Threads of their own for the leg of meaning: one that hangs in the model must not hold up the others."""


def run_legs(
    legs: Legs,
    query: Query,
    meaning: Meaning | None,
    *,
    vector: QueryVector | None = None,
    case: bool = False,
    word: bool = False,
) -> QueryVector | None:
    """Run all legs that `query` asks for; its vector, where it is compared by meaning."""
    asking: Future[QueryVector] | None = None
    beside = Legs(legs.readers, legs.only, legs.settings, legs.cancelled)
    if query.alpha < 1:
        legs.by_name(query)
    if (
        meaning is not None
        and query.alpha > 0
        and query.terms
        and not (is_identifier(query) and legs.is_defined)
    ):
        asking = comparing.submit(beside.by_meaning, query, meaning, vector)
    if query.alpha < 1:
        legs.by_words(query)
        legs.by_text(query, case=case, word=word)
        legs.by_reexports(query)
    if asking is None:
        return None
    found = wait_for_meaning(asking, legs)
    if found is not None:
        legs.merge(beside)
    return found


def wait_for_meaning(asking: Future[T], legs: Legs) -> T | None:
    """What the leg of meaning found, once it has; None where it failed or takes too long, which `legs` then knows.

    Raises QueryCancelledError where the request was cancelled.
    """
    longest = max(_LONGEST_MEANING_MS, legs.settings.leg_deadline_ms)
    try:
        return asking.result(timeout=longest / 1000)
    except QueryCancelledError:
        raise
    except TimeoutError:
        asking.cancel()
        problem: CairnError = OutOfTimeError(f"Comparing by meaning took more than {longest:,.0f} ms.")
    except CairnError as failure:
        problem = failure
    logger.warning("the question was not compared by meaning: %s", problem)
    legs.problems.append(problem)
    legs.without_vectors = True
    return None


def is_identifier(query: Query) -> bool:
    """Whether the question is one name that is no plain word.

    Where it is defined, vectors change nothing: symbol queries have the same NDCG@10 without them (0.991, 0.957 in
    checkouts, 0.997 in other repositories).
    """
    name = query.text.strip()
    return query.is_symbol and not (name.isalpha() and name[1:].islower())


def _literals(query: Query, all_of_it: bool) -> tuple[str, ...]:
    """What is to be found as it is written; with `all_of_it`, the lines of the whole query where nothing is quoted."""
    if all_of_it:
        lines = (line.strip() for line in query.text.splitlines())
        return (query.quotes or tuple(filter(None, lines)))[:_MAX_LITERALS]
    return (query.literals or query.phrases)[:_MAX_LITERALS]
