"""Name further places for a question whose best lines are shown: the next definitions by rank, and what the
shown lines call, use, or are called by. A reader who sees what is shown chooses among names better than any
ranking does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import Edge
from cairn.index.references.edges import Place as Definition
from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.places import TOP, Outline
from cairn.retrieval.widening import MOST_FILES
from cairn.retrieval.windows import Passage, definition_worth
from cairn.workspace.collections import TEST_MODULES, FileKind, file_kind

_RANKED = 400
"""How many of the best passages are grouped by definition."""
_USED, _CALLING = 0.5, 0.5
"""What a definition gains if the shown lines use it, or if it calls one that they show."""
_MOST_REFERENCES = 60
"""How many references of the shown lines are followed. When this was chosen, 0.690 of the lines that experts
cite for 89 questions were shown or named within 2,000 tokens; with 40 references 0.688, with 100 0.694."""
_FOLLOWED = 2
"""The number of shown functions, those with the most lines, whose callers are found."""
_MOST_CALLERS = 20
_LONGEST, _LONGEST_CONTAINER = 200, 100
"""The maximum number of lines of a place, and of a type, of which the members are named if it is longer."""
_LEAST_LEFT = 8
"""The number of lines of a partly shown place that are worth naming."""
_LEAST_LINES = 4
"""The same of a place that nothing shown refers to. Shorter ones, such as a flag, would fill the list."""
_LEAST_CONFIDENCE = 0.3
_BESIDE = 0.5
"""The factor for references from tests and examples."""
_MOST_OF_A_FILE = 8
_SECTION = 0.7
"""The factor for the worth of a section of a document: those of a long manual would fill the list."""


@frozen
class Lines:
    """Lines `[first, last)` of a file."""

    folder: int
    path: str
    first: int
    last: int


@frozen
class NamedLines:
    """The lines of a definition or section that are not shown, its name, and how it belongs to what is."""

    lines: Lines
    line: int
    """The line that has the name."""
    name: str
    title: str
    """The name after those of the enclosing definitions."""
    kind: str
    relation: str = ""


@define(eq=False)
class Elsewhere:
    """Finds the places for one question."""

    readers: Sequence[IndexReader]
    outlines: Mapping[tuple[int, str], Outline]
    """The outlines of the files with passages, by folder and path."""
    _worth: defaultdict[Lines, float] = field(factory=lambda: defaultdict(float), init=False)
    _named: dict[Lines, NamedLines] = field(factory=dict, init=False)

    def places(self, passages: Sequence[Passage], shown: Sequence[Lines]) -> list[NamedLines]:
        """Return the places, best first. `passages` are those of the question, best first; `shown` are the
        lines that a reader sees, in any order."""
        self._by_rank(passages)
        for folder in range(len(self.readers)):
            self._by_reference(folder, [each for each in shown if each.folder == folder])
        seen: defaultdict[tuple[int, str], set[int]] = defaultdict(set)
        for each in shown:
            seen[each.folder, each.path].update(range(each.first, each.last))
        found: list[NamedLines] = []
        names, in_file = set[str](), Counter[tuple[int, str]]()
        for lines in sorted(self._worth, key=lambda each: -self._worth[each]):
            named, own = self._named[lines], range(lines.first, lines.last)
            here = seen[lines.folder, lines.path]
            file = lines.folder, lines.path
            # Copies of a file, such as built ones, have the same names.
            if named.title in names or in_file[file] == _MOST_OF_A_FILE:
                continue
            left = [line for line in own if line not in here]
            least = _LEAST_LEFT if len(left) < len(own) else 1 if named.relation else _LEAST_LINES
            longest = _LONGEST_CONTAINER if named.kind in CONTAINERS else _LONGEST
            if len(own) <= longest and len(left) >= least:
                here.update(own)
                names.add(named.title)
                in_file[file] += 1
                found.append(evolve(named, lines=evolve(lines, first=left[0], last=left[-1] + 1)))
        return found

    def _by_rank(self, passages: Sequence[Passage]) -> None:
        """Add the definitions and sections of the best passages, with a worth of 0 to 1."""
        scores: defaultdict[Lines, list[float]] = defaultdict(list)
        for each in passages[:_RANKED]:
            path = each.stored.path
            place = self.outlines[each.folder, path].around(each.first, each.last)
            if place.line is not None and each.score > 0:
                lines = Lines(each.folder, path, place.start, place.end)
                scores[lines].append(each.score / passages[0].score)
                title = ".".join((*place.around, place.name)) if place.kind else place.name
                self._named[lines] = NamedLines(lines, place.line, place.name, title, place.kind)
        for lines, found in scores.items():
            named = self._named[lines]
            beside = _BESIDE if _is_beside(named) else 1.0
            self._worth[lines] = definition_worth(found) * (1.0 if named.kind else _SECTION) * beside

    def _by_reference(self, folder: int, shown: Sequence[Lines]) -> None:
        graph = ReferenceGraph(self.readers[folder], MOST_FILES)
        left, heights = _MOST_REFERENCES, Counter[tuple[str, int]]()
        for lines in shown:
            outline = self.outlines[folder, lines.path]
            owners = [outline.places[n] for n in outline.owners_of(lines.first, lines.last) if n != TOP]
            heights.update((lines.path, each.line or 0) for each in owners if each.kind in CALLABLE)
            edges = graph.meant(lines.path, lines.first, lines.last, left).found
            left -= len(edges)
            for edge in edges:
                if edge.target is not None and edge.confidence >= _LEAST_CONFIDENCE:
                    by = edge.enclosing.name if edge.enclosing else lines.path.rpartition("/")[2]
                    how = "called" if edge.target.kind in CALLABLE else "used"
                    self._add(folder, edge.target, _USED * _trust(edge), f"{how} by {by}")
        for (path, line), _ in heights.most_common(_FOLLOWED):
            called = graph.around(path, line)
            for edge in graph.callers([called], _MOST_CALLERS).found if called else ():
                if called and edge.enclosing is not None:
                    self._add(folder, edge.enclosing, _CALLING * _trust(edge), f"calls {called.name}")

    def _add(self, folder: int, found: Definition, worth: float, relation: str) -> None:
        lines = Lines(folder, found.path, found.start_line, found.end_line)
        known = self._named.get(lines)
        if known is None or not known.relation:  # The first relation counts.
            self._named[lines] = NamedLines(
                lines, found.line, found.name, found.qualified, found.kind, relation
            )
            self._worth[lines] += worth


def _is_beside(named: NamedLines) -> bool:
    """Whether the place is in tests or examples. In Rust, tests are in a module of the tested file."""
    is_beside = file_kind(named.lines.path) in (FileKind.TESTS, FileKind.EXAMPLES)
    return is_beside or named.title.partition(".")[0] in TEST_MODULES


def _trust(edge: Edge) -> float:
    """Return how much a reference counts, 0 to 1. An unsure one still gives a name to choose."""
    beside = file_kind(edge.path) in (FileKind.TESTS, FileKind.EXAMPLES)
    return (0.5 + edge.confidence / 2) * (_BESIDE if beside else 1.0)
