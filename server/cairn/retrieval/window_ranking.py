"""Rank windows of found files, a few lines each, for search, discovery, context and related passages, and
measure how well the best ones answer: by their similarity and the terms in them. A search shows further
passages of its files beside each file's best chunk."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cached_property, partial

import numpy as np
from attrs import define, frozen

from cairn.embedding.static import StaticTable
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.store.deadline import check_end
from cairn.retrieval.candidates import Floats
from cairn.retrieval.place_choice import Shown
from cairn.retrieval.question_kinds import QuestionKind
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked, by_key
from cairn.retrieval.widening import Family, Walk, families
from cairn.retrieval.window_columns import Windows, gather_windows
from cairn.retrieval.window_signals import SIGNALS
from cairn.retrieval.windows import Passage, definition_worth
from cairn.text.identifiers import identifier_words
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind
from cairn.workspace.ignore_patterns import Selection

_BEST = 3
"""How many passages the mean similarity covers. A single passage may be similar by chance."""
_FILES_OF = 5
"""How many of the best passages choose the files whose terms count. A file's passages count together."""
_LEAST_INTRODUCTION = 0.5
_LEAST_SCORE = 1e-6
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
    terms_by_definition: tuple[frozenset[int], ...] = ()
    """The positions of the terms that each of the best definitions contains, in its passages or its name."""


def strength(windows: Windows, scores: Floats, similarities: Floats) -> Strength:
    """Measure the passages. `scores` and `similarities` are float64[windows] with at least one window."""
    check_end()
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
        terms_by_definition=tuple(
            frozenset(np.flatnonzero(holds[places].any(axis=0)).tolist())
            | windows.terms_in_heading(places[0])
            for places in _best_definitions(windows, scores)
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


MOST_CHUNKS = 150
"""How many chunks are cut into windows. Of the lines that experts cite for 54 questions, discovery shows or
names 0.60 within 2,000 tokens with 100 chunks, 0.63 with 150, and 0.62 with 250."""


_NEIGHBOUR_GAIN = 0.2
"""The share of the better neighbour's score that a window gains."""
_MOST_BETWEEN = 3
"""The number of lines between two windows, which are blank or brackets, up to which they are neighbours."""
_DEFINITIONS, _DEFINITION_GAIN, _NEXT_GAIN = 8, 0.1, 0.75
"""The number of best definitions that get a bonus, the bonus of the first, and the factor for each next."""
(_MEANING,) = by_key(SIGNALS, "meaning")
_WIDENED = {QuestionKind.FLOW, QuestionKind.CHANGE}
"""The kinds of questions for which further chunks are added to those found."""
_SEARCHED = 60
"""How many of the best code windows are searched for lists, and for functions that call each other."""
(_WORDS,) = by_key(SIGNALS, "words")
_DISTINCTIVE = [n for n, signal in enumerate(SIGNALS) if signal.reason and n not in (_WORDS, _MEANING)]
"""The signals that explain a window well, because most windows lack them."""
_LEAST_DISTINCTIVE = 0.2
"""The least that a signal must add to a window's score to be its reason."""
_TERMS_SHOWN = 4
"""How many words a reason names. It is shown in a heading, which has no room for more."""


def best_chunks(ranking: Ranking, table: StaticTable | None, limit: int) -> list[Ranked]:
    """Return the `limit` chunks with the best passages, best first; none if the query is a name."""
    best: dict[tuple[int, int], Ranked] = {}
    if not ranking.legs.query.is_symbol:
        for passage in rank_passages(ranking, table)[0]:
            chunk = Ranked(passage.folder, passage.stored, passage.score, "hybrid", ())
            best.setdefault((passage.folder, passage.stored.id), chunk)
    return list(best.values())[:limit]


def rank_passages(
    ranking: Ranking,
    table: StaticTable | None,
    most: int = MOST_CHUNKS,
    files: Set[tuple[int, str]] | None = None,
) -> tuple[list[Passage], Strength | None]:
    """Return the windows of the `most` most promising chunks, best first, and their strength, None without
    windows. With `files` (folder and path), only found chunks of these files are cut."""
    windows = gather_windows(ranking, table, most, files)
    if not windows:
        return [], None
    parts, scores = _scored(windows)
    if files is None and windows.kinds & _WIDENED:
        listed: Sequence[Family] = ()
        if QuestionKind.CHANGE in windows.kinds and (
            listed := families([windows.lines[place] for place in _best_places(windows, scores)])
        ):
            windows = gather_windows(ranking, table, most, listed=listed)
            parts, scores = _scored(windows)
        walk = Walk(ranking.readers, windows.nearness, _path_filter(ranking))
        if steps := walk.steps(_best_code(windows, scores)):
            windows = gather_windows(ranking, table, most, listed=listed, steps=steps)
            parts, scores = _scored(windows)
    reasons, order = _Reasons(windows, parts), np.argsort(-scores, kind="stable")
    columns = windows.chunk_of[order], *windows.in_file[order].T, scores[order], order
    found = [
        Passage(windows.folders[chunk], windows.chunks[chunk], first, last, score, partial(reasons.of, place))
        for chunk, first, last, score, place in zip(*(each.tolist() for each in columns), strict=True)
    ]
    return found, strength(windows, scores, parts[_MEANING] / SIGNALS[_MEANING].weight)


def _path_filter(ranking: Ranking) -> Callable[[int, str], bool]:
    """Return a predicate that tells whether the query's filter includes a path of a folder."""
    filters = [ranking.legs.only.paths_in(reader.root) for reader in ranking.readers]
    chosen = [None if patterns is None else Selection(patterns) for patterns in filters]

    def is_included(folder: int, path: str) -> bool:
        selection = chosen[folder]
        return selection is None or selection.names(path)

    return is_included


def _best_places(windows: Windows, scores: Floats) -> list[int]:
    code = [place for place in np.argsort(-scores, kind="stable").tolist() if windows.is_code[place]]
    return code[:_SEARCHED]


def _best_code(windows: Windows, scores: Floats) -> Iterator[Passage]:
    for place in _best_places(windows, scores):
        number = int(windows.chunk_of[place])
        stored = windows.chunks[number]
        if stored.kind not in (FileKind.TESTS, FileKind.EXAMPLES):
            yield Passage(windows.folders[number], stored, *windows.at(place), float(scores[place]))


def _scored(windows: Windows) -> tuple[Floats, Floats]:
    """Return what each signal adds, float64[signals, windows], and the scores relative to the best of these
    sums, float64[windows]."""
    check_end()
    parts = np.stack([signal.weight * signal.value(windows) for signal in SIGNALS])
    sums = parts.sum(axis=0)
    scores = sums / max(_LEAST_SCORE, float(sums.max()))
    scores += _NEIGHBOUR_GAIN * _neighbours(windows, scores)
    return parts, scores + _definition_bonus(windows, scores)


def _neighbours(windows: Windows, scores: Floats) -> Floats:
    """Return the better score of the windows directly before and after each one in its file; 0 without any.
    An answer seldom skips lines of a definition."""
    numbers: dict[tuple[int, str], int] = {}
    every = ((folder, stored.path) for folder, stored in zip(windows.folders, windows.chunks, strict=True))
    number = windows.of_chunks([numbers.setdefault(file, len(numbers)) for file in every])
    first, last = windows.in_file.T
    gaps = first[1:] - last[:-1]
    touch = (number[1:] == number[:-1]) & (gaps >= 0) & (gaps <= _MOST_BETWEEN)
    before, after = np.zeros((2, len(scores)))
    before[1:][touch], after[:-1][touch] = scores[:-1][touch], scores[1:][touch]
    better: Floats = np.maximum(before, after)
    return better


def _definition_bonus(windows: Windows, scores: Floats) -> Floats:
    """Return the bonus of the windows in the best definitions and sections. Answers often fill several."""
    bonus = np.zeros(len(scores))
    for number, places in enumerate(_best_definitions(windows, scores)):
        bonus[places] = _DEFINITION_GAIN * _NEXT_GAIN**number
    return bonus


def _best_definitions(windows: Windows, scores: Floats) -> list[list[int]]:
    """Return the indices of the windows of each of the best definitions and sections, best first."""
    places: defaultdict[tuple[int, str, str | int], list[int]] = defaultdict(list)
    for place, number in enumerate(windows.chunk_of.tolist()):
        stored = windows.chunks[number]
        within = stored.chunk.header_path or stored.chunk.symbol or stored.id
        places[windows.folders[number], stored.path, within].append(place)

    return sorted(places.values(), key=lambda each: definition_worth(scores[each]), reverse=True)[
        :_DEFINITIONS
    ]


@define(eq=False)
class _Reasons:
    """The reasons of windows. A distinctive signal is the best reason, then words of the question, then
    similarity in meaning, which most windows have."""

    windows: Windows
    parts: Floats
    """float64[signals, windows]: what each signal adds."""

    @cached_property
    def _distinctive(self) -> list[int]:
        return _strongest(self.parts, _DISTINCTIVE)

    @cached_property
    def _usual(self) -> list[int]:
        return _strongest(self.parts - self.parts.mean(axis=1, keepdims=True), [_MEANING])

    def of(self, place: int) -> str:
        windows, text = self.windows, self.windows.text(place)
        named = [name for name in windows.names if name in text]
        defines = windows.chunks[int(windows.chunk_of[place])].chunk.defines
        rarest = sorted(np.flatnonzero(windows.counts[place]), key=lambda term: -windows.idf[term])
        terms = (named or [windows.query.terms[term] for term in rarest])[:_TERMS_SHOWN]
        strongest = self._distinctive[place]
        number = strongest if strongest >= 0 else _WORDS if terms else self._usual[place]
        step = windows.step_of[place]
        return (SIGNALS[number].reason if number >= 0 else "").format(
            terms=", ".join(terms),
            names=", ".join(named[:_TERMS_SHOWN]),
            defined=", ".join([name for name in named if name in defines][:_TERMS_SHOWN]),
            step=step.reason if step else "",
        )


def _strongest(parts: Floats, which: Sequence[int]) -> list[int]:
    """Return for each window the index of the signal in `which` that adds most; -1 if none adds enough."""
    chosen = parts[list(which)]
    strongest = np.asarray(which)[chosen.argmax(axis=0)]
    found: list[int] = np.where(chosen.max(axis=0) > _LEAST_DISTINCTIVE, strongest, -1).tolist()
    return found


# --- the passages of a search's results ---------------------------------------------------------

_LEAST_OF_BEST = 0.6
"""The minimum score of a further passage, as a share of the best passage's score. A file with only weaker
passages shows its best chunk alone."""
_GAP = 20
"""The maximum number of lines between two passages that are joined; these lines are shown too. With 12, the
share of facts found within 4,000 tokens for 93 questions was 0.03 lower."""
_MOST_JOINED = 80
_PASSAGE_GAIN = 0.08
"""The maximum bonus of a file for its best passage; the score itself is at most 1. For 55 questions about a
tree of 78,000 files it raises the mean reciprocal rank from 0.55 to 0.57; 0.25 raises it to 0.59. The NDCG@10
of the development set is 0.886 with 0.05 and 0.08, 0.883 with 0.1, 0.88 with 0.15."""
_CHUNKS_PER_FILE = 2
"""The average number of chunks read for each shown file."""


@define
class FurtherPassage:
    """Lines `[first, last)` of a file, shown beside those of a result."""

    best: Passage
    first: int
    last: int
    text: str = ""


@frozen
class Passages:
    """The passages of a file that are shown with one of its results."""

    further: Sequence[FurtherPassage] = ()
    best: tuple[int, int] | None = None
    """The lines `[first, last)` that the result shares with the file's best passage."""


NO_PASSAGES = Passages()


def passages_of_results(
    ranking: Ranking, found: Sequence[Ranked], table: StaticTable | None
) -> tuple[list[Passage], Strength | None]:
    """Return the passages of the found files, best first, and their strength; none if the query is a name."""
    files = {(result.folder, result.stored.path) for result in found}
    if not files or ranking.legs.query.is_symbol:
        return [], None
    return rank_passages(ranking, table, _CHUNKS_PER_FILE * len(files), files)


def by_best_passage(found: Sequence[Ranked], passages: Sequence[Passage]) -> list[Ranked]:
    """Return the results in the order of their scores plus a bonus for each file's best passage. A passage of
    some lines is more precise than a chunk, whose one vector stands for all that the chunk does."""
    if not passages:
        return list(found)
    best: dict[tuple[int, str], float] = {}
    for passage in passages:
        best.setdefault((passage.folder, passage.stored.path), passage.score)
    highest, least = max(passages[0].score, _LEAST_SCORE), passages[-1].score
    worth = [
        result.score + _PASSAGE_GAIN * best.get((result.folder, result.stored.path), least) / highest
        for result in found
    ]
    order = sorted(range(len(found)), key=lambda place: -worth[place])
    scores = sorted((result.score for result in found), reverse=True)
    return [found[place].with_score(score) for place, score in zip(order, scores, strict=True)]


def shown_passages(
    ranking: Ranking, ranked: Sequence[Passage], shown: Sequence[Shown], most: int
) -> list[Passages]:
    """Return the passages of each result: its best lines, and up to `most` further passages of its file."""
    further = further_passages(ranking, ranked, shown, most)
    return list(map(Passages, further, _best_lines(ranked, shown)))


def further_passages(
    ranking: Ranking, ranked: Sequence[Passage], shown: Sequence[Shown], most: int
) -> list[Sequence[FurtherPassage]]:
    """Return for each result up to `most` passages of its file, best first, without overlaps."""
    files = {(row.ranked.folder, row.ranked.stored.path): row for row in reversed(shown)}
    ranked = [each for each in ranked if (each.folder, each.stored.path) in files]
    if most <= 0:
        return [()] * len(shown)
    found: dict[tuple[int, str], list[FurtherPassage]] = {file: [] for file in files}
    for passage in ranked:
        if passage.score < _LEAST_OF_BEST * ranked[0].score:
            break
        file = passage.folder, passage.stored.path
        _add(found[file], passage, (files[file].first, files[file].last), most)
    for (folder, path), of_file in found.items():
        found[folder, path] = [each for each in of_file if _read(each, ranking.readers[folder], path)]
    # Only the first result of a file gets the file's further passages.
    return [found.pop((row.ranked.folder, row.ranked.stored.path), ()) for row in shown]


def _best_lines(ranked: Sequence[Passage], shown: Sequence[Shown]) -> list[tuple[int, int] | None]:
    """Return for each row the lines `[first, last)` shared with its file's best passage, or None."""
    of_file: defaultdict[tuple[int, str], list[Passage]] = defaultdict(list)
    for each in ranked:
        of_file[each.folder, each.stored.path].append(each)
    best: list[tuple[int, int] | None] = []
    for row in shown:
        every = of_file[row.ranked.folder, row.ranked.stored.path]
        parts = ((max(each.first, row.first), min(each.last, row.last)) for each in every)
        best.append(next(((first, last) for first, last in parts if first < last), None))
    return best


def _add(found: list[FurtherPassage], passage: Passage, shown: tuple[int, int], most: int) -> None:
    """Add the passage to `found`, or join it to near ones. `shown` are the lines of the file's result."""
    first, last = passage.first, passage.last
    if first < shown[1] and shown[0] < last:
        return
    if shown[1] <= first <= shown[1] + _GAP:
        first = shown[1]
    elif shown[0] - _GAP <= last <= shown[0]:
        last = shown[0]
    between = [each for each in found if (each.first >= shown[1]) == (first >= shown[1])]
    near = [each for each in between if first <= each.last + _GAP and each.first - _GAP <= last]
    if not near:
        if len(found) < most:
            found.append(FurtherPassage(passage, first, last))
        return
    first, last = min(first, *(each.first for each in near)), max(last, *(each.last for each in near))
    if last - first <= _MOST_JOINED:
        near[0].first, near[0].last = first, last
        for each in near[1:]:
            found.remove(each)


def _read(passage: FurtherPassage, reader: IndexReader, path: str) -> bool:
    """Set the passage's text from the index, trimmed of blank lines. Return False if no text is left."""
    lines: dict[int, str] = {}
    best = passage.best.stored
    is_within = best.chunk.start_line <= passage.first and passage.last <= best.chunk.end_line
    for stored in [best] if is_within else reader.between(path, passage.first, passage.last):
        own = lines_of(stored.chunk.text.removesuffix("\n"))
        lines.update(enumerate(own, stored.chunk.start_line))
    numbers = [n for n in range(passage.first, passage.last) if lines.get(n, "").strip()]
    if numbers:
        passage.first, passage.last = numbers[0], numbers[-1] + 1
        passage.text = "\n".join(lines.get(n, "") for n in range(passage.first, passage.last))
    return bool(numbers)
