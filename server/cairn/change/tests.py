"""Rank the tests to run for a change.

Each test file gets the weighted sum of what connects it with the change. The weights were chosen with half of
the repositories of `benchmarks/change`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import define

from cairn.change.definitions import Touched
from cairn.change.evidence import Concerned, Evidence, Use, is_code
from cairn.change.names import likeness, name_words, path_words
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.queries.relations import file_stem
from cairn.index.reader.filters import ChunkFilter
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.collections import TEST_MODULES, FileKind, file_kind

CALL, INDIRECT, OWNER, IMPORT, NAME, PATH, TOGETHER, RECENT, WORDS, TEXT, MEANING = (
    "call", "indirect", "owner", "import", "name", "path", "together", "recent", "words", "text", "meaning"
)  # fmt: skip
WEIGHTS: Mapping[str, float] = {
    CALL: 1.0, INDIRECT: 0.5, OWNER: 0.3, IMPORT: 0.3, NAME: 1.0, PATH: 0.5, TOGETHER: 1.5, RECENT: 0.2,
    WORDS: 0.8, TEXT: 0.8, MEANING: 0.5,
}  # fmt: skip
_EVIDENCE = frozenset(WEIGHTS) - {RECENT, PATH}
"""The signals of which a shown test has at least one."""
_KINDS = {OWNER: CALL, PATH: NAME, RECENT: TOGETHER, TEXT: WORDS, MEANING: WORDS}
"""The kind in the protocol of a signal that is none itself."""
_SUPPORT = frozenset({"testdata", "fixtures", "fixture", "__snapshots__", "__fixtures__"})
_SUPPORT_NAMES = frozenset(
    {"conftest.py", "__init__.py", "test_helper.rb", "spec_helper.rb", "rails_helper.rb", "test_helper.exs"}
)
_TESTED = frozenset(
    {ChangeKind.SIGNATURE, ChangeKind.BODY, ChangeKind.ADDED, ChangeKind.RENAMED, ChangeKind.MOVED}
)
_MOST_TESTS = 20
"""The maximum number of tests of a file that are named."""
_CALLS = 0.5
"""The confidence from which a call is the kind of a test, whatever else connects it."""
_SURE = 1.5
"""The score at which the confidence is one half."""


def tests_to_run(evidence: Evidence, limit: int) -> list[Concerned]:
    """Return the test files that have most to do with the change, best first, each with its likeliest test.
    Changed tests are among them. Files of the source with tests of their own count as well."""
    signals = test_signals(evidence)
    scores = {
        path: sum(WEIGHTS[name] * value for name, value in values.items())
        for path, values in signals.items()
        if not _EVIDENCE.isdisjoint(values)
    }
    best = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
    return [_shown(evidence, path, signals[path], scores[path]) for path in best]


def unreached(evidence: Evidence, touched: Sequence[Touched]) -> list[Touched]:
    """Return the changed functions and types that no test uses, directly or over some calls. Members of a
    type that tests use count as used."""
    if not any(map(evidence.is_test, evidence.kinds)):
        return []
    every = (evidence.uses, evidence.indirect_uses, evidence.uses_of_owners)
    reached = {
        use.about
        for uses in every
        for path, found in uses.items()
        for use in found
        if evidence.is_test(path) or _is_in_test_module(use)
    }
    _follow(reached, evidence)
    looked_at = {each.index for each in evidence.definitions}
    return [
        each
        for each in touched
        if each.index in looked_at - reached
        and each.kind in _TESTED
        and each.place is not None
        and each.place.kind in CALLABLE | CONTAINERS
        and file_kind(each.path) == FileKind.SOURCE
    ]


def _follow(reached: set[int], evidence: Evidence) -> None:
    """Add to `reached` the changed definitions that reached ones use."""
    by_place = {each.place: each.index for each in evidence.definitions if each.place}
    used_by = [
        (by_place[use.edge.enclosing], use.about)
        for found in evidence.uses.values()
        for use in found
        if use.edge.enclosing is not None and use.edge.enclosing in by_place
    ]
    fresh = set(reached)
    while fresh:
        fresh = {used for user, used in used_by if user in fresh} - reached
        reached |= fresh


def holds_tests(path: str) -> bool:
    """Whether a file of the tests is code that a test runner runs, not data or shared settings."""
    *folders, name = path.split("/")
    return is_code(path) and name not in _SUPPORT_NAMES and _SUPPORT.isdisjoint(folders)


# --- signals -------------------------------------------------------------------------------------------


def test_signals(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Return the value of each signal of each test file, 0 to 1, without zeros."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    tests = [path for path, kind in evidence.kinds.items() if kind == FileKind.TESTS and holds_tests(path)]
    only = ChunkFilter(collections=evidence.collections(tests=True))
    texts, nearest = evidence.by_words(only), evidence.by_meaning(only)
    named = Named.of(evidence)
    for path in tests:
        values = {
            CALL: _best(evidence.uses.get(path, ())),
            INDIRECT: _best(evidence.indirect_uses.get(path, ())),
            OWNER: _best(evidence.uses_of_owners.get(path, ())),
            IMPORT: float(path in evidence.importers),
            NAME: named.value(path),
            PATH: named.path_value(path),
            TOGETHER: evidence.together[path].value if path in evidence.together else 0.0,
            RECENT: evidence.recency(path),
            WORDS: evidence.mentions[path].share if path in evidence.mentions else 0.0,
            TEXT: texts.get(path, (0.0, 0))[0],
            MEANING: nearest.get(path, (0.0, 0))[0],
        }
        found[path] = {name: value for name, value in values.items() if value > 0}
    for path, uses in evidence.uses.items():
        inside = [use for use in uses if _is_in_test_module(use)]
        if inside and path not in found:
            found[path][CALL] = _best(inside)
            if path in evidence.paths:
                found[path][NAME] = 1.0
    return found


def _best(uses: Iterable[Use]) -> float:
    return max((use.confidence for use in uses), default=0.0)


def _is_in_test_module(use: Use) -> bool:
    """Whether a reference is in a module of tests inside a file of the source, as in Rust."""
    around = use.edge.enclosing
    return around is not None and not TEST_MODULES.isdisjoint(around.qualified.split(".")[:-1])


@define(eq=False)
class Named:
    """Compares the names of tests with those of the changed files and definitions."""

    words: Mapping[str, frozenset[str]]
    stems: Mapping[str, str]
    paths: Mapping[str, frozenset[str]]
    definitions: Mapping[frozenset[str], str]
    """The names of changed definitions, by their words."""

    @classmethod
    def of(cls, evidence: Evidence) -> Named:
        paths = evidence.paths
        return cls(
            {path: name_words(path) for path in paths},
            {stem: path for path in paths if (stem := file_stem(path))},
            {path: path_words(path) for path in paths},
            {name_words(each.name): each.name for each in evidence.subjects if each.name},
        )

    def value(self, path: str) -> float:
        """Return 1 for a test that is named as a changed file or definition is, less for common words."""
        own = name_words(path)
        if file_stem(path) in self.stems or (own and own in self.definitions):
            return 1.0
        return max((likeness(own, words) for words in self.words.values()), default=0.0)

    def path_value(self, path: str) -> float:
        own = path_words(path)
        return max((likeness(own, words) for words in self.paths.values()), default=0.0)

    def reason(self, path: str) -> str:
        own = name_words(path)
        changed = self.stems.get(file_stem(path)) or ""
        if not changed and own in self.definitions:
            return f"is named after `{self.definitions[own]}`"
        if not changed:
            changed = max(self.words, key=lambda each: likeness(own, self.words[each]), default="")
        return f"is named after `{changed}`" if changed else ""


# --- as shown ------------------------------------------------------------------------------------------


def _shown(evidence: Evidence, path: str, values: Mapping[str, float], score: float) -> Concerned:
    uses = [*evidence.uses.get(path, ()), *evidence.indirect_uses.get(path, ())]
    if not evidence.is_test(path):
        uses = [use for use in uses if _is_in_test_module(use)]
    weighed = sorted(values, key=lambda name: -WEIGHTS[name] * values[name])
    reasons = dict.fromkeys(filter(None, (_reason(evidence, path, name) for name in weighed)))
    kind = CALL if values.get(CALL, 0.0) >= _CALLS else next(name for name in weighed if name in _EVIDENCE)
    line, symbol = _place(evidence, path, uses)
    return Concerned(
        path,
        line,
        symbol,
        _KINDS.get(kind, kind),
        tuple(reasons)[:3],
        round(score / (score + _SURE), 2),
        tuple(dict.fromkeys(use.about for use in uses)),
        tuple(_tests(uses)),
    )


def _tests(uses: Iterable[Use]) -> list[str]:
    """Return the names of the functions with these references, the surest first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for use in uses:
        if use.edge.enclosing is not None and use.edge.enclosing.kind in CALLABLE:
            sums[use.edge.enclosing.qualified] += use.confidence
    return sorted(sums, key=lambda name: -sums[name])[:_MOST_TESTS]


def _place(evidence: Evidence, path: str, uses: Sequence[Use]) -> tuple[int, str]:
    """Return the line and the name of the likeliest test."""
    names = _tests(uses)
    for use in sorted(uses, key=lambda use: (-use.confidence, use.edge.line)):
        around = use.edge.enclosing
        if around is None and not names:
            return use.edge.line, ""
        if around is not None and names and around.qualified == names[0]:
            return around.line, around.qualified
    return evidence.likeliest_passage(path)


def _reason(evidence: Evidence, path: str, signal: str) -> str:
    """Return why a test concerns the change, by one signal; "" if it says nothing to a reader."""
    if signal == CALL:
        use = max(evidence.uses[path], key=lambda use: use.confidence)
        return (
            f"calls `{use.edge.name}` directly"
            if use.edge.kind.label == "call"
            else f"uses `{use.edge.name}`"
        )
    if signal == INDIRECT:
        use = max(evidence.indirect_uses[path], key=lambda use: use.confidence)
        through = f", through `{use.through.qualified}`" if use.through else ""
        return f"calls it over {use.steps} calls{through}"
    if signal == OWNER:
        use = max(evidence.uses_of_owners[path], key=lambda use: use.confidence)
        return f"uses `{use.edge.name}`"
    if signal == IMPORT:
        return f"imports `{evidence.importers[path][0]}`"
    if signal == NAME:
        return Named.of(evidence).reason(path)
    if signal == TOGETHER:
        return evidence.how_often(path)
    if signal == WORDS:
        return "mentions " + ", ".join(f"`{word}`" for word in evidence.mentions[path].rarest)
    return "is about the same words" if signal == TEXT else ""
