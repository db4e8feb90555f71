"""Made-up candidates for tests of ranking, and their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import fields_dict, frozen

from cairn.index.reader.records import Outline
from cairn.protocol.status_messages import FeedbackAction
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.feedback_values import Choice, learn
from cairn.retrieval.packages import Packages
from cairn.retrieval.query import Query, understand
from cairn.retrieval.scores import CloserScores, Contribution, FileSignal, SignalInputs, score_files
from cairn.retrieval.signals import SIGNALS
from cairn.text.words import stem
from cairn.workspace.collections import file_kind


@frozen
class MadeUpChunk:
    """A chunk with the scores of legs; its symbol, of the given kind, is the first name in `defines`."""

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
        return Outline(position, path, file_kind(path), position, "code", name, kind, names, "", True)


@frozen
class MadeUpFile:
    file: FileCandidate
    chunks: tuple[MadeUpChunk, ...]
    chosen: bool = False
    """Whether it was opened today for the same query."""
    about: float = 0.0
    """How much the query is about the package of its folder."""
    near: float = 0.0
    whole: float = 0.0
    folder_words: float = 0.0
    """The log likelihood of the query in its folder."""

    @property
    def path(self) -> str:
        return self.file.path


def file(path: str, *, chunks: int = 1, folder: int = 0, **values: Any) -> MadeUpFile:
    """Return a file of equal chunks; `values` are fields of the chunks, the candidate or the file."""
    values = {"keyword": 1.0, **values}

    def of(names: Iterable[str]) -> dict[str, Any]:
        return {name: values.pop(name) for name in names if name in values}

    equal = (MadeUpChunk(**of(fields_dict(MadeUpChunk))),) * chunks
    above = path.rpartition("/")[0]
    candidate = FileCandidate(folder, path, file_kind(path), above, **of(FileCandidate._fields))
    return MadeUpFile(candidate, equal, **values)


def candidates(files: Sequence[MadeUpFile]) -> Candidates:
    every = [(place, position, c) for place, f in enumerate(files) for position, c in enumerate(f.chunks)]

    def column(name: str) -> Floats:
        return np.array([getattr(chunk, name) for _, _, chunk in every], np.float64)

    outlines = [chunk.outline(files[place].path, position) for place, position, chunk in every]
    of_file = np.array([place for place, _, _ in every], np.intp)
    names = ("keyword", "definition", "symbol", "similarity", "exact", "reexport", "named")
    return Candidates(tuple(f.file for f in files), outlines, of_file, *map(column, names))


def even_shares(query: Query) -> tuple[float, ...]:
    return (1 / len(query.terms),) * len(query.terms) if query.terms else ()


@frozen
class Scored:
    score: float
    reasons: tuple[Contribution, ...]


def scores(
    query: Query, files: Sequence[MadeUpFile], signals: Sequence[FileSignal] = SIGNALS
) -> list[Scored]:
    found = candidates(files)
    stems = frozenset(map(stem, query.terms))
    choices = [Choice(stems, f.path, FeedbackAction.OPEN, at=0) for f in files if f.chosen]
    learned = {f.file.folder: learn(choices, generation=1, today=0) for f in files if f.chosen}
    about = Packages({f.path.rpartition("/")[0]: f.about for f in files if f.about})
    packages = [about] * (1 + max((f.file.folder for f in files), default=0))
    closer = CloserScores(np.array([f.near for f in files]), np.array([f.whole for f in files]))
    folders = {f.file.folder: f.folder_words for f in files}
    inputs = SignalInputs(
        query,
        found,
        learned=learned,
        packages=packages,
        folders=[folders.get(number, 0.0) for number in range(1 + max(folders, default=0))],
        look=lambda _first: closer,
    )
    scored = score_files(inputs, signals)
    return [Scored(float(total), scored.reasons(place)) for place, total in enumerate(scored.totals)]


def order(
    query: str,
    *files: MadeUpFile,
    alpha: float | None = None,
    signals: Sequence[FileSignal] = SIGNALS,
) -> list[str]:
    """Return the paths, best first."""
    scored = scores(understand(query, alpha), files, signals)
    return [files[i].path for i in sorted(range(len(files)), key=lambda i: -scored[i].score)]
