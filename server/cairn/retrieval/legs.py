"""Run the legs of a query over all indexes. A leg is one way to find chunks or files, such as by keywords."""

from __future__ import annotations

import logging
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain

import numpy as np
from attrs import define, field

from cairn.errors import CairnError, OutOfTimeError, PartUnavailableError, QueryCancelledError
from cairn.index.queries.file_queries import (
    best_by_file,
    files_at,
    files_by_path,
    files_by_subjects,
    introducing_files,
)
from cairn.index.queries.found_words import find_words, passing_chunks, with_one_idf
from cairn.index.reader.exact import ExactMatches, Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import Ids
from cairn.index.sqlite.word_memory import count_rows
from cairn.index.store.deadline import Deadline, check_end, ended_by, query_end
from cairn.retrieval.anchors import named_definitions, named_files
from cairn.retrieval.candidates import Pool, QueryWord
from cairn.retrieval.introductions import subject_of
from cairn.retrieval.keyword_plan import KeywordPlan, plan_keywords
from cairn.retrieval.meaning import QueryVector
from cairn.retrieval.mentions import MAX_LITERAL_CHARS
from cairn.retrieval.query import Query, is_plain_word
from cairn.settings.tree import Leg, SearchSettings
from cairn.text.words import stem
from cairn.workspace.collections import MANIFESTS

logger = logging.getLogger(__name__)

_MAX_SYMBOLS = 50
"""The maximum number of chunks that one spelling of a name adds. A name with more definitions says little."""
_MAX_LITERALS = 4
"""The maximum number of quoted texts to search for. Each search scans the whole index."""
_RARE = 10
_MAX_FIRST_LOOKS = 300
"""The maximum number of other legs' chunks that are searched first for a literal. Reading one takes 30 µs."""
_MAX_FILES = 40
"""The maximum number of whole files that are found by path in an index, and as many by commit."""
_MAX_INTRODUCING = 4
"""The maximum number of READMEs and manifests that become candidates for every overview."""
_SUBJECT_ROWS = 4_000
"""The maximum number of files whose commit subjects are scored. The budget for chunks is higher."""
_RESPELLED = 0.5
"""The score of a name in another convention, which users seldom mean. One in another case scores 0.9."""
_NOT_IN_OWNER = 0.25
"""The factor for definitions outside the type or module named in the query, if that defines the name too."""
_LEAST_CALLED, _MAX_CALLED = 0.5, 40
"""The minimum share of a query's words in names, and the maximum number of chunks found by such names."""
_SIGILS = ("$", "@", "_", "#")
"""Marks that some languages put before a name. Users often leave them out."""
_SIGILLED = 0.9

_REEXPORTS = (
    r"^[ \t]*pub(?:\([^)]*\))?\s+use\s[^;]*\b{name}\b",  # Rust
    r"^[ \t]*export\s+(?:type\s+)?\{{[^}}]*\b{name}\b[^}}]*\}}",  # JavaScript, TypeScript
    r"^[ \t]*using\s+[\w:]*::{name}\s*;",  # C++
)
_PYTHON_REEXPORT = r"^from\s+\S+\s+import\s+(?:\([^)]*|[^\n(]*)\b{name}\b"

_MEANING_LEGS = frozenset({"similarity", "compared"})


@define
class Legs:
    """Runs the legs of one query over several indexes. If a leg fails in one, it continues in the others."""

    readers: Sequence[IndexReader]
    query: Query
    only: ChunkFilter
    settings: SearchSettings
    pools: list[Pool] = field(init=False)
    timings: dict[str, float] = field(factory=dict, init=False)
    """Milliseconds by leg."""
    problems: list[CairnError] = field(factory=list, init=False)
    without_vectors: bool = field(default=False, init=False)
    """Whether the query should have been compared by meaning, but this failed."""
    required: tuple[str, ...] = field(default=(), init=False)
    """The texts that each result of a search should contain."""
    broken_off: list[str] = field(factory=list, init=False)
    """The legs that ran out of time before they had searched everything."""

    def __attrs_post_init__(self) -> None:
        self.pools = [Pool() for _ in self.readers]

    def empty_copy(self) -> Legs:
        """Return legs of the same query without results, for use in another thread."""
        return Legs(self.readers, self.query, self.only, self.settings)

    @property
    def found_anything(self) -> bool:
        return any(pool.chunks() for pool in self.pools)

    def found(self, leg: str) -> list[Mapping[int, float]]:
        return [pool.found.get(leg, {}) for pool in self.pools]

    @property
    def is_defined(self) -> bool:
        """Whether `by_name` found a definition of the name itself, in any case."""
        return any(score > _RESPELLED for found in self.found("symbol") for score in found.values())

    def by_name(self) -> None:
        query = self.query
        spellings = (
            (query.respelled, _RESPELLED),
            ([sigil + name for name in query.names for sigil in _SIGILS], _SIGILLED),
            (query.names, 1.0),
        )
        for reader, pool, leg in self._run("symbol", Leg.NAMES):
            with leg:
                found = pool.found["symbol"]
                for names, share in spellings:
                    for hit in reader.defining(names, _MAX_SYMBOLS, self.only) if names else ():
                        found[hit.chunk_id] = max(share * hit.score, found.get(hit.chunk_id, 0.0))
                named = [name for name in query.names if name != query.owner]
                if query.owner and (own := reader.members(query.owner, named, _MAX_SYMBOLS, self.only)):
                    found.update({chunk: _NOT_IN_OWNER * score for chunk, score in found.items()})
                    pool.add("symbol", (hit for hit in own if hit.score == own[0].score))

    def by_report(self) -> None:
        report = self.query.report
        if report is None:
            return
        for reader, pool, leg in self._run("named", Leg.NAMES):
            with leg:
                pool.found["named"] = named_definitions(reader, report, self.only)

    def by_keywords(self, *, patiently: bool = False) -> None:
        """Find chunks by keywords. With `patiently`, there is no deadline."""
        query = self.query
        others = (spelling for spelling in query.spellings if (spelling,) not in query.groups)
        words = [*query.groups, *((spelling,) for spelling in others)]
        weights = [query.weights.get(word[0], 1.0) for word in words] if query.weights else ()
        passing: dict[int, Ids | None] = {}
        for place, (reader, pool, leg) in enumerate(self._run("keyword", Leg.KEYWORDS, patiently=patiently)):
            with leg:
                pool.keywords = find_words(reader, words, self.settings.keyword_rows, weights)
                passing[place] = passing_chunks(reader, self.only)
        with self.timed("keyword"):
            if len(passing) > 1:
                with_idf = with_one_idf([each.keywords for each in self.pools])
                for pool, found in zip(self.pools, with_idf, strict=True):
                    pool.keywords = found
            for place, allowed in passing.items():
                pool = self.pools[place]
                best = pool.keywords.best(self.settings.candidates, allowed)
                scores = pool.keywords.scores(best)
                pool.found["keyword"] = dict(zip(best.tolist(), scores.tolist(), strict=True))
                for word in pool.keywords.words:
                    if word.place < len(query.groups):
                        stems = (stem(part) for one in words[word.place] for part in one.split())
                        pool.words.append(QueryWord(frozenset(stems), word.idf, word.postings))
                if query.is_short:
                    pool.found["called"] = _called(pool, allowed)

    def by_files(self) -> None:
        """Find files by keywords in paths and commit subjects, and by paths that the query contains."""
        for reader, pool, leg in self._run("file", Leg.FILES):
            with leg:
                subjects = self._plan(reader, "subjects_fts", absent=False)
                paths = self._plan(reader, "paths_fts", absent=reader.has_unsaved)
                by_subject = files_by_subjects(reader, subjects.match)
                possible = subjects.possible or 1.0
                pool.subjects = {path: score / possible for path, score in by_subject.items()}
                if report := self.query.report:
                    pool.named = named_files(reader, report)
                else:
                    at = files_at(reader, self.query.paths, _MAX_FILES)
                    pool.named = dict.fromkeys(at, 1.0)
                by_path = files_by_path(reader, paths.match, _MAX_FILES)
                files = [*sorted(pool.named), *by_path, *best_by_file(pool.subjects, _MAX_FILES)]
                if subject_of(self.query.wording):
                    files += introducing_files(reader, MANIFESTS, _MAX_INTRODUCING)
                pool.files = dict.fromkeys(files)

    def _plan(self, reader: IndexReader, table: str, *, absent: bool) -> KeywordPlan:
        count = partial(count_rows, reader, table, bound=_SUBJECT_ROWS + 1)
        return plan_keywords(self.query, count, _SUBJECT_ROWS, absent=absent)

    def by_text(self, *, case: bool = False, word: bool = False) -> None:
        """Find the query's literals verbatim. The chunks that other legs found are searched first, because
        they rank high anyway. `case` respects upper and lower case, and `word` requires whole words. With
        either, the whole query is a literal unless it contains quotes. `Pool.containing` gets the chunks with
        the texts that `restrict` requires."""
        wanted = literals(self.query, all_of_it=case or word) or self._undefined_name()
        name = "" if wanted else self._defined_name()
        quotes = [text for text in self.query.required if len(text) <= MAX_LITERAL_CHARS]
        required = self.required = wanted if case or word else tuple(quotes[:_MAX_LITERALS])
        # The longest text is likely the rarest. The others are then searched for around it.
        longest_first = sorted(required, key=len, reverse=True)
        texts = (name,) if name else tuple(dict.fromkeys((*longest_first, *wanted)))
        if not texts:
            return
        most = self.settings.candidates
        for reader, pool, leg in self._run("exact", Leg.EXACT):
            with leg:
                scores: dict[int, float] = defaultdict(float)
                containing: list[ExactMatches] = []
                for text in texts:
                    literal, first = Literal(text, case, word or bool(name)), pool.chunks()[:_MAX_FIRST_LOOKS]
                    if containing:
                        first += self._chunks_around(reader, containing[0])
                    matches = reader.containing(literal, most, self.only, leg.deadline, first)
                    if name or text in required:
                        containing.append(matches)
                    # A fragment of a message that occurs in many places says little.
                    share = 1 / math.sqrt(len(matches.hits) or 1) if self.query.report else 1.0
                    counted = share / len(wanted) if text in wanted else 0.0
                    for hit in () if name else matches.hits:
                        scores[hit.chunk_id] += counted * hit.score
                pool.found["exact"].update(scores)
                if containing:
                    pool.containing = _together(reader, containing)
                if name:
                    pool.containing = {*pool.found["symbol"], *(pool.containing or ())}

    def _defined_name(self) -> str:
        """Return the name that the indexes define and that every result should contain, or ""."""
        query = self.query
        is_name = query.is_identifier and self.is_defined and not query.for_evidence
        return next(iter(query.names[-1:]), "") if is_name else ""

    def _chunks_around(self, reader: IndexReader, matches: ExactMatches) -> list[int]:
        """Return the chunks of the files that contain a text, which may contain another text as well."""
        outlines = reader.outlines([hit.chunk_id for hit in matches.hits]).values()
        every = reader.chunk_ids({outline.path for outline in outlines}).values()
        ids, allowed = list(chain.from_iterable(every)), passing_chunks(reader, self.only)
        return ids if allowed is None else np.intersect1d(ids, allowed).tolist()

    def restrict(self) -> None:
        """Drop the chunks without the required texts, if other chunks contain these."""
        if self.query.for_evidence or not any(pool.containing for pool in self.pools):
            return
        for pool in self.pools:
            pool.keep(pool.containing or set())

    @property
    def remark(self) -> str:
        """What to tell the user if no chunk contains the required texts."""
        searched = [pool.containing for pool in self.pools if pool.containing is not None]
        if not searched or any(searched) or "exact" in self.broken_off:
            return ""
        quotes = " and ".join(f"“{text}”" for text in self.required)
        return f"No searched file contains {quotes}. The results only match parts of it."

    def _undefined_name(self) -> tuple[str, ...]:
        """Return the query if it is an undefined name or a piece of code, which may be part of a longer name.
        A plain word that occurs often or has alternatives is a topic instead, and gives ()."""
        name = self.query.typed.removesuffix("()")
        if not self.query.is_one_text or self.is_defined:
            return ()
        occurrences = sum(map(len, self.found("keyword")))
        has_other_meanings = self.query.normalized != name.lower() or self.query.alternatives
        is_topic = occurrences > _RARE or (occurrences and has_other_meanings)
        return () if is_topic and is_plain_word(name) else (name,)

    def by_reexports(self) -> None:
        """Find the re-exports of a name that the indexes do not define."""
        if not self.query.is_symbol or self.is_defined:
            return
        for reader, pool, leg in self._run("reexport", Leg.EXACT):
            with leg:
                for name in self.query.names:
                    literal = Literal(name, case=True, word=True)
                    hits = reader.containing(literal, _MAX_SYMBOLS, self.only, leg.deadline).hits
                    for chunk_id, stored in reader.chunks([hit.chunk_id for hit in hits]).items():
                        if reexports(name, stored.path, stored.chunk.text):
                            pool.found["reexport"][chunk_id] = 1.0

    def by_meaning(self, vector: QueryVector) -> None:
        for reader, pool, leg in self._run("similarity"):
            with leg:
                hits = reader.nearest_static(vector, self.settings.neighbours, self.only)
                pool.add("similarity", hits)

    def compare(self, every: Sequence[Legs], vectors: Sequence[QueryVector]) -> None:
        """Compute the similarity of all chunks in these pools to each query, for its legs in `every`."""
        for place, (reader, pool, leg) in enumerate(self._run("compared")):
            with leg:
                ids = pool.chunks()
                for legs, vector in zip(every, vectors, strict=True):
                    legs.pools[place].found["compared"].update(reader.static_similarities(ids, vector))

    def merge(self, other: Legs, *, leg: str = "") -> None:
        """Add the results of `other`, which has the same indexes. With `leg`, all get this name."""
        for pool, theirs in zip(self.pools, other.pools, strict=True):
            for name, found in theirs.found.items():
                pool.found[leg or name].update(found)
        self.timings = other.timings | self.timings
        self.problems += other.problems
        self.broken_off += other.broken_off
        self.without_vectors |= other.without_vectors

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.timings[step] = self.timings.get(step, 0.0) + (time.perf_counter() - began) * 1000

    def failed(self, problem: CairnError, leg: str) -> None:
        logger.warning("the %s leg failed: %s", leg, problem)
        self.problems.append(problem)
        self.without_vectors |= leg in _MEANING_LEGS

    def _run(
        self, name: str, setting: Leg | None = None, *, patiently: bool = False
    ) -> Iterator[tuple[IndexReader, Pool, _RunningLeg]]:
        """Yield each index with its pool and a context, or nothing if the settings exclude the leg."""
        if setting is not None and setting not in self.settings.legs:
            return
        longest_ms = math.inf if patiently else self.settings.leg_deadline_ms
        leg = _RunningLeg(self, name, Deadline(query_end(), longest_ms))
        with self.timed(name):
            for reader, pool in zip(self.readers, self.pools, strict=True):
                yield reader, pool, leg
        if leg.deadline.is_over:
            logger.info("the %s leg was broken off after %.0f ms", name, self.timings[name])
            self.broken_off.append(name)
        check_end()


def _called(pool: Pool, allowed: Ids | None) -> dict[int, float]:
    """Return the chunks whose definitions or headings are called by most of the query's words, each with the
    share of the words, weighted by inverse document frequency."""
    possible = sum(word.idf for word in pool.words)
    if not possible:
        return {}
    named = [word.postings.ids[word.postings.names > 0] for word in pool.words]
    ids, places = np.unique(np.concatenate(named).astype(np.int64), return_inverse=True)
    weights = np.repeat([word.idf / possible for word in pool.words], list(map(len, named)))
    shares = np.bincount(places, weights, len(ids))
    is_found = (shares >= _LEAST_CALLED) & ~np.isin(ids, pool.keywords.hidden)
    if allowed is not None:
        is_found &= np.isin(ids, allowed)
    ids, shares = ids[is_found], shares[is_found]
    best = np.lexsort((-pool.keywords.scores_by_names(ids), -np.round(shares, 3)))[:_MAX_CALLED]
    return dict(zip(ids[best].tolist(), shares[best].tolist(), strict=True))


@define
class _RunningLeg:
    """A context in which a leg searches one index until its deadline. It records a failure, so that the
    others are still searched. If the whole server is unavailable, the error passes through."""

    legs: Legs
    name: str
    deadline: Deadline
    _limit: AbstractContextManager[None] = field(init=False)

    def __enter__(self) -> None:
        self._limit = ended_by(self.deadline)
        self._limit.__enter__()

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> bool:
        self._limit.__exit__(None, None, None)
        if isinstance(problem, PartUnavailableError | QueryCancelledError):
            return False
        if isinstance(problem, CairnError) and not isinstance(problem, OutOfTimeError):
            self.legs.failed(problem, self.name)
        return isinstance(problem, CairnError)


def literals(query: Query, *, all_of_it: bool) -> tuple[str, ...]:
    """Return the texts to find verbatim. With `all_of_it`, these are the lines of a query without quotes."""
    if all_of_it:
        lines = (line.strip() for line in query.text.splitlines())
        return (query.quotes or tuple(filter(None, lines)))[:_MAX_LITERALS]
    # Options in a report are only keywords: a verbatim search for five took 250 ms in 30,000 chunks.
    phrases = () if query.report else query.phrases
    return (query.literals or phrases)[:_MAX_LITERALS]


def _together(reader: IndexReader, containing: Sequence[ExactMatches]) -> set[int] | None:
    """Return the chunks that contain any of several texts, in the files that contain all of them; None if
    some occurrences of the texts are unknown and no file is known to contain all."""
    columns = reader.columns()
    chunks = [np.array([hit.chunk_id for hit in each.hits], np.int64) for each in containing]
    files = [columns.files_of(of_text).tolist() for of_text in chunks]
    shared = set(files[0]).intersection(*files[1:])
    if not shared and any(each.cut for each in containing):
        return None
    pairs = zip(np.concatenate(chunks).tolist(), chain.from_iterable(files), strict=True)
    return {chunk for chunk, file in pairs if file in shared}


def reexports(name: str, path: str, text: str) -> bool:
    forms = (*_REEXPORTS, _PYTHON_REEXPORT) if path.endswith("__init__.py") else _REEXPORTS
    return any(re.search(form.format(name=re.escape(name)), text, re.MULTILINE) for form in forms)
