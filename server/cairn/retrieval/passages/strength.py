"""What the best passages show of whether a question can be answered at all: how near they come, and what of it they hold."""

from __future__ import annotations

import re

import numpy as np
from attrs import frozen

from cairn.index.reader.records import StoredChunk
from cairn.retrieval.candidates import Floats
from cairn.retrieval.passages.gathering import Windows
from cairn.retrieval.question_kinds import QuestionKind
from cairn.text.identifiers import identifier_words

_BEST = 3
"""Passages whose similarity counts: one may be near by chance."""
_FILES_OF = 5
"""Best passages whose files count: what is asked about stands in one file, whose passages hold the question together."""
_INTRODUCES = 0.5
"""What a passage must have of an introduction to be one."""
_WORD = re.compile(r"[^\W\d_][\w/+#.-]*")
_LIKE_A_NAME = re.compile(r".*[A-Z].*[A-Z]|.*\d")


@frozen
class Strength:
    """What ranked passages show of their question."""

    similarity: float | None
    """The mean cosine of the best passages by the static table; None without one."""
    held: tuple[frozenset[int], ...]
    """For each of the best files the places of the question's terms that its passages hold."""
    missing_names: int
    """Names and abbreviations in the question, by their capitals and digits (`YAML`, `Redis`), that no passage holds; 0 where it cites
    a message or asks for a change."""
    introductions: tuple[tuple[int, StoredChunk], ...] = ()
    """Folder and chunk of those of the best passages that introduce what an overview is asked of, best first."""


def strength(windows: Windows, scores: Floats, similarities: Floats) -> Strength:
    """`scores` and `similarities` are float64[windows]; at least one window."""
    order = np.argsort(-scores, kind="stable")
    files = [(windows.folders[chunk], windows.chunks[chunk].path) for chunk in windows.chunk_of.tolist()]
    holds = windows.counts > 0
    best = dict.fromkeys(files[place] for place in order[:_FILES_OF].tolist())
    of_file = [np.array([file == each for file in files]) for each in best]
    somewhere: list[bool] = np.atleast_1d(holds.any(axis=0)).tolist()
    # Values in a message are the asker's own, and what is to be added is not there yet.
    is_foreign = bool(windows.kinds & {QuestionKind.ERROR, QuestionKind.CHANGE})
    named = frozenset() if is_foreign else _written_as_names(windows.query.meant or windows.query.text)
    terms = zip(windows.query.terms, somewhere, strict=True)
    introducing = dict.fromkeys(
        int(windows.chunk_of[place])
        for place in order[:_FILES_OF]
        if windows.introductions[place] >= _INTRODUCES
    )
    return Strength(
        similarity=None if windows.table is None else float(similarities[order[:_BEST]].mean()),
        held=tuple(frozenset(np.flatnonzero(holds[these].any(axis=0)).tolist()) for these in of_file),
        missing_names=sum(not is_held for term, is_held in terms if term in named),
        introductions=tuple((windows.folders[chunk], windows.chunks[chunk]) for chunk in introducing),
    )


def _written_as_names(question: str) -> frozenset[str]:
    """The words, in lower case, that are capitalised within a sentence, or have several capitals or a digit."""
    named: set[str] = set()
    for match in _WORD.finditer(question):
        word = match[0].rstrip("./-")
        before = question[: match.start()].rstrip(" \"'`(“‘")[-1:]
        is_within = before.isalnum() or before == ","
        if _LIKE_A_NAME.match(word) or (is_within and word[:1].isupper() and word != "I"):
            named.update((word.lower(), *identifier_words(word)))
    return frozenset(named)
