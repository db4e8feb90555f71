"""Candidates made up for tests of ranking, and the order that they are put in."""

from __future__ import annotations

import json
from collections.abc import Sequence

from attrs import frozen

from cairn.index.file_queries import FileFacts
from cairn.index.reader import Outline
from cairn.retrieval.candidates import Candidate, FileCandidate
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import SIGNALS
from cairn.retrieval.signals import Asked, Contribution, Signal, score_files
from cairn.workspace.collections import file_kind


def chunk(
    path: str = "src/a.py",
    position: int = 0,
    *,
    keyword: float = 0.0,
    definition: float = 0.0,
    symbol: float = 0.0,
    similarity: float = 0.0,
    exact: float = 0.0,
    defines: tuple[str, ...] = (),
    kind: str = "function",
) -> Candidate:
    """A chunk with what legs say of it; the first of the names in `defines` is its own, of the given kind."""
    name = defines[0] if defines else ""
    names = json.dumps(list(defines))
    outline = Outline(position, path, file_kind(path), position, "code", name, kind if name else "", names)
    return Candidate(outline, keyword, definition, symbol, similarity, exact)


def file(
    path: str,
    *,
    keyword: float = 1.0,
    definition: float = 0.0,
    similarity: float = 0.0,
    symbol: float = 0.0,
    exact: float = 0.0,
    defines: tuple[str, ...] = (),
    kind: str = "function",
    chunks: int = 1,
    subjects: float = 0.0,
    in_degree: int = 0,
    is_named: bool = False,
    folder: int = 0,
) -> FileCandidate:
    """A file of as many equal chunks."""
    equal = tuple(
        chunk(
            path,
            position,
            keyword=keyword,
            definition=definition,
            symbol=symbol,
            similarity=similarity,
            exact=exact,
            defines=defines,
            kind=kind,
        )
        for position in range(chunks)
    )
    facts = FileFacts(in_degree=in_degree)
    return FileCandidate(folder, path, file_kind(path), equal, subjects, facts, is_named)


@frozen
class Scored:
    """What one file scores, and why, strongest first."""

    score: float
    reasons: tuple[Contribution, ...]


def scores(query: Query, files: Sequence[FileCandidate], signals: Sequence[Signal] = SIGNALS) -> list[Scored]:
    """What each of the files scores."""
    scored = score_files(Asked(query, tuple(files)), signals)
    return [Scored(total, scored.reasons(place)) for place, total in enumerate(scored.totals)]


def order(
    query: str,
    *files: FileCandidate,
    alpha: float | None = None,
    signals: Sequence[Signal] = SIGNALS,
) -> list[str]:
    """The paths, best first."""
    scored = scores(understand(query, alpha), files, signals)
    return [files[i].path for i in sorted(range(len(files)), key=lambda i: -scored[i].score)]
