"""Ranks every part of the files found: windows of lines, by the words of the question, by meaning, by their file and by what
the kind of question asks for. One ranking for search, discovery, context and related.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set

import numpy as np
from attrs import frozen

from cairn.embedding.static import StaticTable
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.candidates import Floats
from cairn.retrieval.passages.families import Family, families
from cairn.retrieval.passages.gathering import Windows, gather_windows
from cairn.retrieval.passages.signals import SIGNALS
from cairn.retrieval.passages.steps import Found, Walk
from cairn.retrieval.passages.strength import Strength, strength
from cairn.retrieval.question_kinds import QuestionKind
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked
from cairn.workspace.collections import FileKind
from cairn.workspace.ignore_patterns import Selection

MOST_CHUNKS = 100
"""Chunks that are cut into windows. With 60, 0.015 fewer of the facts were found within 8,000 tokens; 300 find no more."""


_DEFINITIONS, _DEFINITION_GAIN = 4, 0.15
"""How many definitions gain, and what the best one does."""
_FLOWS, _FLOW_GAIN = 2, 0.5
"""The same where the question is what happens in order: then most of the answer stands in one or two."""
_NEXT_GAIN = 0.8
"""What each further definition gains beside the one before."""
_MEANING = [signal.name for signal in SIGNALS].index("meaning")
_WIDENED = {QuestionKind.FLOW, QuestionKind.CHANGE}
"""Kinds of questions that the windows found do not answer alone."""
_SEARCHED = 60
"""Windows of code in which lists, and functions that call each other, are looked for, the best first."""
_WORDS = [signal.name for signal in SIGNALS].index("words of the question")
_USUAL = [n for n, signal in enumerate(SIGNALS) if signal.name in ("meaning", "headings")]
_TELLING = [n for n, signal in enumerate(SIGNALS) if signal.reason and n not in (_WORDS, *_USUAL)]
"""Signals by which a window may be told from others in words, if they add this."""
_LEAST_TELLING = 0.2
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


def passages(
    ranking: Ranking,
    table: StaticTable | None,
    most: int = MOST_CHUNKS,
    files: Set[tuple[int, str]] | None = None,
) -> list[Passage]:
    """The windows of the `most` most promising chunks, best first; none where nothing was found.

    With `files`, given by folder and path, only those of their chunks count that were found, and no reasons are given.
    """
    return rank_passages(ranking, table, most, files)[0]


def best_chunks(ranking: Ranking, table: StaticTable | None, limit: int) -> list[Ranked]:
    """The `limit` chunks that hold the best passages, best first, several of a file where they are better than others.

    Where a name is asked for, its definitions come first, as a search has them.
    """
    best: dict[tuple[int, int], Ranked] = {}
    if not ranking.legs.query.is_symbol:
        for passage in passages(ranking, table):
            chunk = Ranked(passage.folder, passage.stored, passage.score, "hybrid", ())
            best.setdefault((passage.folder, passage.stored.id), chunk)
    return list(best.values())[:limit]


def rank_passages(
    ranking: Ranking,
    table: StaticTable | None,
    most: int = MOST_CHUNKS,
    files: Set[tuple[int, str]] | None = None,
) -> tuple[list[Passage], Strength | None]:
    """As `passages`, with what they show of the question; None where nothing was found."""
    windows = gather_windows(ranking, table, most, files)
    if not windows.texts:
        return [], None
    parts, scores = _scored(windows)
    if files is None and windows.kinds & _WIDENED:
        listed: Sequence[Family] = ()
        if QuestionKind.CHANGE in windows.kinds and (
            listed := families([windows.lines[place] for place in _best_places(windows, scores)])
        ):
            windows = gather_windows(ranking, table, most, listed=listed)
            parts, scores = _scored(windows)
        walk = Walk(ranking.readers, ranking.legs.cancelled, windows.nearness, _paths_asked(ranking))
        if steps := walk.steps(_best_code(windows, scores)):
            windows = gather_windows(ranking, table, most, listed=listed, steps=steps)
            parts, scores = _scored(windows)
    reasons = _reasons(windows, parts) if files is None else [""] * len(scores)
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
    return found, strength(windows, scores, parts[_MEANING] / SIGNALS[_MEANING].weight)


def _paths_asked(ranking: Ranking) -> Callable[[int, str], bool]:
    """Whether the question is about the file of a folder at a path."""
    asked = [ranking.legs.only.paths_in(reader.root) for reader in ranking.readers]
    chosen = [None if patterns is None else Selection(patterns) for patterns in asked]

    def is_asked(folder: int, path: str) -> bool:
        selection = chosen[folder]
        return selection is None or selection.names(path)

    return is_asked


def _best_places(windows: Windows, scores: Floats) -> list[int]:
    """The best windows of code."""
    code = [place for place in np.argsort(-scores, kind="stable").tolist() if windows.is_code[place]]
    return code[:_SEARCHED]


def _best_code(windows: Windows, scores: Floats) -> Iterator[Found]:
    for place in _best_places(windows, scores):
        number = int(windows.chunk_of[place])
        stored = windows.chunks[number]
        if stored.kind not in (FileKind.TESTS, FileKind.EXAMPLES):
            yield Found(windows.folders[number], stored.path, *windows.at(place), float(scores[place]))


def _scored(windows: Windows) -> tuple[Floats, Floats]:
    """float64[signals, windows], what each signal adds, and float64[windows], the scores."""
    parts = np.stack([signal.weight * signal.value(windows) for signal in SIGNALS])
    scores = parts.sum(axis=0)
    return parts, scores + _of_best_definitions(windows, scores)


def _of_best_definitions(windows: Windows, scores: Floats) -> Floats:
    """What windows gain that belong to the definitions, or sections, whose three best windows are best: an answer goes on there."""
    most, gain = (
        (_FLOWS, _FLOW_GAIN) if QuestionKind.FLOW in windows.kinds else (_DEFINITIONS, _DEFINITION_GAIN)
    )
    places: defaultdict[tuple[int, str, str], list[int]] = defaultdict(list)
    for place, number in enumerate(windows.chunk_of.tolist()):
        chunk = windows.chunks[number].chunk
        if within := chunk.header_path or chunk.symbol:
            places[windows.folders[number], windows.chunks[number].path, within].append(place)
    several = [each for each in places.values() if len(each) > 1]
    best = sorted(several, key=lambda each: -float(np.sort(scores[each])[-3:].sum()) / 3)
    gained = np.zeros(len(scores))
    for number, each in enumerate(best[:most]):
        gained[each] = gain * _NEXT_GAIN**number
    return gained


def _reasons(windows: Windows, parts: Floats) -> list[str]:
    """What speaks for each window, in words; `parts` are float64[signals, windows].

    What few windows have tells more than the words that it holds of the question, and these more than that it is near in meaning,
    as most are.
    """
    telling = _strongest(parts, _TELLING)
    usual = _strongest(parts - parts.mean(axis=1, keepdims=True), _USUAL)
    held = windows.counts > 0
    rarest = np.argsort(-windows.idf, kind="stable")
    reasons = []
    for place, (strongest, other) in enumerate(zip(telling, usual, strict=True)):
        text = windows.texts[place]
        named = [name for name in windows.names if name in text]
        defines = windows.chunks[int(windows.chunk_of[place])].chunk.defines
        terms = (named or [windows.query.terms[term] for term in rarest if held[place, term]])[:_TERMS_SHOWN]
        number = strongest if strongest >= 0 else _WORDS if terms else other
        reason = SIGNALS[number].reason if number >= 0 else ""
        step = windows.step_of[place]
        reasons.append(
            reason.format(
                terms=", ".join(terms),
                names=", ".join(named[:_TERMS_SHOWN]),
                defined=", ".join([name for name in named if name in defines][:_TERMS_SHOWN]),
                step=step.reason if step else "",
            )
        )
    return reasons


def _strongest(parts: Floats, which: Sequence[int]) -> list[int]:
    """For each window the place of the signal out of `which` that adds most; -1 where none adds anything that counts."""
    chosen = parts[list(which)]
    strongest = np.asarray(which)[chosen.argmax(axis=0)]
    found: list[int] = np.where(chosen.max(axis=0) > _LEAST_TELLING, strongest, -1).tolist()
    return found
