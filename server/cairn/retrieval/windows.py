"""Cut chunks into windows, the fewest lines worth showing, not within a statement, and prepare them for
comparison. The results are cached for later queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.embedding.word_pieces import words_of
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.evidence_lines import is_comment
from cairn.text.identifiers import identifier_words
from cairn.text.verbatim import lines_of
from cairn.text.words import stem

LEAST_LINES, MOST_LINES = 6, 12
"""The minimum and maximum number of lines of a window. A shorter chunk, such as a small function, stays
whole. The share of facts found within 4,000 tokens for 35 questions was 0.02 lower with 12 to 20 lines, and
0.05 lower with 20 to 40 (docs/ranking.md)."""

_CLOSES = re.compile(r"[)}\]]|(?:end|else|elif|except|catch|finally|done|fi)\b")
_TAB = "    "

# These are the costs of a cut before a line. Deeper indentation adds to the cost.
_AFTER_BLANK = -3.0
_AT_BLANK = 4.0
_BEFORE_CLOSING = 3.0
_DEPTH = 1 / 8
_DEEPEST = 24


def windows(lines: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the windows `[first, last)` into which `lines` are cut, in order."""
    found, first = [], 0
    while len(lines) - first > MOST_LINES:
        places = range(first + LEAST_LINES, first + MOST_LINES + 1)
        last = min(places, key=lambda place: _loss(lines, place, first))
        found.append((first, last))
        first = last
    return (*found, (first, len(lines)))


def _loss(lines: Sequence[str], place: int, first: int) -> float:
    line, before = lines[place], lines[place - 1]
    bare = line.strip()
    middle = first + (LEAST_LINES + MOST_LINES) / 2
    loss = abs(place - middle) / (MOST_LINES - LEAST_LINES + 1)
    loss += _AFTER_BLANK * (not before.strip()) + _AT_BLANK * (not bare)
    return loss + _BEFORE_CLOSING * bool(_CLOSES.match(bare)) + _DEPTH * min(_DEEPEST, indentation(line))


def indentation(line: str) -> int:
    """Return the width of the white space before a line's text in columns; 0 for a blank line."""
    wide = line.replace("\t", _TAB)
    bare = wide.lstrip()
    return len(wide) - len(bare) if bare else 0


_CACHED_CHUNKS = 2_000
"""The maximum number of cached chunks. Each takes about 12 KB, texts included."""
TOKENS = 256
"""The maximum number of tokens embedded of a window, and of its path and headings. Longer ones are data."""


@frozen(eq=False)
class ReadChunk:
    """A chunk cut into windows."""

    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """The lines `[first, last)` of each window, counted from the start of the chunk."""
    texts: tuple[str, ...]
    words: tuple[NDArray[np.int64], ...]
    """The keys (`word_key`) of each window's words, in order."""
    pieces: tuple[list[int], ...]
    """The token ids of each window in the static table; empty without a table."""
    vectors: NDArray[np.int8]
    """int8[windows, dimension]: each vector includes path and headings. Without a table, dimension is 0."""
    comments: tuple[float, ...]
    """The share of each window's lines that are comments."""


def read_chunk(stored: StoredChunk, table: StaticTable | None) -> ReadChunk:
    """Return the chunk's windows without the blank ones. They have no vectors if `table` is None."""
    return _read(stored.chunk.text, stored.path, stored.chunk.header_path, table)


@lru_cache(maxsize=_CACHED_CHUNKS)
def _read(text: str, path: str, header: str, table: StaticTable | None) -> ReadChunk:
    lines = tuple(lines_of(text.removesuffix("\n")))
    spans = tuple((first, last) for first, last in windows(lines) if any(map(str.strip, lines[first:last])))
    texts = tuple("\n".join(lines[first:last]) for first, last in spans)
    words = [words_of(each) for each in texts]
    above = table.pieces(words_of(f"{path}\n{header}"), TOKENS) if table else []
    pieces = tuple(table.pieces(each, TOKENS) if table else [] for each in words)
    return ReadChunk(
        lines,
        spans,
        texts,
        tuple(np.fromiter(map(word_key, each), np.int64) for each in words),
        pieces,
        table.embed_pieces_int8([above + each for each in pieces])
        if table
        else np.zeros((len(spans), 0), np.int8),
        tuple(sum(map(is_comment, lines[first:last])) / (last - first) for first, last in spans),
    )


@lru_cache(maxsize=30_000)
def word_key(word: str) -> int:
    """Return a key that is the same for all words with one stem."""
    return hash(stem(word))


def group_keys(groups: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return the keys of each term's alternatives, without those of several words."""
    single = ([text for text in group if " " not in text] for group in groups)
    return [tuple({word_key(word) for word in chain.from_iterable(map(_words, group))}) for group in single]


def _words(text: str) -> list[str]:
    words = identifier_words(text)
    return words if len(words) == 1 else [text]


@frozen
class Passage:
    """Lines `[first, last)` of a file with their score."""

    folder: int
    stored: StoredChunk
    first: int
    last: int
    score: float
    _explain: Callable[[], str] = field(default=str, eq=False)

    @property
    def reason(self) -> str:
        """A few words on the strongest signal of the passage, worked out only for those that are shown."""
        return self._explain()


def definition_worth(scores: Iterable[float]) -> float:
    """Return the worth of a definition by the scores of its windows: half the best, half the mean of the best
    three. A single window may be good by chance."""
    best = sorted(scores, reverse=True)[:3]
    return (best[0] + sum(best) / len(best)) / 2
