"""Ranks every part of the files found: windows of lines, by the words of the question, by meaning, by their file and by what
the kind of question asks for. One ranking for search, discovery, context and related.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from cairn.embedding.static import StaticTable
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.candidates import Floats
from cairn.retrieval.passages.gathering import Windows, gather_windows
from cairn.retrieval.passages.signals import SIGNALS
from cairn.retrieval.ranking import Ranking

MOST_CHUNKS = 100
"""Chunks that are cut into windows. With 60, 0.015 fewer of the facts were found within 8,000 tokens; 300 find no more."""


_TERMS_SHOWN = 4
"""Words that a reason names; a heading has no room for more."""


@frozen
class Passage:
    """Lines of a file, and what they are worth as an answer."""

    folder: int
    stored: StoredChunk
    first: int
    """0-based line of the file."""
    last: int
    """Exclusive."""
    score: float
    reason: str
    """What speaks for it most, in a few words."""


def passages(ranking: Ranking, table: StaticTable | None, most: int = MOST_CHUNKS) -> list[Passage]:
    """The windows of the most promising chunks, best first; none where nothing was found."""
    windows = gather_windows(ranking, table, most)
    if not windows.texts:
        return []
    parts = np.stack([signal.weight * signal.value(windows) for signal in SIGNALS])
    scores = parts.sum(axis=0)
    reasons = _reasons(windows, parts)
    found = []
    for place in np.argsort(-scores, kind="stable").tolist():
        chunk, (first, last) = int(windows.chunk_of[place]), windows.spans[place]
        stored, start = windows.chunks[chunk], windows.chunks[chunk].chunk.start_line
        found.append(
            Passage(
                windows.folders[chunk],
                stored,
                start + first,
                start + last,
                float(scores[place]),
                reasons[place],
            )
        )
    return found


def _reasons(windows: Windows, parts: Floats) -> list[str]:
    """For each window the signal by which it stands out most among the others, in words; `parts` are float64[signals, windows]."""
    said = np.array([bool(signal.reason) for signal in SIGNALS])
    lifted = np.where(said[:, None] & (parts > 0), parts - parts.mean(axis=1, keepdims=True), -np.inf)
    strongest = lifted.argmax(axis=0)
    held = windows.counts > 0
    rarest = np.argsort(-windows.idf, kind="stable")
    reasons = []
    for place, number in enumerate(strongest.tolist()):
        reason = SIGNALS[number].reason if lifted[number, place] > -np.inf else ""
        terms = [windows.query.terms[term] for term in rarest if held[place, term]][:_TERMS_SHOWN]
        reasons.append(reason.format(terms=", ".join(terms), names=", ".join(windows.names[:_TERMS_SHOWN])))
    return reasons
