"""Measure how well the best passages answer a question: by their similarity and the terms in them."""

from __future__ import annotations

import re

import numpy as np
from attrs import frozen

from cairn.index.reader.records import StoredChunk
from cairn.retrieval.candidates import Floats
from cairn.retrieval.passages.window_columns import Windows
from cairn.retrieval.question_kinds import QuestionKind
from cairn.text.identifiers import identifier_words

_BEST = 3
"""How many passages the mean similarity covers. A single passage may be similar by chance."""
_FILES_OF = 5
"""How many of the best passages choose the files whose terms count. A file's passages count together."""
_LEAST_INTRODUCTION = 0.5
_WORD = re.compile(r"[^\W\d_][\w/+#.-]*")
_LIKE_A_NAME = re.compile(r".*[A-Z].*[A-Z]|.*\d")


@frozen
class Strength:
    """How well the best passages answer the question."""

    similarity: float | None
    """The mean cosine similarity of the best passages by the static table; None without a table."""
    terms_by_file: tuple[frozenset[int], ...]
    """The positions of the terms that each of the best files contains in its passages."""
    missing_names: int
    """The number of names and abbreviations in the question (`YAML`, `Redis`) that no passage contains. It is
    0 if the question cites a message or asks for a change."""
    introductions: tuple[tuple[int, StoredChunk], ...] = ()
    """The best passages that introduce the subject of an overview, each as folder and chunk."""


def strength(windows: Windows, scores: Floats, similarities: Floats) -> Strength:
    """Measure the passages. `scores` and `similarities` are float64[windows] with at least one window."""
    order = np.argsort(-scores, kind="stable")
    files = [(windows.folders[chunk], windows.chunks[chunk].path) for chunk in windows.chunk_of.tolist()]
    holds = windows.counts > 0
    best = dict.fromkeys(files[place] for place in order[:_FILES_OF].tolist())
    of_file = [np.array([file == each for file in files]) for each in best]
    somewhere: list[bool] = np.atleast_1d(holds.any(axis=0)).tolist()
    # A message contains values of the user, and a thing to add does not exist yet: neither is a missing name.
    is_foreign = bool(windows.kinds & {QuestionKind.ERROR, QuestionKind.CHANGE})
    named = frozenset() if is_foreign else _written_as_names(windows.query.meant or windows.query.text)
    terms = zip(windows.query.terms, somewhere, strict=True)
    introducing = dict.fromkeys(
        int(windows.chunk_of[place])
        for place in order[:_FILES_OF]
        if windows.introductions[place] >= _LEAST_INTRODUCTION
    )
    return Strength(
        similarity=None if windows.table is None else float(similarities[order[:_BEST]].mean()),
        terms_by_file=tuple(
            frozenset(np.flatnonzero(holds[these].any(axis=0)).tolist()) for these in of_file
        ),
        missing_names=sum(not is_found for term, is_found in terms if term in named),
        introductions=tuple((windows.folders[chunk], windows.chunks[chunk]) for chunk in introducing),
    )


def _written_as_names(question: str) -> frozenset[str]:
    """Return, in lower case, capitalised words within sentences, and words with digits or more capitals."""
    named: set[str] = set()
    for match in _WORD.finditer(question):
        word = match[0].rstrip("./-")
        before = question[: match.start()].rstrip(" \"'`(“‘")[-1:]
        is_within = before.isalnum() or before == ","
        if _LIKE_A_NAME.match(word) or (is_within and word[:1].isupper() and word != "I"):
            named.update((word.lower(), *identifier_words(word)))
    return frozenset(named)
