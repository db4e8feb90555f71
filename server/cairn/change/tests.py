"""Rank the tests to run for a change.

Each test file gets the weighted sum of what connects it with the change. The weights were chosen with half of
the repositories of `benchmarks/change`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from cairn.change.evidence import Concerned, Evidence, Use, chance, is_code
from cairn.change.names import is_same_name, likeness, name_words, path_words, words_of_name
from cairn.change.touched import Touched
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.collections import TEST_MODULES, FileKind, file_kind

CHANGED, CALL, INDIRECT, OWNER, IMPORT, NAME, PATH, TOGETHER, RECENT, WORDS, TEXT, MEANING = (
    "changed", "call", "indirect", "owner", "import", "name", "path", "together", "recent", "words", "text",
    "meaning",
)  # fmt: skip
WEIGHTS: Mapping[str, float] = {
    CHANGED: 1.0, CALL: 0.15, INDIRECT: 0.1, OWNER: 0.05, IMPORT: 0.05, NAME: 0.35, PATH: 0.25, TOGETHER: 0.7,
    RECENT: 0.6, WORDS: 0.05, TEXT: 0.45, MEANING: 0.5,
}  # fmt: skip
"""Direct calls have a small weight, because tests with calls mostly have the other signals, too. Without any
one signal, or with twice its weight, the first ten lose the tests of at most two in 100 commits."""
_EVIDENCE = frozenset(WEIGHTS) - {RECENT, PATH, MEANING}
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
_OF_DEFINITION = 0.9
"""The likeness of a test that is named after a changed definition."""
_SAME_NAME = 0.5
"""The likeness of names from which a test is said to be named after a file."""
_PROOF = (CHANGED, CALL, INDIRECT, NAME, TOGETHER, IMPORT, OWNER, WORDS, TEXT)
"""The order of reasons: how much each of them proves to a reader."""
_PROVES: Mapping[str, float] = {CHANGED: 1.0, CALL: 0.5, INDIRECT: 0.3, NAME: 0.9}
"""The value from which a signal is the kind of a test, whatever else connects it."""
_LEAST = 0.5
"""The minimum score of other tests than those of `_is_certain`. Of those below, one in 500 belonged to its
commit."""
_HALF, _SLOPE = 1.6, 4.0
"""The score of tests of which half belonged to their commits, and how fast the share grows there."""


def tests_to_run(evidence: Evidence, limit: int) -> Iterator[Concerned]:
    """Yield the test files that have most to do with the change, best first, each with its likeliest test.
    Changed tests are among them. Files of the source with tests of their own count as well.

    If the time is over before all references are looked up, those found count. Then, OutOfTimeError is raised
    after the last test.
    """
    signals = test_signals(evidence)
    scores = {
        path: sum(WEIGHTS[name] * value for name, value in values.items()) for path, values in signals.items()
    }
    wanted = (path for path, score in scores.items() if score >= _LEAST or _is_certain(signals[path]))
    for path in sorted(wanted, key=lambda path: (-scores[path], path))[:limit]:
        yield _shown(evidence, path, signals[path], scores[path])
    check_end()


def _is_certain(values: Mapping[str, float]) -> bool:
    """Whether a test calls a changed definition, or has the name of a changed file or definition."""
    return not {CALL, INDIRECT}.isdisjoint(values) or values.get(NAME, 0.0) >= _OF_DEFINITION


def unreached(evidence: Evidence, touched: Sequence[Touched]) -> list[Touched]:
    """Return the changed functions and types that no test uses, directly or over some calls. Members of a
    type that tests use count as used."""
    if not evidence.limit.complete or not any(map(evidence.is_test, evidence.kinds)):
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
    """Return the value of each signal of each test file with evidence, 0 to 1."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    tests = [path for path, kind in evidence.kinds.items() if kind == FileKind.TESTS and holds_tests(path)]
    only = ChunkFilter(collections=evidence.collections(tests=True))
    changed = {file.path for file in evidence.change.files if not file.is_removed}
    named = Named.of(evidence)
    # References take longest, so what else is known comes first.
    texts, mentions = evidence.text.by_words(only), evidence.text.mentions
    by_name = {path: named.value(path) for path in tests}
    imports, nearest = evidence.importers, evidence.text.by_meaning(only)
    for path in tests:
        values = {
            CHANGED: float(path in changed),
            CALL: _best(evidence.uses.get(path, ())),
            INDIRECT: _best(evidence.indirect_uses.get(path, ())),
            OWNER: _best(evidence.uses_of_owners.get(path, ())),
            IMPORT: float(path in imports),
            NAME: by_name[path],
            TOGETHER: evidence.togetherness(path),
            RECENT: evidence.recency(path),
            WORDS: mentions[path].share if path in mentions else 0.0,
            TEXT: texts.get(path, (0.0, 0))[0],
            MEANING: nearest.get(path, (0.0, 0))[0],
        }
        known = {name: value for name, value in values.items() if value > 0}
        if not _EVIDENCE.isdisjoint(known):
            found[path] = {**known, PATH: named.path_value(path)}
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


@frozen
class Named:
    """Compares the names of tests with those of the changed files and definitions."""

    weights: Mapping[str, float]
    """The changed files, each with its share in the change."""
    definitions: Mapping[frozenset[str], str]
    """The names of changed definitions and of those around them, by their words."""
    words: frozenset[str]
    """All words of these names and of those of the files."""

    @classmethod
    def of(cls, evidence: Evidence) -> Named:
        qualified = (each.place.qualified if each.place else each.name for each in evidence.subjects)
        names = {words_of_name(name): name for each in qualified for name in each.split(".")}
        definitions = {words: name for words, name in names.items() if words}
        every = frozenset().union(*definitions, *map(name_words, evidence.weights))
        return cls(evidence.weights, definitions, every)

    def value(self, path: str) -> float:
        """Return 1 for a test that is named as the changed file with most lines is, less for one with some of
        the words or for another changed file, and 0 for none."""
        if name_words(path).isdisjoint(self.words):
            return 0.0
        by_file = (weight * _alike(path, changed) for changed, weight in self.weights.items())
        of_definition = _OF_DEFINITION if name_words(path) in self.definitions else 0.0
        return max(of_definition, *by_file, 0.0)

    def path_value(self, path: str) -> float:
        own = path_words(path)
        return max((likeness(own, path_words(changed)) for changed in self.weights), default=0.0)

    def reason(self, path: str) -> str:
        nearest = max(self.weights, key=lambda changed: _alike(path, changed), default="")
        definition = self.definitions.get(name_words(path))
        if definition and (not nearest or _alike(path, nearest) < 1):
            return f"is named after `{definition}`"
        return f"is named after `{nearest}`" if nearest and _alike(path, nearest) >= _SAME_NAME else ""


def _alike(path: str, changed: str) -> float:
    return 1.0 if is_same_name(path, changed) else likeness(name_words(path), name_words(changed))


# --- as shown ------------------------------------------------------------------------------------------


def _shown(evidence: Evidence, path: str, values: Mapping[str, float], score: float) -> Concerned:
    uses = [*evidence.uses.get(path, ()), *evidence.indirect_uses.get(path, ())]
    if not evidence.is_test(path):
        uses = [use for use in uses if _is_in_test_module(use)]
    reasons = dict.fromkeys(_reason(evidence, path, name) for name in _PROOF if name in values)
    reasons.pop("", None)
    proof = (name for name in _PROOF if values.get(name, 0.0) >= _PROVES.get(name, 1.0))
    weighed = sorted(values, key=lambda name: -WEIGHTS[name] * values[name])
    kind = next(proof, next(name for name in weighed if name in _EVIDENCE))
    line, symbol = _place(evidence, path, uses)
    return Concerned(
        path,
        line,
        symbol,
        _KINDS.get(kind, kind),
        tuple(reasons)[:3],
        _confidence(values, score),
        tuple(dict.fromkeys(use.about for use in uses)),
        tuple(_tests(uses)),
    )


def _confidence(values: Mapping[str, float], score: float) -> float:
    """Return how sure it is that the test belongs to the change, by experience or because it calls it."""
    calls = max(values.get(CALL, 0.0), values.get(INDIRECT, 0.0), values.get(CHANGED, 0.0))
    return round(1 - (1 - chance(score, _HALF, _SLOPE)) * (1 - 0.8 * calls), 2)


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
    return evidence.text.likeliest_passage(path)


def _reason(evidence: Evidence, path: str, signal: str) -> str:
    """Return why a test concerns the change, by one signal; "" if it says nothing to a reader."""
    if signal == CHANGED:
        return "is changed itself"
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
    if signal in (WORDS, TEXT) and path in evidence.text.mentions:
        return "mentions " + ", ".join(f"`{word}`" for word in evidence.text.mentions[path].rarest)
    return "has many words of the change" if signal == TEXT else ""
