"""The words and the meaning of changed lines, and the files that share them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from attrs import define, frozen

from cairn.chunking.references.packed_table import words_of
from cairn.errors import OutOfTimeError
from cairn.index.queries.relations import passage_vector
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights, Hit
from cairn.text.identifiers import words_in
from cairn.text.verbatim import lines_of
from cairn.workspace.diff import FileChange

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,}")
_MOST_WORDS = 150
"""The maximum number of different identifiers of changed lines that are looked up, the most frequent ones."""
_MOST_QUERIED = 60
"""The maximum number of words of one keyword query, the rarest ones."""
_COMMON = 400
"""An identifier in more files says nothing."""
_COMMON_CHUNKS = 2_000
"""A word in more chunks, or in a quarter of all, is not queried."""
_FEW_CHUNKS = 4
"""In a small folder, a word in so many chunks is common."""
_DEFINED_OFTEN = 40
"""A name that more files define says nothing about where it is from."""
_MOST_HITS = 300
_MOST_NEAREST = 200
_MOST_VECTORS = 200
"""The maximum number of changed passages of which the mean vector is taken."""
_WEIGHTS = ColumnWeights(text=1.0, identifiers=1.0, symbol=2.0)


@define
class Limit:
    """Ends steps when the time of a request is over, and keeps what they found."""

    complete: bool = True
    """False once a step was ended."""

    @contextmanager
    def in_time(self) -> Iterator[None]:
        try:
            yield
        except OutOfTimeError:
            self.complete = False


@frozen
class Words:
    """How much of the changed lines' words a file has."""

    share: float
    """The share of their weight, 0 to 1."""
    rarest: tuple[str, ...]


@frozen(eq=False, slots=False)
class ChangedText:
    reader: IndexReader
    files: Sequence[FileChange]
    """The changed files with code."""
    names: Sequence[str]
    """The names of the changed definitions."""
    kinds: Mapping[str, str]
    """The kind of every file of the folder, by path."""
    limit: Limit

    @cached_property
    def words(self) -> Counter[str]:
        """The identifiers of the changed lines, and the names of the changed definitions."""
        found: Counter[str] = Counter()
        for file in self.files:
            for hunk in file.hunks:
                for line in (*hunk.removed, *hunk.added):
                    found.update(_IDENTIFIER.findall(line))
        found.update(name for name in self.names if len(name) > 2)
        return Counter(dict(found.most_common(_MOST_WORDS)))

    @cached_property
    def mentions(self) -> dict[str, Words]:
        """The files that use the identifiers of the changed lines."""
        mass: dict[str, float] = defaultdict(float)
        named: dict[str, list[tuple[float, str]]] = defaultdict(list)
        total = 0.0
        with self.limit.in_time():
            for word in self.words:
                rows = self.reader.symbols_with_words(words_of(word), _COMMON)
                if rows and len(rows) < _COMMON:
                    weight = math.log(max(1.0, len(self.kinds) / len(rows)))
                    total += weight
                    for _, path in rows:
                        mass[path] += weight
                        named[path].append((-weight, word))
        return {
            path: Words(value / total, tuple(word for _, word in sorted(named[path])[:3]))
            for path, value in mass.items()
            if value
        }

    @cached_property
    def defines(self) -> dict[str, Words]:
        """The files that define names of the changed lines, each name counted by how few files define it."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        with self.limit.in_time():
            for word in self.words:
                rows = self.reader.symbols_with_words([f"={each}" for each in words_of(word)], _DEFINED_OFTEN)
                for _, path in rows if len(rows) < _DEFINED_OFTEN else ():
                    found[path].append((len(rows), word))
        values = {path: sum(1 / count for count, _ in names) for path, names in found.items()}
        return {
            path: Words(value / (1 + value), tuple(word for _, word in sorted(found[path])[:3]))
            for path, value in values.items()
        }

    def by_words(self, only: ChunkFilter) -> dict[str, tuple[float, int]]:
        """Return for files that pass the BM25 score of their best chunk for the changed lines' words, where
        the best file has 1, and the id of this chunk."""
        hits: list[Hit] = []
        with self.limit.in_time():
            hits = self._by_words(only)
        top = max((hit.score for hit in hits), default=1.0)
        return self._by_file([(hit.chunk_id, hit.score / top) for hit in hits])

    def _by_words(self, only: ChunkFilter) -> list[Hit]:
        known = self.reader.word_counts(self.words, _COMMON_CHUNKS)
        most = min(_COMMON_CHUNKS, max(known.rows / 4, min(known.rows, _FEW_CHUNKS)))
        counts = {word: count for word, count in known.matching.items() if 0 < count < most}
        rare = sorted(counts, key=lambda word: (counts[word], word))
        return self.reader.keywords(rare[:_MOST_QUERIED], _WEIGHTS, _MOST_HITS, only) if rare else []

    def likeliest_passage(self, path: str) -> tuple[int, str]:
        """Return the first line of a file's passage with most of the words, and its symbol."""
        best, place = 0, (0, "")
        with self.limit.in_time():
            for stored in self.reader.page(path):
                found = self.words.keys() & set(_IDENTIFIER.findall(stored.chunk.text))
                if len(found) > best:
                    best, place = len(found), (stored.chunk.start_line, stored.chunk.symbol)
        return place

    def line_with_name(self, path: str) -> tuple[int, str] | None:
        """Return the first line of a document that names a changed definition, and the name. A plain word is
        a name only in code or before a parenthesis."""
        pattern = self._any_name
        with self.limit.in_time():
            for stored in self.reader.page(path) if pattern else ():
                for number, line in enumerate(lines_of(stored.chunk.text), stored.chunk.start_line):
                    if found := pattern.search(line) if pattern else None:
                        return number, next(filter(None, found.groups()))
        return None

    @cached_property
    def _any_name(self) -> re.Pattern[str] | None:
        names = sorted({name for name in self.names if len(name) > 3}, key=lambda name: (-len(name), name))
        compound = [re.escape(name) for name in names if len(words_in(name)) > 1]
        plain = [re.escape(name) for name in names if len(words_in(name)) == 1]
        parts = [rf"(?<!\w)({'|'.join(compound)})(?!\w)"] if compound else []
        if plain:
            either = "|".join(plain)
            parts += [rf"`(?:[^`]*\W)?({either})(?:\W[^`]*)?`", rf"(?<!\w)({either})\("]
        return re.compile("|".join(parts)) if parts else None

    def by_meaning(self, only: ChunkFilter) -> dict[str, tuple[float, int]]:
        """Return for files that pass how near the vector of a chunk is to that of the changed passages, where
        the nearest has 1 and the last of those found 0, and the id of this chunk."""
        hits: list[Hit] = []
        with self.limit.in_time():
            chunks = self._changed_chunks
            vector = passage_vector(self.reader, chunks).static if chunks else None
            hits = [] if vector is None else self.reader.nearest_static(vector, _MOST_NEAREST, only)
        scores = [hit.score for hit in hits]
        low, high = min(scores, default=0.0), max(scores, default=1.0)
        spread = max(1e-6, high - low)
        return self._by_file([(hit.chunk_id, (hit.score - low) / spread) for hit in hits])

    @cached_property
    def _changed_chunks(self) -> list[int]:
        found: list[int] = []
        for file in self.files:
            path = file.path if file.is_applied else file.before_path
            starts = [(h.after_start, h.after_end) if file.is_applied else (h.before_start, h.before_end)
                      for h in file.hunks]  # fmt: skip
            for stored in self.reader.page(path) if path in self.kinds and path else ():
                chunk = stored.chunk
                if any(a < chunk.end_line and max(b, a + 1) > chunk.start_line for a, b in starts):
                    found.append(stored.id)
        return found[:_MOST_VECTORS]

    def _by_file(self, hits: Sequence[tuple[int, float]]) -> dict[str, tuple[float, int]]:
        found: dict[str, tuple[float, int]] = {}
        with self.limit.in_time():
            outlines = self.reader.outlines([chunk for chunk, _ in hits])
            for chunk, score in hits:
                if chunk in outlines:
                    path = outlines[chunk].path
                    found[path] = max(found.get(path, (0.0, 0)), (score, chunk))
        return found
