"""Candidates made up for tests of ranking, and the order that they are put in."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from cairn.index.reader.records import Outline
from cairn.protocol.feedback import FeedbackAction
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.learned import Choice, learn
from cairn.retrieval.packages import Packages
from cairn.retrieval.query import Query, understand
from cairn.retrieval.scores import SignalInputs, CloserScores, Contribution, Signal, score_files
from cairn.retrieval.signals import SIGNALS
from cairn.text.words import stem
from cairn.workspace.collections import file_kind


@frozen
class MadeUpChunk:
    """A chunk with what legs say of it; the first of the names in `defines` is its own, of the given kind."""

    keyword: float = 0.0
    definition: float = 0.0
    symbol: float = 0.0
    similarity: float = 0.0
    exact: float = 0.0
    reexport: float = 0.0
    named: float = 0.0
    defines: tuple[str, ...] = ()
    kind: str = "function"

    def outline(self, path: str, position: int) -> Outline:
        name = self.defines[0] if self.defines else ""
        names, kind = json.dumps(list(self.defines)), self.kind if name else ""
        return Outline(position, path, file_kind(path), position, "code", name, kind, names)


@frozen
class MadeUpFile:
    """A file with its chunks."""

    file: FileCandidate
    chunks: tuple[MadeUpChunk, ...]
    chosen: bool = False
    """Whether it was opened today for the very question."""
    about: float = 0.0
    """How much the question is about the package of its folder."""
    near: float = 0.0
    whole: float = 0.0
    """What a closer look at it says."""
    folder_words: float = 0.0
    """How much less likely the question's words are in its folder than in another one."""

    @property
    def path(self) -> str:
        return self.file.path


def file(
    path: str,
    *,
    keyword: float = 1.0,
    definition: float = 0.0,
    similarity: float = 0.0,
    symbol: float = 0.0,
    exact: float = 0.0,
    reexport: float = 0.0,
    named: float = 0.0,
    defines: tuple[str, ...] = (),
    kind: str = "function",
    chunks: int = 1,
    subjects: float = 0.0,
    words: float = 0.0,
    in_degree: int = 0,
    is_copy: bool = False,
    is_named: bool = False,
    folder: int = 0,
    chosen: bool = False,
    about: float = 0.0,
    near: float = 0.0,
    whole: float = 0.0,
    folder_words: float = 0.0,
) -> MadeUpFile:
    """A file of as many equal chunks."""
    equal = MadeUpChunk(keyword, definition, symbol, similarity, exact, reexport, named, defines, kind)
    candidate = FileCandidate(folder, path, file_kind(path), subjects, in_degree, words, is_copy, is_named)
    return MadeUpFile(candidate, (equal,) * chunks, chosen, about, near, whole, folder_words)


def candidates(files: Sequence[MadeUpFile]) -> Candidates:
    """The files as ranking has them."""
    every = [(place, position, c) for place, f in enumerate(files) for position, c in enumerate(f.chunks)]

    def column(name: str) -> Floats:
        return np.array([getattr(chunk, name) for _, _, chunk in every], np.float64)

    outlines = [chunk.outline(files[place].path, position) for place, position, chunk in every]
    of_file = np.array([place for place, _, _ in every], np.intp)
    names = ("keyword", "definition", "symbol", "similarity", "exact", "reexport", "named")
    return Candidates(tuple(f.file for f in files), outlines, of_file, *map(column, names))


def even_shares(query: Query) -> tuple[float, ...]:
    """The shares of a question's terms where each is as rare as the others."""
    return (1 / len(query.terms),) * len(query.terms) if query.terms else ()


@frozen
class Scored:
    """What one file scores, and why, strongest first."""

    score: float
    reasons: tuple[Contribution, ...]


def scores(query: Query, files: Sequence[MadeUpFile], signals: Sequence[Signal] = SIGNALS) -> list[Scored]:
    """What each of the files scores."""
    found = candidates(files)
    stems = frozenset(map(stem, query.terms))
    choices = [Choice(stems, f.path, FeedbackAction.OPEN, at=0) for f in files if f.chosen]
    learned = {f.file.folder: learn(choices, generation=1, today=0) for f in files if f.chosen}
    about = Packages({f.path.rpartition("/")[0]: f.about for f in files if f.about})
    packages = [about] * (1 + max((f.file.folder for f in files), default=0))
    closer = CloserScores(np.array([f.near for f in files]), np.array([f.whole for f in files]))
    folders = {f.file.folder: f.folder_words for f in files}
    asked = SignalInputs(
        query,
        found,
        learned=learned,
        packages=packages,
        folders=[folders.get(number, 0.0) for number in range(1 + max(folders, default=0))],
        look=lambda _first: closer,
    )
    scored = score_files(asked, signals)
    return [Scored(float(total), scored.reasons(place)) for place, total in enumerate(scored.totals)]


def order(
    query: str,
    *files: MadeUpFile,
    alpha: float | None = None,
    signals: Sequence[Signal] = SIGNALS,
) -> list[str]:
    """The paths, best first."""
    scored = scores(understand(query, alpha), files, signals)
    return [files[i].path for i in sorted(range(len(files)), key=lambda i: -scored[i].score)]
