"""The ranking signals: each a named object with a weight and the reason for it.

Files are scored, then their best chunk is shown: one result a file was worth +0.055 NDCG@10 over ranking
chunks. A signal's values are divided by their maximum over the candidates of the query (rank-normalising
instead cost 0.006) and added with its weight. The weights are those of docs/ranking.md, where fitted
weights were found to hardly matter: the signals do the work.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence

from attrs import frozen

from cairn.index.reader import StoredChunk
from cairn.retrieval.query import Query
from cairn.words import stem, stems
from cairn.workspace.collections import FileKind

_TOP_CHUNK_DECAY = (1.0, 0.5, 0.25)
"""Weights of a file's best three chunks in the top-chunk sums."""


@frozen
class Candidate:
    """A chunk that at least one leg found, with what the legs say of it (0 where a leg does not know it)."""

    folder: int
    """Which of the searched folders it is from."""
    stored: StoredChunk
    keyword: float = 0.0
    """BM25 over all columns."""
    definition: float = 0.0
    """BM25 over the names it defines."""
    symbol: float = 0.0
    """1 when it defines the very name that was asked for."""
    similarity: float = 0.0
    """Cosine to the query's vector, 0 to 1."""
    exact: float = 0.0
    """1 where it has the very text that was asked for, less in another case or inside a longer word."""
    legs: frozenset[str] = frozenset()


@frozen
class FileCandidate:
    """A file with its candidate chunks."""

    folder: int
    path: str
    kind: str
    chunks: tuple[Candidate, ...]


class Family(enum.StrEnum):
    """What `alpha` balances: 0 is keywords alone, 1 vectors alone."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    FILE = "file"
    """About the file whatever was asked; `alpha` leaves it alone."""


@frozen
class Signal:
    """One reason why a file should stand higher or lower."""

    name: str
    weight: float
    family: Family
    value: Callable[[Query, FileCandidate], float]
    """At least 0; divided by the maximum over the candidates unless that is below 1 by nature."""
    relative: bool = True
    """Whether values are divided by their maximum; false where 1 already means "fully"."""
    always: bool = True
    """Whether it is part of the best possible score also where no candidate has it, as most questions ask for no text."""


def _best(of: Callable[[Candidate], float]) -> Callable[[Query, FileCandidate], float]:
    return lambda _, file: max(map(of, file.chunks), default=0.0)


def _top(of: Callable[[Candidate], float]) -> Callable[[Query, FileCandidate], float]:
    def value(_: Query, file: FileCandidate) -> float:
        best = sorted(map(of, file.chunks), reverse=True)
        return sum(score * decay for score, decay in zip(best, _TOP_CHUNK_DECAY, strict=False))

    return value


_BARRELS = frozenset({"index", "init", "mod", "lib", "main", "__init__", "__main__"})
"""File stems that say nothing: such a file is named by its folder."""


def _stem_name(path: str) -> str:
    *folders, name = path.split("/")
    file_stem = name.split(".")[0] or name
    return folders[-1] if file_stem.lower() in _BARRELS and folders else file_stem


def _file_name(query: Query, file: FileCandidate) -> float:
    """Share of the words of the file's stem that the query holds."""
    words = stems(_stem_name(file.path))
    asked = {stem(term) for term in query.terms}
    return sum(word in asked for word in words) / len(words) if words else 0.0


def _joined_name(query: Query, file: FileCandidate) -> float:
    """Whether the stem is two adjacent words of the query written as one."""
    name = _stem_name(file.path).lower().replace("_", "").replace("-", "")
    return float(name in query.joined)


def _folder_name(query: Query, file: FileCandidate) -> float:
    """Share of the query's words that name a folder of the path."""
    folders = {word for folder in file.path.split("/")[:-1] for word in stems(folder)}
    asked = {stem(term) for term in query.terms}
    return len(asked & folders) / len(asked) if asked else 0.0


def _is(kind: FileKind, unless_asked_for: frozenset[str]) -> Callable[[Query, FileCandidate], float]:
    def value(query: Query, file: FileCandidate) -> float:
        return float(file.kind == kind and not unless_asked_for & {stem(term) for term in query.terms})

    return value


def _asks(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


_ABOUT_TESTS = _asks("test tests testing tested fixture mock assert")
_ABOUT_EXAMPLES = _asks("example sample demo tutorial benchmark")
_ABOUT_DOCS = _asks(
    "documentation docs guide readme tutorial changelog changes release install installation contributing license"
)
_ABOUT_CONFIG = _asks(
    "config configuration settings dependency dependencies package workflow ci build version"
)

SIGNALS: tuple[Signal, ...] = (
    Signal("keywords in its best chunk", 2.0, Family.KEYWORD, _best(lambda chunk: chunk.keyword)),
    Signal("keywords in its best three chunks", 1.0, Family.KEYWORD, _top(lambda chunk: chunk.keyword)),
    Signal("file name", 2.0, Family.KEYWORD, _file_name, relative=False),
    Signal("file name as one word", 2.0, Family.KEYWORD, _joined_name, relative=False),
    Signal("names it defines", 1.5, Family.KEYWORD, _best(lambda chunk: chunk.definition)),
    Signal("folder names", 1.0, Family.KEYWORD, _folder_name, relative=False),
    Signal("defines the symbol", 2.0, Family.KEYWORD, _best(lambda chunk: chunk.symbol), relative=False),
    Signal(
        "contains the very text",
        4.0,
        Family.KEYWORD,
        _best(lambda chunk: chunk.exact),
        relative=False,
        always=False,
    ),
    Signal("meaning of its best chunk", 2.0, Family.VECTOR, _best(lambda chunk: chunk.similarity)),
    Signal("meaning of its best three chunks", 1.0, Family.VECTOR, _top(lambda chunk: chunk.similarity)),
    Signal("is a test", -4.0, Family.FILE, _is(FileKind.TESTS, _ABOUT_TESTS), relative=False),
    Signal("is an example", -2.5, Family.FILE, _is(FileKind.EXAMPLES, _ABOUT_EXAMPLES), relative=False),
    Signal("is documentation", -2.7, Family.FILE, _is(FileKind.DOCS, _ABOUT_DOCS), relative=False),
    Signal("is configuration", -2.7, Family.FILE, _is(FileKind.CONFIG, _ABOUT_CONFIG), relative=False),
)


@frozen
class Contribution:
    """What one signal added to a file's score."""

    signal: str
    value: float
    weight: float

    def __str__(self) -> str:
        return f"{self.signal}: {self.value:.2f} × {self.weight:g} = {self.value * self.weight:+.2f}"


def score_files(
    query: Query, files: Sequence[FileCandidate], signals: Sequence[Signal] = SIGNALS
) -> list[tuple[float, tuple[Contribution, ...]]]:
    """For each file its score, 0 to 1, and what made it, strongest first."""
    weights = {signal.name: signal.weight * _balance(signal.family, query.alpha) for signal in signals}
    # Without vectors nothing can score by them: then the words alone make up the whole.
    compared = any(chunk.similarity for file in files for chunk in file.chunks)
    columns: dict[str, list[float]] = {}
    for signal in signals:
        values = [max(0.0, signal.value(query, file)) for file in files]
        top = max(values, default=0.0) if signal.relative else 1.0
        columns[signal.name] = [value / top if top else 0.0 for value in values]
    possible = (
        weights[s.name]
        for s in signals
        if (compared or s.family is not Family.VECTOR) and (s.always or any(columns[s.name]))
    )
    best_possible = sum(weight for weight in possible if weight > 0) or 1.0
    scored = []
    for row in range(len(files)):
        parts = [Contribution(name, column[row], weights[name]) for name, column in columns.items()]
        total = sum(part.value * part.weight for part in parts)
        reasons = sorted((p for p in parts if p.value and p.weight), key=lambda p: -abs(p.value * p.weight))
        scored.append((_positive(total / best_possible), tuple(reasons)))
    return scored


_FLOOR = 0.05


def _positive(share: float) -> float:
    """`share` itself above 0.05; below, and below 0, ever closer to 0 but in the same order.

    Penalties can outweigh everything a file has, and a workspace of tests alone still has a best test.
    """
    return share if share >= _FLOOR else _FLOOR * math.exp(share / _FLOOR - 1)


def _balance(family: Family, alpha: float) -> float:
    """The factor on a family's weights: 1 for all at alpha 0.5."""
    return {Family.KEYWORD: 2 * (1 - alpha), Family.VECTOR: 2 * alpha, Family.FILE: 1.0}[family]
