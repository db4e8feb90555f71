"""Ranks tests and companions for each commit, with Cairn and with baselines, over the index of its parent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from subprocess import CalledProcessError

from attrs import define, field, frozen
from engine.index_file import NAME, IndexFile
from engine.place import git
from retrieval.baselines import BM25

from cairn.change.companions import companion_signals, companions
from cairn.change.definitions import touched_definitions
from cairn.change.evidence import Evidence
from cairn.change.names import likeness, name_words
from cairn.change.tests import test_signals, tests_to_run
from cairn.index.queries.relations import file_stem
from cairn.index.references.graph import ReferenceGraph
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.rows import unpacked_touches
from cairn.protocol import ChangeParams
from cairn.workspace.diff import Change
from cairn.workspace.diff_fitting import fitted
from cairn.workspace.diff_text import parse_diff
from change.indexes import Indexes
from change.sets import Project, Touched, clone_of, is_source, is_test, touched_by

CAIRN, NAME_ALONE, TOGETHER, WORDS, UNION = "cairn", "same name", "changed together", "BM25", "union"
BASELINES = (NAME_ALONE, TOGETHER, WORDS, UNION)
TESTS, COMPANIONS = "tests", "companions"
DEPTH = 60
"""How many files each system lists; what does not count for a figure is left out afterwards."""
_FUSION = 10
"""The constant of reciprocal rank fusion for the union."""
_LEAST = ChangeParams().min_confidence
"""The confidence from which an answer shows a file."""


@frozen
class Outcome:
    """What the systems listed for one task of a commit."""

    project: Project
    commit: str
    task: str
    wanted: frozenset[str]
    """The files that the commit changed besides those of the diff, and that existed before."""
    listed: Mapping[str, Sequence[str]]
    """The files that each system lists, best first."""
    ms: float
    """The time of Cairn's ranking, without the definitions."""
    signals: Mapping[str, Mapping[str, float]]
    """The signals of each candidate."""


@define
class Measurement:
    indexes: Indexes
    clones: Path
    _times: dict[str, float] = field(factory=dict)

    def outcomes(self, project: Project, commit: str) -> list[Outcome]:
        """Return the outcomes of a commit whose index exists."""
        clone = clone_of(self.clones, project.repository)
        touched = touched_by(clone, commit)
        source = [each for each in touched if is_source(each.path)]
        case = _Case(project, commit, clone, self.indexes.folder(project, commit))
        tests = frozenset(each.path for each in touched if is_test(each.path) and each.status == "M")
        largest = max(
            (each for each in source if each.existed), key=lambda each: (case.size(each), each.path)
        )
        others = frozenset(each.path for each in touched if each.existed and each != largest)
        return [case.outcome(TESTS, source, tests), case.outcome(COMPANIONS, [largest], others)]


@define
class _Case:
    project: Project
    commit: str
    clone: Path
    folder: Path

    def size(self, touched: Touched) -> int:
        """Return the number of changed lines."""
        rows = git(self.clone, "diff", "--numstat", f"{self.commit}^", self.commit, "--", touched.path).split(
            "\t"
        )
        return sum(int(each) for each in rows[:2] if each.isdigit())

    def outcome(self, task: str, part: Sequence[Touched], wanted: frozenset[str]) -> Outcome:
        """Rank for a part of the commit alone. A new reader has no caches of an earlier outcome."""
        reader = SqliteReader(self.folder)
        index = IndexFile(self.folder / NAME)
        try:
            change = self._change(part)
            subjects = touched_definitions(change.files)
            known = set(index.text_paths())
            began = time.perf_counter()
            evidence = Evidence(reader, ReferenceGraph(reader), change, subjects)
            if task == TESTS:
                ranked = list(tests_to_run(evidence, DEPTH))
            else:
                ranked = list(companions(evidence, DEPTH))
            ms = (time.perf_counter() - began) * 1000
            listed = [each.path for each in ranked if each.confidence >= _LEAST]
            signals = test_signals(evidence) if task == TESTS else companion_signals(evidence)
            is_candidate = is_test if task == TESTS else _is_no_test
            candidates = [path for path in sorted(known) if is_candidate(path) and path not in evidence.paths]
            systems = {CAIRN: listed, **self._baselines(index, evidence, candidates)}
            if task == TESTS:
                # Files of the source with tests of their own are neither right nor wrong.
                systems = {name: [path for path in paths if is_test(path)] for name, paths in systems.items()}
            else:
                wanted = frozenset(path for path in wanted if _is_no_test(path))
            return Outcome(self.project, self.commit, task, wanted & known, systems, ms, signals)
        finally:
            index.close()
            if reader.memory.local.db is not None:
                reader.memory.local.db.close()

    def _change(self, part: Sequence[Touched]) -> Change:
        options = ("--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
        paths = [each.path for each in part]
        diff = git(self.clone, "diff", *options, f"{self.commit}^", self.commit, "--", *paths)
        return Change(tuple(fitted(file, self._text_before) for file in parse_diff(diff)))

    def _text_before(self, path: str) -> str | None:
        try:
            return git(self.clone, "show", f"{self.commit}^:{path}")
        except (CalledProcessError, UnicodeDecodeError):
            return None

    def _baselines(
        self, index: IndexFile, evidence: Evidence, candidates: Sequence[str]
    ) -> dict[str, Sequence[str]]:
        text = " ".join(evidence.text.words.elements())
        rank = BM25(index, set(candidates).__contains__)
        found = {
            NAME_ALONE: _by_name(evidence.paths, candidates),
            TOGETHER: _by_counts(index, evidence.paths, candidates),
            WORDS: [span.path for span in rank(text)],
        }
        scores: Counter[str] = Counter()
        for paths in found.values():
            scores.update({path: 1 / (_FUSION + place) for place, path in enumerate(paths, 1)})
        return {**found, UNION: _best(scores)}


def _is_no_test(path: str) -> bool:
    from cairn.workspace.collections import FileKind, file_kind

    return file_kind(path) != FileKind.TESTS


def _best(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda path: (-scores[path], path))[:DEPTH]


def _by_name(changed: Iterable[str], candidates: Iterable[str]) -> list[str]:
    """Return the files with the name of a changed one, apart from marks of tests, the nearest first; then
    those with some words of its name."""
    scores = {}
    for path in candidates:
        best = max(
            (
                (bool(file_stem(path)) and file_stem(path) == file_stem(other))
                + likeness(name_words(path), name_words(other))
                + 0.01 * _shared_folders(path, other)
                for other in changed
                if likeness(name_words(path), name_words(other)) or file_stem(path) == file_stem(other)
            ),
            default=0.0,
        )
        if best:
            scores[path] = best
    return _best(scores)


def _shared_folders(one: str, other: str) -> float:
    left, right = one.split("/")[:-1], other.split("/")[:-1]
    shared = next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    return shared / max(1, len(left), len(right))


def _by_counts(index: IndexFile, changed: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """Return the files by the number of commits that changed them and any changed one."""
    rows = index.rows("SELECT path, touches FROM file_history")
    commits = {path: {commit for commit, _ in unpacked_touches(touches)} for path, touches in rows}
    own = {commit for path in changed for commit in commits.get(path, ())}
    scores = {path: len(own & commits.get(path, set())) for path in candidates}
    return _best({path: float(count) for path, count in scores.items() if count})
