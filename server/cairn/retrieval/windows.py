"""Cut chunks into windows, the fewest lines worth showing, not within a statement, and prepare them for
comparison. The results are cached for later queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.embedding.word_pieces import words_of
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.evidence_lines import is_comment
from cairn.text.identifiers import RunCache, ascii_runs, identifier_words
from cairn.text.verbatim import lines_of
from cairn.text.words import stem

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
    found, first = [], 0
    while len(lines) - first > MOST_LINES:
        costs = map(_cost, lines[first + LEAST_LINES - 1 :], lines[first + LEAST_LINES :], _OFF_MIDDLE)
        last = first + LEAST_LINES + min(enumerate(costs), key=itemgetter(1))[0]
        found.append((first, last))
        first = last
    return (*found, (first, len(lines)))


_OFF_MIDDLE = [
    abs(length - (LEAST_LINES + MOST_LINES) / 2) / (MOST_LINES - LEAST_LINES + 1)
    for length in range(LEAST_LINES, MOST_LINES + 1)
]
"""The cost of each length of a window."""


def _cost(before: str, line: str, cost: float) -> float:
    """Return the cost of a cut between two lines, which includes that of the window's length."""
    if not before or before.isspace():
        cost += _AFTER_BLANK
    bare = line.lstrip()
    if not bare:
        return cost + _AT_BLANK
    if bare[0] in _BEGIN_CLOSING and _CLOSES.match(bare):
        cost += _BEFORE_CLOSING
    width = len(line) - len(bare)
    if "\t" in line:
        width += (len(_TAB) - 1) * line.count("\t", 0, width)
    return cost + _DEPTH * min(_DEEPEST, width)


def indentation(line: str) -> int:
    """Return the width of the white space before a line's text in columns; 0 for a blank line."""
    wide = line.replace("\t", _TAB)
    bare = wide.lstrip()
    return len(wide) - len(bare) if bare else 0


_CACHED_CHUNKS = 2_000
"""The maximum number of cached chunks. Each takes about 6 KB, texts included."""
TOKENS = 256
"""The maximum number of tokens embedded of a window, and of its path and headings. Longer ones are data."""


@frozen(eq=False)
class ReadChunk:
    """A chunk cut into windows."""

    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """The lines `[first, last)` of each window, counted from the start of the chunk."""
    words: tuple[NDArray[np.int64], ...]
    """The keys (`word_key`) of each window's words, in order."""
    pieces: tuple[NDArray[np.int32], ...]
    """The token ids of each window in the static table; empty without a table."""
    vectors: NDArray[np.int8]
    """int8[windows, dimension]: each vector includes path and headings. Without a table, dimension is 0."""
    comments: tuple[float, ...]
    """The share of each window's lines that are comments."""

    @property
    def texts(self) -> list[str]:
        return ["\n".join(self.lines[first:last]) for first, last in self.spans]


_Key = tuple[str, str, str]
"""The text, the path and the headings of a chunk."""
_read: dict[tuple[_Key, StaticTable | None], ReadChunk] = {}
"""The chunks that were cut last. Other threads may add to it at any time."""


def read_chunks(chunks: Sequence[StoredChunk], table: StaticTable | None) -> list[ReadChunk]:
    """Return the windows of each chunk without the blank ones. They have no vectors if `table` is None."""
    keys = [((each.chunk.text, each.path, each.chunk.header_path), table) for each in chunks]
    found = {key: read for key in keys if (read := _read.get(key)) is not None}
    if missing := [key for key in dict.fromkeys(keys) if key not in found]:
        new = dict(zip(missing, _cut([key for key, _ in missing], table), strict=True))
        if len(_read) + len(new) > _CACHED_CHUNKS:
            _read.clear()
        _read.update(new)
        found |= new
    return [found[key] for key in keys]


def _cut(chunks: Sequence[_Key], table: StaticTable | None) -> Iterator[ReadChunk]:
    """Yield the windows of each chunk. All are embedded at once, which takes a quarter of the time."""
    cut = []
    rows: list[list[int]] = []
    for text, path, headings in chunks:
        lines = tuple(lines_of(text.removesuffix("\n")))
        is_blank = [not line or line.isspace() for line in lines]
        spans = tuple((first, last) for first, last in windows(lines) if not all(is_blank[first:last]))
        words = [_runs("\n".join(lines[first:last])) for first, last in spans]
        pieces = [table.pieces(each, TOKENS) for each in words] if table else [[]] * len(words)
        above = table.pieces(_runs(f"{path}\n{headings}"), TOKENS) if table else []
        rows += [above + each for each in pieces]
        cut.append((lines, spans, words, pieces))
    vectors = table.embed_pieces_int8(rows) if table else np.zeros((len(rows), 0), np.int8)
    end = 0
    for lines, spans, words, pieces in cut:
        start, end = end, end + len(spans)
        yield ReadChunk(
            lines,
            spans,
            tuple(map(_keys, words)),
            tuple(np.array(each, np.int32) for each in pieces),
            vectors[start:end].copy(),
            tuple(sum(map(is_comment, lines[first:last])) / (last - first) for first, last in spans),
        )


def _runs(text: str) -> list[str]:
    """Return runs of letters and digits of a text, in which its words are."""
    return ascii_runs(text) if text.isascii() else words_of(text)


def _keys(runs: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[words]: the `word_key` of each word of these runs."""
    return np.fromiter(chain.from_iterable(map(_keys_of_run.__getitem__, runs)), np.int64)


_MOST_RUNS = 30_000
_keys_of_run = RunCache(lambda run: tuple(map(word_key, identifier_words(run))), _MOST_RUNS)


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
