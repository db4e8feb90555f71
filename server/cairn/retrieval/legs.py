"""The search legs of one question: each finds chunks or files in its own way, and what they find is pooled by index."""

from __future__ import annotations

import logging
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from attrs import define, field, frozen

from cairn.errors import CairnError, OutOfTimeError, PartUnavailableError, QueryCancelledError
from cairn.index.queries.files import (
    best_by_file,
    files_at,
    files_by_path,
    files_by_subjects,
    introducing_files,
)
from cairn.index.queries.words import find_words, passing_chunks, with_one_idf
from cairn.index.reader.arrays import Ids
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.row_counts import count_rows
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.text.literals import Literal
from cairn.retrieval.introductions import subject_of
from cairn.retrieval.keyword_plan import KeywordPlan, plan_keywords
from cairn.retrieval.meaning import QueryVector, finder, similarities
from cairn.retrieval.pools import HeldWord, Pool
from cairn.retrieval.query import Query
from cairn.retrieval.reports.anchors import named_definitions, named_files
from cairn.settings.tree import Leg, SearchSettings
from cairn.text.words import stem
from cairn.workspace.collections import MANIFESTS

logger = logging.getLogger(__name__)

_MAX_SYMBOLS = 50
"""Chunks that one spelling of a name may contribute; a name defined more often says little."""
_MAX_LITERALS = 4
"""Quoted texts that are looked for; each takes a look at the whole index."""
_RARE = 10
"""Chunks that a rare word stands in at most."""
_LOOKED_AT = 300
"""Chunks that other legs found in which each is looked for first: reading one takes 30 µs."""
_MAX_FILES = 40
"""Files that may be found as wholes, by their paths and by their commits each."""
_MAX_INTRODUCING = 4
"""READMEs, and manifests, that compete wherever an overview is asked for, though a name stands in thousands of files."""
_SUBJECT_ROWS = 4_000
"""Files whose commits' subjects are scored: a third of the chunks, for there are fewer files than chunks."""
_RESPELLED = 0.5
"""What the name counts in another convention: `from_request` is seldom what `FromRequest` asks for. In another case, 0.9."""
_OF_OTHERS = 0.25
"""What a definition of the name counts that is not of the type or module that was named with it, where that has one."""
_SIGILS = ("$", "@", "_", "#")
"""Marks that some languages write before a name, and nobody asks for."""
_SIGILLED = 0.9
"""What the name counts with a sigil: as much as in another case."""

_REEXPORTS = (
    r"^[ \t]*pub(?:\([^)]*\))?\s+use\s[^;]*\b{name}\b",  # Rust
    r"^[ \t]*export\s+(?:type\s+)?\{{[^}}]*\b{name}\b[^}}]*\}}",  # JavaScript, TypeScript
    r"^[ \t]*using\s+[\w:]*::{name}\s*;",  # C++
)
_FROM_A_PACKAGE = r"^from\s+\S+\s+import\s+(?:\([^)]*|[^\n(]*)\b{name}\b"
"""Python, in what a package is imported by."""

_OF_MEANING = frozenset({"similarity", "compared"})


@define
class Legs:
    """Runs the legs of one question over several indexes. A leg that fails in an index is left out; the others still answer."""

    readers: Sequence[IndexReader]
    query: Query
    only: ChunkFilter
    settings: SearchSettings
    cancelled: Cancelled
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

    def beside(self) -> Legs:
        """Legs of the same question with nothing found yet, for another thread."""
        return Legs(self.readers, self.query, self.only, self.settings, self.cancelled)

    @property
    def found_anything(self) -> bool:
        """Whether any leg did, in any index."""
        return any(pool.chunks() for pool in self.pools)

    def found(self, leg: str) -> list[Mapping[int, float]]:
        """What the leg says of each chunk that it found, by index."""
        return [pool.found.get(leg, {}) for pool in self.pools]

    @property
    def is_defined(self) -> bool:
        """Whether `by_name` found a definition of the very name, in whatever case."""
        return any(score > _RESPELLED for found in self.found("symbol") for score in found.values())

    def by_name(self) -> None:
        """The definitions of what is asked for by name."""
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
                    found.update({chunk: _OF_OTHERS * score for chunk, score in found.items()})
                    pool.add("symbol", (hit for hit in own if hit.score == own[0].score))

    def by_report(self) -> None:
        """The definitions of the names in a report."""
        report = self.query.report
        if report is None:
            return
        for reader, pool, leg in self._run("named", Leg.NAMES):
            with leg:
                pool.found["named"] = named_definitions(reader, report, self.only, leg.deadline)

    def by_keywords(self, *, patiently: bool = False) -> None:
        """Keywords in chunks; `patiently`, for however long it takes."""
        query = self.query
        others = (spelling for spelling in query.spellings if (spelling,) not in query.groups)
        words = [*query.groups, *((spelling,) for spelling in others)]
        weights = [query.weights.get(word[0], 1.0) for word in words] if query.weights else ()
        passing: dict[int, Ids | None] = {}
        for place, (reader, pool, leg) in enumerate(self._run("keyword", Leg.KEYWORDS, patiently=patiently)):
            with leg:
                pool.keywords = find_words(reader, words, self.settings.keyword_rows, leg.deadline, weights)
                passing[place] = passing_chunks(reader, self.only, leg.deadline)
        began = time.perf_counter()
        if len(passing) > 1:
            for pool, found in zip(
                self.pools, with_one_idf([each.keywords for each in self.pools]), strict=True
            ):
                pool.keywords = found
        for place, allowed in passing.items():
            pool = self.pools[place]
            best = pool.keywords.best(self.settings.candidates, allowed)
            scores = pool.keywords.scores(best)
            pool.found["keyword"] = dict(zip(best.tolist(), scores.tolist(), strict=True))
            for word in pool.keywords.words:
                if word.place < len(query.groups):
                    stems = (stem(part) for one in words[word.place] for part in one.split())
                    pool.words.append(HeldWord(frozenset(stems), word.idf, word.held))
        self.add_time("keyword", began)

    def by_files(self) -> None:
        """Keywords in paths and in the subjects of commits, and the paths that the question names."""
        for reader, pool, leg in self._run("file", Leg.FILES):
            with leg:
                subjects = self._plan(reader, "subjects_fts", leg.deadline, absent=False)
                paths = self._plan(reader, "paths_fts", leg.deadline, absent=reader.has_unsaved)
                by_subject = files_by_subjects(reader, subjects.match, leg.deadline)
                pool.subjects = {
                    path: score / (subjects.possible or 1.0) for path, score in by_subject.items()
                }
                if report := self.query.report:
                    pool.named = named_files(reader, report, leg.deadline)
                else:
                    at = files_at(reader, self.query.paths, _MAX_FILES, leg.deadline)
                    pool.named = dict.fromkeys(at, 1.0)
                by_path = files_by_path(reader, paths.match, _MAX_FILES, leg.deadline)
                introducing = (
                    introducing_files(reader, MANIFESTS, _MAX_INTRODUCING, leg.deadline)
                    if subject_of(self.query.wording)
                    else ()
                )
                pool.files = dict.fromkeys(
                    [*sorted(pool.named), *by_path, *best_by_file(pool.subjects, _MAX_FILES), *introducing]
                )

    def _plan(self, reader: IndexReader, table: str, deadline: Deadline, *, absent: bool) -> KeywordPlan:
        count = partial(count_rows, reader, table, bound=_SUBJECT_ROWS + 1, cancelled=deadline)
        return plan_keywords(self.query, count, _SUBJECT_ROWS, absent=absent)

    def by_text(self, *, case: bool = False, word: bool = False) -> None:
        """The query's literals as they are written. What other legs found is looked at first: it stands high anyway.

        `case` and `word`: whether upper and lower case must be the same, and whether a literal may not be part of a
        longer word; then the whole query is one, where it quotes none.
        """
        wanted = literals(self.query, all_of_it=case or word) or self._undefined_name()
        if not wanted:
            return
        for reader, pool, leg in self._run("exact", Leg.EXACT):
            with leg:
                scores: dict[int, float] = defaultdict(float)
                for literal in wanted:
                    asked = Literal(literal, case, word)
                    hits = reader.containing(
                        asked,
                        self.settings.candidates,
                        self.only,
                        leg.deadline,
                        pool.chunks()[:_LOOKED_AT],
                    ).hits
                    # A message's fragment that stands in many places tells little.
                    share = 1 / math.sqrt(len(hits) or 1) if self.query.report else 1.0
                    for hit in hits:
                        scores[hit.chunk_id] += share * hit.score / len(wanted)
                pool.found["exact"].update(scores)

    def _undefined_name(self) -> tuple[str, ...]:
        """The query, where it is one name or piece of code that nothing is called: it may be part of a name.

        A plain word that keywords found is one only where it is rare and stands for no other: who asks for a frequent one
        asks for what is about it.
        """
        name = self.query.text.strip().removesuffix("()")
        if not self.query.is_one_text or self.is_defined:
            return ()
        stands_in = sum(map(len, self.found("keyword")))
        means_another = self.query.normalized != name.lower() or self.query.alternatives
        is_topic = stands_in > _RARE or (stands_in and means_another)
        return () if is_topic and _is_plain_word(name) else (name,)

    def by_reexports(self) -> None:
        """What re-exports the name that is asked for, where nothing is called so: its definition is elsewhere."""
        if not self.query.is_symbol or self.is_defined:
            return
        for reader, pool, leg in self._run("reexport", Leg.EXACT):
            with leg:
                for name in self.query.names:
                    asked = Literal(name, case=True, word=True)
                    hits = reader.containing(asked, _MAX_SYMBOLS, self.only, leg.deadline).hits
                    for chunk_id, stored in reader.chunks([hit.chunk_id for hit in hits]).items():
                        if reexports(name, stored.path, stored.chunk.text):
                            pool.found["reexport"][chunk_id] = 1.0

    def by_meaning(self, vector: QueryVector) -> None:
        """The chunks nearest to the question's vector."""
        nearest, name = finder(vector)
        for reader, pool, leg in self._run("similarity"):
            with leg:
                pool.add(name, nearest.nearest(reader, self.settings.neighbours, self.only, leg.deadline))

    def compare(self, every: Sequence[Legs], vectors: Sequence[QueryVector]) -> None:
        """The similarity of all chunks that were found here to each question; `every` are the questions' legs, these first."""
        for place, (reader, pool, leg) in enumerate(self._run("compared")):
            with leg:
                ids = pool.chunks()
                for legs, cosines in zip(every, similarities(vectors, reader, ids), strict=True):
                    legs.pools[place].found["compared"].update(cosines)

    def merge(self, other: Legs, *, leg: str = "") -> None:
        """Add what `other` found in the same indexes; under the name of `leg`, where one is given."""
        for pool, theirs in zip(self.pools, other.pools, strict=True):
            for name, found in theirs.found.items():
                pool.found[leg or name].update(found)
        self.timings = other.timings | self.timings
        self.problems += other.problems
        self.broken_off += other.broken_off
        self.without_vectors |= other.without_vectors

    def add_time(self, step: str, began: float) -> None:
        """Count the time since `began`, in seconds of `time.perf_counter`, to the step."""
        self.timings[step] = self.timings.get(step, 0.0) + (time.perf_counter() - began) * 1000

    def failed(self, problem: CairnError, leg: str) -> None:
        """Keep the reason why a leg did not answer."""
        logger.warning("the %s leg failed: %s", leg, problem)
        self.problems.append(problem)
        self.without_vectors |= leg in _OF_MEANING

    def _run(
        self, name: str, setting: Leg | None = None, *, patiently: bool = False
    ) -> Iterator[tuple[IndexReader, Pool, _RunningLeg]]:
        """Each index with its pool, for one leg; none where the settings leave the leg out.

        Raises QueryCancelledError afterwards where the request was cancelled.
        """
        if setting is not None and setting not in self.settings.legs:
            return
        began = time.perf_counter()
        longest_ms = math.inf if patiently else self.settings.leg_deadline_ms
        leg = _RunningLeg(self, name, Deadline(self.cancelled, longest_ms))
        for reader, pool in zip(self.readers, self.pools, strict=True):
            yield reader, pool, leg
        self.add_time(name, began)
        if leg.deadline.is_over:
            logger.info("the %s leg was broken off after %.0f ms", name, self.timings[name])
            self.broken_off.append(name)
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """Raises QueryCancelledError where the request was cancelled."""
        if self.cancelled():
            raise QueryCancelledError("The request was cancelled.")


@frozen
class _RunningLeg:
    """One leg while it looks into indexes; as a context manager it keeps an index's failure from the others.

    But for one whose server is away: the question is asked again without it, and its answer says so.
    """

    legs: Legs
    name: str
    deadline: Deadline

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> bool:
        if isinstance(problem, PartUnavailableError | QueryCancelledError) or not isinstance(
            problem, CairnError
        ):
            return False
        if not isinstance(problem, OutOfTimeError):
            self.legs.failed(problem, self.name)
        return True


def is_identifier(query: Query) -> bool:
    """Whether the question is one name that is no plain word.

    Where it is defined, vectors change nothing: symbol queries have the same NDCG@10 without them (0.991, 0.957 in
    checkouts, 0.997 in other repositories).
    """
    return query.is_symbol and not _is_plain_word(query.text.strip())


def _is_plain_word(name: str) -> bool:
    return name.isalpha() and name[1:].islower()


def literals(query: Query, *, all_of_it: bool) -> tuple[str, ...]:
    """What is to be found as it is written; with `all_of_it`, the lines of the whole query where nothing is quoted."""
    if all_of_it:
        lines = (line.strip() for line in query.text.splitlines())
        return (query.quotes or tuple(filter(None, lines)))[:_MAX_LITERALS]
    # Options of a report are keywords: five of them took 250 ms in 30,000 chunks.
    phrases = () if query.report else query.phrases
    return (query.literals or phrases)[:_MAX_LITERALS]


def reexports(name: str, path: str, text: str) -> bool:
    """Whether `text`, of the file at `path`, re-exports `name`."""
    forms = (*_REEXPORTS, _FROM_A_PACKAGE) if path.endswith("__init__.py") else _REEXPORTS
    return any(re.search(form.format(name=re.escape(name)), text, re.MULTILINE) for form in forms)
