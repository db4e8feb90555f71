"""What connects the files of a folder with a change: references, imports, names, words, meaning and history.

The tests to run and the companions of a change are both chosen by this evidence, so it is collected once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol

from attrs import define, field, frozen

from cairn.change.changed_text import ChangedText, Limit
from cairn.chunking.outline import CONTAINERS
from cairn.chunking.references.symbol_table import ReferenceKind
from cairn.index.queries.history import Histories, Together, histories
from cairn.index.queries.relations import imports_around
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import Edge, Place, place_of
from cairn.index.references.graph import ReferenceGraph
from cairn.index.store.deadline import check_end
from cairn.languages.registry import CONFIG_LANGUAGES, PROSE_LANGUAGES, detect_language
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.collections import FileKind
from cairn.workspace.diff import Change, FileChange

_MOST_DEFINITIONS = 60
"""The maximum number of changed definitions whose users are looked up."""
_MOST_EDGES, _MOST_CALLS = 1_000, 300
_MOST_OWNERS = 20
"""The maximum number of types around changed members whose users are looked up."""
_MOST_STEPS = 3
_MOST_FOLLOWED = 15
"""The maximum number of functions that are followed at each step."""
_FEW_FILES = 40
"""A function that more files mention is not followed."""
_LIKELY = 0.4
"""The minimum confidence of a call that is followed."""
_STEP = 0.8
"""The factor of confidence for each further call."""
_IMPORTED = 0.7
"""The factor for an import of a changed definition."""


class Subject(Protocol):
    """A changed definition."""

    @property
    def index(self) -> int:
        """The number in the answer's list of changed definitions."""

    @property
    def kind(self) -> ChangeKind: ...

    @property
    def path(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> Place | None:
        """The definition in the folder as it is; None if it is not there."""


@frozen
class Concerned:
    """A file that a change concerns: a test to run, or a companion."""

    path: str
    line: int
    """The line of the place in the file, 0-based: the test, the reference; else the first line."""
    symbol: str
    """The qualified name of the function, type or test at the line, "" for none."""
    kind: str
    """The `kind` of a ChangePlace."""
    reasons: tuple[str, ...]
    """The strongest reason first."""
    confidence: float
    """From 0 to 1."""
    about: tuple[int, ...] = ()
    """The indexes of the changed definitions that the file uses."""
    tests: tuple[str, ...] = ()
    """The qualified names of the file's tests that use them, the likeliest first."""
    text: str = ""
    """The sentence of a document; "" for the text of the line."""


@frozen
class Use:
    """A reference to a changed definition, direct or over some calls."""

    about: int
    edge: Edge
    confidence: float
    steps: int = 1
    """The number of calls that lead to the definition."""
    through: Place | None = None
    """The function that the reference calls, if it is not the changed definition."""


@define(eq=False)
class Evidence:
    """All that connects files with a change. `uses` has the references to each changed definition by its
    index, if they are already known."""

    reader: IndexReader
    graph: ReferenceGraph
    change: Change
    subjects: Sequence[Subject]
    known_uses: Mapping[int, Sequence[Edge]] | None = None
    limit: Limit = field(factory=Limit, init=False)

    # --- the change ---------------------------------------------------------------------------------

    @cached_property
    def code(self) -> list[FileChange]:
        """The changed files with code; the others say little about code that belongs to them."""
        return [file for file in self.change.files if is_code(file.path)]

    @cached_property
    def paths(self) -> list[str]:
        """The paths of the changed code, those before the change included."""
        both = (path for file in self.code for path in (file.path, file.before_path) if path)
        return list(dict.fromkeys(both))

    @cached_property
    def weights(self) -> dict[str, float]:
        """The share of each of `paths` in the change, from one half to 1 for the file with most lines."""
        lines = {
            path: sum(len(hunk.removed) + len(hunk.added) for hunk in file.hunks)
            for file in self.code
            for path in (file.path, file.before_path)
            if path
        }
        most = max(lines.values(), default=0) or 1
        return {path: 0.5 + 0.5 * lines[path] / most for path in self.paths}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of every file of the folder, by path."""
        return dict(self.reader.select_all("SELECT path, kind FROM files WHERE is_text"))

    def is_test(self, path: str) -> bool:
        return self.kinds.get(path) == FileKind.TESTS

    @cached_property
    def definitions(self) -> list[Subject]:
        """The changed definitions that are in the folder or have uses there, those that say most first."""
        known = self.known_uses or {}
        present = [each for each in self.subjects if each.name and (each.place or each.index in known)]
        return present[:_MOST_DEFINITIONS]

    @cached_property
    def text(self) -> ChangedText:
        """The words and the meaning of the changed lines."""
        names = [each.name for each in self.subjects]
        return ChangedText(self.reader, self.code, names, self.kinds, self.limit)

    def collections(self, *, tests: bool) -> tuple[str, ...]:
        """Return the collections of the tests, or all others."""
        every = self.reader.stats().collections
        return tuple(each.name for each in every if (each.kind == FileKind.TESTS) == tests)

    # --- references ---------------------------------------------------------------------------------

    @cached_property
    def uses(self) -> dict[str, list[Use]]:
        """The direct references to changed definitions, by file."""
        found: dict[str, list[Use]] = defaultdict(list)
        with self.limit.in_time():
            for each in self.definitions:
                check_end()
                for edge in self._edges(each):
                    found[edge.path].append(Use(each.index, edge, _strength(edge)))
        return found

    def _edges(self, subject: Subject) -> Iterable[Edge]:
        if self.known_uses is not None and subject.index in self.known_uses:
            return self.known_uses[subject.index]
        return self.graph.uses([subject.place], _MOST_EDGES, is_near=True).found if subject.place else ()

    @cached_property
    def uses_of_owners(self) -> dict[str, list[Use]]:
        """The references to types whose members changed, by file."""
        found: dict[str, list[Use]] = defaultdict(list)
        with self.limit.in_time():
            for owner, about in self._owners():
                for edge in self.graph.uses([owner], _MOST_EDGES, is_near=True).found:
                    found[edge.path].append(Use(about, edge, _strength(edge), through=owner))
        return found

    def _owners(self) -> list[tuple[Place, int]]:
        """Return the types around changed members that did not change themselves, and a member of each."""
        changed = {each.place for each in self.definitions}
        owners: dict[Place, int] = {}
        for each in self.definitions:
            symbol = self.graph.symbol(each.place) if each.place else None
            for number in symbol.scopes()[1:] if symbol else ():
                around = symbol.at(number) if symbol else None
                if around is not None and around.kind in CONTAINERS - {"impl", "extension", "module"}:
                    owners.setdefault(place_of(around), each.index)
        return [(owner, about) for owner, about in owners.items() if owner not in changed][:_MOST_OWNERS]

    @cached_property
    def indirect_uses(self) -> dict[str, list[Use]]:
        """The calls that lead to changed definitions over further calls, by file."""
        found: dict[str, list[Use]] = defaultdict(list)
        seen = {each.place for each in self.definitions if each.place}
        level = [use for uses in self.uses.values() for use in uses]
        with self.limit.in_time():
            for steps in range(2, _MOST_STEPS + 1):
                best = self._followed(level, seen)
                level = []
                for place, use in best:
                    check_end()
                    seen.add(place)
                    for edge in self.graph.callers([place], _MOST_CALLS).found:
                        level.append(
                            Use(use.about, edge, edge.confidence * use.confidence * _STEP, steps, place)
                        )
                        found[edge.path].append(level[-1])
        return found

    def _followed(self, level: Iterable[Use], seen: Collection[Place]) -> list[tuple[Place, Use]]:
        """Return the functions outside of tests with these uses whose callers are looked up, the surest
        first, each with its surest use."""
        best: dict[Place, Use] = {}
        for use in level:
            place = use.edge.enclosing
            if place is None or place in seen or use.confidence < _LIKELY or self.is_test(use.edge.path):
                continue
            if place not in best or best[place].confidence < use.confidence:
                best[place] = use
        rare = [each for each in best if self.graph.tables.count_mentioning(each.name) <= _FEW_FILES]
        rare.sort(key=lambda each: (-best[each].confidence, each.path, each.line))
        return [(place, best[place]) for place in rare[:_MOST_FOLLOWED]]

    # --- imports ------------------------------------------------------------------------------------

    @cached_property
    def importers(self) -> dict[str, list[str]]:
        """The files that import changed ones, each with these."""
        return self._imports[0]

    @cached_property
    def imported(self) -> dict[str, list[str]]:
        """The files that changed ones import, each with these."""
        return self._imports[1]

    @cached_property
    def _imports(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        importers: dict[str, list[str]] = defaultdict(list)
        imported: dict[str, list[str]] = defaultdict(list)
        with self.limit.in_time():
            for path in self.paths:
                if path in self.kinds:
                    targets, sources = imports_around(self.reader, path)
                    for each in sources:
                        importers[each].append(path)
                    for each in targets:
                        imported[each].append(path)
        return importers, imported

    # --- history ------------------------------------------------------------------------------------

    @cached_property
    def _histories(self) -> Histories:
        return histories(self.reader)

    @cached_property
    def _history(self) -> tuple[dict[str, Together], int]:
        return self._histories.changed_with(self.paths)

    @property
    def together(self) -> dict[str, Together]:
        """How often other files changed in the commits of the changed ones."""
        return self._history[0]

    @property
    def commits(self) -> int:
        """The number of earlier commits of the changed files."""
        return self._history[1]

    def togetherness(self, path: str) -> float:
        """Return how often a file changed with the changed ones, 0 to 1: the root of the share."""
        return math.sqrt(self.together[path].value) if path in self.together else 0.0

    def how_often(self, path: str) -> str:
        """Return in words how often a file changed with the changed ones."""
        shared = self.together[path].shared if path in self.together else 0
        return f"changed with it in {shared} of its {self.commits} commits" if shared else ""

    def recency(self, path: str) -> float:
        """Return how lately a file changed in comparison with the others, from 0 to 1 for the last one."""
        return self._histories.recency(path)


def _strength(edge: Edge) -> float:
    """Return the confidence of a reference, less for an import, which its uses tell more about."""
    return edge.confidence * (_IMPORTED if edge.kind is ReferenceKind.IMPORT else 1.0)


def chance(score: float, half: float, slope: float) -> float:
    """Return the share, 0 to 1, of files with a score that belong to the change: one half at `half`."""
    return 1 / (1 + math.exp(slope * (half - score)))


@lru_cache(50_000)
def is_code(path: str) -> bool:
    language = detect_language(path)
    return bool(language) and language not in CONFIG_LANGUAGES and language not in PROSE_LANGUAGES
