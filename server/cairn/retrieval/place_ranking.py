"""Choose the definitions and sections that a search shows.

`ranking` ranks files, and `window_ranking` their windows of a few lines. A result is a place in a file: the
definition or section with the lines that match best, or with the name that was typed. For a question, each
file shows its best place, in the order of the files. A few words often are a name, or a part of one, so the
places of all found files compete, also by their names.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.index.reader.records import StoredChunk
from cairn.index.store.deadline import check_end
from cairn.languages.syntax import PROTOTYPE
from cairn.retrieval.evidence_lines import is_comment
from cairn.retrieval.places import TOP, Outline, Place, outlines_of_folders
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked
from cairn.retrieval.windows import Passage
from cairn.text.identifiers import words_in
from cairn.text.nearest import letters_of
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind

_KINDS = {
    "field": 0.0, "parameter": 0.0, "test": 0.2, "variable": 0.3, "property": 0.3, "module": 0.3, "impl": 0.5,
    "constant": 0.5, "constructor": 0.6, "type": 0.8, "enum": 0.9,
}  # fmt: skip
"""How likely users look for a definition of each kind; 1 for all others, such as functions and types."""
_PER_FURTHER_WORD = 0.3
"""How much a further word in a name takes away: `ThemeStackError` means "theme stack" less than
`ThemeStack`."""
_LONG = 4.0
"""The logarithm of the number of lines from which a definition counts as long."""
_DECLARING = (".h", ".d.ts", ".pyi")
_LONGEST_LEAD = 30
"""The maximum number of lines above a definition that are shown with it."""


@define(eq=False)
class _Seen:
    """What the windows of a file say of one of its places."""

    best: float = 0.0
    """The score of the best window with lines of the place."""
    head: float = 0.0
    """The score of the best window with the line that names it."""
    terms: frozenset[int] = frozenset()
    chunk: StoredChunk | None = None
    """The chunk of the best window."""


@frozen(eq=False)
class Candidate:
    """A place that a search may show."""

    ranked: Ranked
    """The result of its file."""
    place: Place
    seen: _Seen
    is_whole: bool
    """Whether the name has all words of the query."""
    terms: frozenset[int]
    """The terms in the place, in its name, and in the names around it."""
    covered: float
    """The share of the query that these terms are, 0 to 1."""
    values: tuple[float, ...]
    """The values of SIGNALS."""

    @property
    def score(self) -> float:
        return float(sum(map(operator.mul, _WEIGHTS, self.values)))

    @property
    def share_of_file(self) -> float:
        """The score of its file as a share of the best file's."""
        return self.values[_FILE]

    @property
    def window(self) -> float:
        """The score of its best window as a share of the best window of all."""
        return self.values[_BEST_WINDOW]

    @property
    def file(self) -> tuple[int, str]:
        return self.ranked.folder, self.ranked.stored.path


WEIGHTS = {
    "file": 1.8,
    "words in the place": 2.5,
    "the window that names it": 3.2,
    "its best window": 2.2,
    "kind": 1.2,
    "length": 2.0,
    "words in the name": 0.5,
    "all words in the name": 7.0,
    "all words in the name and around it": 1.7,
    "the name itself": 2.0,
    "is a test": -4.0,
    "is documentation": -1.0,
    "is a declaration": -1.5,
    "is in a header": -0.8,
    "is a file": -1.5,
}
"""The weight of each value of a candidate, fitted on half of the repositories of `benchmarks/palette`."""
_WEIGHTS = tuple(WEIGHTS.values())
_FILE, _BEST_WINDOW = (list(WEIGHTS).index(name) for name in ("file", "its best window"))


@frozen(eq=False)
class Candidates:
    """The places of the found files, and what speaks for them."""

    words: QueryWords
    best_file: float
    best_window: float
    _files: Mapping[tuple[int, str], Ranked]
    """The best result of each file, by folder and path."""
    _windows: Mapping[tuple[int, str], Sequence[Passage]]
    _outlines: Mapping[tuple[int, str], Outline]
    _around: dict[tuple[str, ...], Mapping[int, float]] = field(factory=dict, init=False)
    """The terms in the names around places. Places of one class have the same names around them."""

    @classmethod
    def of(
        cls, words: QueryWords, ranking: Ranking, found: Sequence[Ranked], passages: Sequence[Passage]
    ) -> Candidates:
        """Collect the places of the found files. `passages` are windows of these. Of files without any, the
        found chunks count as windows."""
        files: dict[tuple[int, str], Ranked] = {}
        for each in found:
            files.setdefault((each.folder, each.stored.path), each)
        windows: defaultdict[tuple[int, str], list[Passage]] = defaultdict(list)
        for passage in passages:
            windows[passage.folder, passage.stored.path].append(passage)
        cut = set(windows)
        for each in found:
            if (file := (each.folder, each.stored.path)) not in cut:
                chunk = each.stored.chunk
                windows[file].append(Passage(each.folder, each.stored, chunk.start_line, chunk.end_line, 0.0))
        chunks = [(each.folder, each.stored) for each in found]
        chunks += [(each.folder, each.stored) for file in files for each in windows[file]]
        known = outlines_of_folders(ranking.readers, chunks)
        best_file = max((each.score for each in files.values()), default=0.0) or 1.0
        best_window = max((passage.score for passage in passages), default=0.0) or 1.0
        return cls(words, best_file, best_window, files, windows, known)

    def every(self) -> list[Candidate]:
        """Return the places that a window or a name speaks for, best first."""
        found = [each for file in self._files for each in self._of_file(file)]
        return sorted(found, key=lambda each: -each.score)

    def best_in(self, result: Ranked) -> Candidate:
        """Return the best place with lines in the chunk of a result."""
        check_end()
        file, chunk = (result.folder, result.stored.path), result.stored.chunk
        inside = [each for each in self._windows[file] if each.stored.id == result.stored.id]
        whole = Passage(result.folder, result.stored, chunk.start_line, chunk.end_line, 0.0)
        outline = self._outlines[file]
        seen = self._seen(outline, inside or [whole])
        found = (self._candidate(outline, number, each, result) for number, each in seen.items())
        return max(found, key=lambda each: each.score)

    def _of_file(self, file: tuple[int, str]) -> Iterator[Candidate]:
        outline, ranked, words = self._outlines[file], self._files[file], self.words
        seen = self._seen(outline, self._windows[file])
        openings = outline.named(words.openings)
        named = {n for n in openings if words.in_words(words_in(outline.places[n].name))}
        if outline.is_code and words.in_words(words_in(outline.file.name)):
            named.add(TOP)
        for number in sorted(seen.keys() | named):
            yield self._candidate(outline, number, seen.get(number, _Seen()), ranked)

    def _seen(self, outline: Outline, windows: Sequence[Passage]) -> dict[int, _Seen]:
        """Return the places with lines in the windows."""
        found: dict[int, _Seen] = {}
        for window in windows:
            start = window.stored.chunk.start_line
            text = lines_of(window.stored.chunk.text.removesuffix("\n"))
            lines = text[window.first - start : window.last - start]
            of_place: defaultdict[int, set[int]] = defaultdict(set)
            owners, in_lines = _owners(outline, window.first, lines), self.words.in_lines(lines)
            for number, terms in zip(owners, in_lines, strict=True):
                of_place[number] |= terms
            for number, own in of_place.items():
                each = found.setdefault(number, _Seen())
                each.terms |= own
                if each.chunk is None or window.score > each.best:
                    each.best, each.chunk = window.score, window.stored
                named = 0 if number == TOP else outline.places[number].line
                if named is not None and window.first <= named < window.last:
                    each.head = max(each.head, window.score)
        return found

    def _candidate(self, outline: Outline, number: int, seen: _Seen, ranked: Ranked) -> Candidate:
        place = outline.file if number == TOP else outline.places[number]
        words, count = self.words, len(self.words.query.terms)
        of_name = words_in(place.name)
        named = words.in_words(of_name)
        names_around = (*place.around, outline.file.name)
        if (around := self._around.get(names_around)) is None:
            around = words.in_words(tuple(word for name in names_around for word in words_in(name)))
            self._around[names_around] = around
        further = words.further(of_name, named)
        tight = sum(words.shares[term] * value for term, value in named.items())
        tight /= 1 + _PER_FURTHER_WORD * further
        if number == TOP and named:
            place = evolve(place, line=0)
        is_whole = bool(count) and len(named) == count and further <= count
        terms = frozenset(seen.terms | named.keys() | around.keys())
        covered = words.share(terms)
        query = words.query
        exact = float(letters_of(place.name) == words.letters)
        if query.is_symbol:
            exact = 1.0 if place.name in query.names else exact / 2
        values = (
            ranked.score / self.best_file,
            covered,
            seen.head / self.best_window,
            seen.best / self.best_window,
            _KINDS.get(place.kind, 1.0),
            min(1.0, math.log1p(place.end - place.start) / _LONG),
            tight,
            tight * is_whole,
            float(bool(named) and not further and len(named.keys() | around.keys()) == count),
            exact,
            float(ranked.stored.kind in (FileKind.TESTS, FileKind.EXAMPLES)),
            float(ranked.stored.kind == FileKind.DOCS),
            float(place.is_declaration or place.kind == PROTOTYPE),
            float(outline.path.endswith(_DECLARING)),
            float(number == TOP),
        )
        return Candidate(ranked, place, seen, is_whole, terms, covered, values)


def _owners(outline: Outline, first: int, lines: Sequence[str]) -> list[int]:
    """Return the innermost place of each line. A comment or decorator directly above a definition belongs to
    it."""
    owners = outline.owners_of(first, first + len(lines) + 1)
    for at in range(len(lines) - 1, -1, -1):
        below = owners[at + 1]
        if below not in (TOP, owners[at]) and outline.places[below].start > first + at and leads(lines[at]):
            owners[at] = below
    return owners[:-1]


def with_lead(lines: Sequence[str], start: int) -> int:
    """Return the index of the line at which the comments and decorators above the line `start` begin."""
    while start > 0 and leads(lines[start - 1]):
        start -= 1
        if lines[start].rstrip().endswith("*/"):
            # Within a block comment, lines need no marks.
            start = next((n for n in range(start, -1, -1) if "/*" in lines[n]), start)
    return start


def with_short_lead(lines: Sequence[str], start: int) -> int:
    """Return the same, but only the decorators count if there are over `_LONGEST_LEAD` lines."""
    begin = with_lead(lines, start)
    if start - begin <= _LONGEST_LEAD:
        return begin
    while start > 0 and is_decorator(lines[start - 1]):
        start -= 1
    return start


def is_decorator(line: str) -> bool:
    return line.lstrip().startswith(("@", "#["))


def leads(line: str) -> bool:
    """Return whether the line belongs to a definition that begins below it."""
    return is_comment(line) or is_decorator(line)
