"""Cut chunks into windows, the fewest lines worth showing, not within a statement, and prepare them for
comparison. The results are cached for later queries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable, unit_int8
from cairn.index.reader.records import StoredChunk
from cairn.index.store.deadline import check_end
from cairn.retrieval.evidence_lines import is_comment
from cairn.retrieval.known_runs import known_runs, word_key
from cairn.text.identifiers import identifier_words
from cairn.text.unspaced import is_unspaced, spread
from cairn.text.verbatim import lines_of

LEAST_LINES, MOST_LINES = 6, 12
"""The minimum and maximum number of lines of a window. A shorter chunk, such as a small function, stays
whole. The share of facts found within 4,000 tokens for 35 questions was 0.02 lower with 12 to 20 lines, and
0.05 lower with 20 to 40 (docs/ranking.md)."""

_CLOSES = re.compile(r"[)}\]]|(?:end|else|elif|except|catch|finally|done|fi)\b")
_BEGIN_CLOSING = frozenset(")}]ecfd")
"""The characters with which a match begins."""
_TAB = "    "

# These are the costs of a cut before a line. Deeper indentation adds to the cost.
_AFTER_BLANK = -3.0
_AT_BLANK = 4.0
_BEFORE_CLOSING = 3.0
_DEPTH = 1 / 8
_DEEPEST = 24


def windows(lines: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the windows `[first, last)` into which `lines` are cut, in order."""
    bare = list(map(str.lstrip, lines))
    found, first = [], 0
    while len(lines) - first > MOST_LINES:
        last, least = 0, math.inf
        for place, cost in enumerate(_OFF_MIDDLE, first + LEAST_LINES):
            text = bare[place]
            if not bare[place - 1]:
                cost += _AFTER_BLANK
            if not text:
                cost += _AT_BLANK
            else:
                if text[0] in _BEGIN_CLOSING and _CLOSES.match(text):
                    cost += _BEFORE_CLOSING
                line = lines[place]
                width = len(line) - len(text)
                if "\t" in line:
                    width += (len(_TAB) - 1) * line.count("\t", 0, width)
                cost += _DEPTH * min(_DEEPEST, width)
            if cost < least:
                last, least = place, cost
        found.append((first, last))
        first = last
    return (*found, (first, len(lines)))


_OFF_MIDDLE = [
    abs(length - (LEAST_LINES + MOST_LINES) / 2) / (MOST_LINES - LEAST_LINES + 1)
    for length in range(LEAST_LINES, MOST_LINES + 1)
]
"""The cost of each length of a window."""


_CACHED_CHUNKS = 6_000
"""The maximum number of cached chunks. Each takes about 3 KB."""
TOKENS = 256
"""The maximum number of tokens embedded of a window, and of its path and headings. Longer ones are data."""


@frozen(eq=False)
class ReadChunk:
    """A chunk cut into windows."""

    spans: tuple[tuple[int, int], ...]
    """The lines `[first, last)` of each window, counted from the start of the chunk."""
    words: NDArray[np.int32]
    """int32[words of all windows]: the key (`word_key`) of each word, in order."""
    lengths: NDArray[np.int64]
    """int64[windows]: the number of words of each window."""
    pieces: NDArray[np.int32]
    """int32[tokens of all windows]: their ids in the static table; empty without a table."""
    tokens: NDArray[np.int64]
    """int64[windows]: the number of tokens of each window."""
    vectors: NDArray[np.int8]
    """int8[windows, dimension]: each vector includes path and headings. Without a table, dimension is 0."""
    comments: tuple[float, ...]
    """The share of each window's lines that are comments."""


_read: dict[tuple[int, str, str, StaticTable | None], ReadChunk] = {}
"""The chunks that were cut last, by the hash of their text, their path and their headings. The texts would
take a third of the memory. Other threads may add to it at any time."""


def read_chunks(chunks: Sequence[StoredChunk], table: StaticTable | None) -> list[ReadChunk]:
    """Return the windows of each chunk without the blank ones. They have no vectors if `table` is None."""
    keys = [(hash(each.chunk.text), each.path, each.chunk.header_path, table) for each in chunks]
    found = {key: read for key in keys if (read := _read.get(key)) is not None}
    if missing := {key: each for key, each in zip(keys, chunks, strict=True) if key not in found}:
        new = dict(zip(missing, _cut(missing.values(), table), strict=True))
        if len(_read) + len(new) > _CACHED_CHUNKS:
            _read.clear()
        _read.update(new)
        found |= new
    return [found[key] for key in keys]


def _cut(chunks: Iterable[StoredChunk], table: StaticTable | None) -> Iterator[ReadChunk]:
    """Yield the windows of each chunk. The words of all are looked up and embedded at once, which takes two
    thirds of the time (0.20 to 0.23 instead of 0.31 to 0.35 ms a chunk)."""
    cut, texts, above = [], [], []
    for stored in chunks:
        check_end()
        lines = chunk_lines(stored.chunk.text)
        bare = list(map(str.lstrip, lines))
        spans = tuple((first, last) for first, last in windows(lines) if any(bare[first:last]))
        texts += ["\n".join(lines[first:last]) for first, last in spans]
        above.append(f"{stored.path}\n{stored.chunk.header_path}")
        is_remark = list(map(is_comment, bare))
        cut.append((spans, tuple(sum(is_remark[first:last]) / (last - first) for first, last in spans)))
    known = known_runs(table)
    runs = list(map(known.numbers, texts))
    words, lengths = known.keys.of(runs)
    pieces, tokens = known.pieces.of(runs, TOKENS)
    chunk_of = np.repeat(np.arange(len(cut)), [len(spans) for spans, _ in cut])
    vectors = np.zeros((len(texts), 0), np.int8)
    if table:
        around = table.sum_pieces(*known.pieces.of(list(map(known.numbers, above)), TOKENS))
        vectors = unit_int8(table.sum_pieces(pieces, tokens) + around[chunk_of])
    window = word = piece = 0
    for spans, comments in cut:
        own = slice(window, window + len(spans))
        ends = word + int(lengths[own].sum()), piece + int(tokens[own].sum())
        yield ReadChunk(
            spans,
            words[word : ends[0]].copy(),
            lengths[own].copy(),
            pieces[piece : ends[1]].copy(),
            tokens[own].copy(),
            vectors[own].copy(),
            comments,
        )
        window, (word, piece) = own.stop, ends


def chunk_lines(text: str) -> list[str]:
    """Return the lines of a chunk that its windows count."""
    return lines_of(text.removesuffix("\n"))


def group_keys(groups: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return the keys of each term's alternatives, without those of several words."""
    single = ([text for text in group if " " not in text] for group in groups)
    return [tuple({word_key(word) for word in chain.from_iterable(map(_words, group))}) for group in single]


def _words(text: str) -> list[str]:
    words = identifier_words(spread(text))
    return words if len(words) == 1 or is_unspaced(text) else [text]


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
