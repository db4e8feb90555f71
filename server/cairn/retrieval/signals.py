"""Define the ranking signals of files and their weights.

The weights were found on one half of a development set's repositories and checked on the other, and on
repositories in other languages; those of meaning and imports, on weak labels of repositories held back from
training the code model (scripts/training/ranking_weights.py). docs/ranking.md says what each signal is worth,
and what did not help.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from attrs import evolve

from cairn.chunking.syntax.rules import PROTOTYPE
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.file_names import (
    folder_stems,
    is_translated_readme,
    joined_name,
    languages,
    name_stems,
    versions,
)
from cairn.retrieval.intent import Documents, asks_for_overview, documents_of
from cairn.retrieval.introductions import introduces, name_key, subject_of
from cairn.retrieval.query import Query
from cairn.retrieval.question_kinds import QuestionKind, question_kinds
from cairn.retrieval.scores import Family, Signal, SignalInputs, Value, best, of_closer_look, of_file, top
from cairn.text.words import stem
from cairn.workspace.collections import FileKind

_SLOW_DECAY = tuple(0.7**place for place in range(8))
"""Shares of a file's best eight chunks: a file about something says so in several places."""
_FAST_DECAY = (1.0, 0.5, 0.25)
"""Shares of a file's best three chunks: the chunks of a file are similar, so more of them say little."""

_MANY_IMPORTS = 4
"""The least divisor of import counts: in a project of three files, a single import must not count fully."""

_LEAST_OF_A_NAME, _MORE_OF_A_NAME = 0.4, 1.5
"""A file name's value if it has almost nothing of the query, and the increase up to all of it; at most 1."""

_CHOSEN = 1.0
"""The most that choices may change a file's sum. Over 55 questions to Flask and Click, neighbours among the
first ten are 0.27 apart (median), the first and the second 1.1, the first and the fifth 3.2: a file that is
always chosen passes one or two better files. It could rise to the first place from the second in 44 % of the
questions, from the fifth in 4 %, from the tenth in none."""

_TYPE_KINDS = {
    **dict.fromkeys(
        ("class", "struct", "interface", "trait", "enum", "type", "protocol", "module", "record"), 0.3
    ),
    "object": 0.25,  # less than a class of the same name
    PROTOTYPE: -0.4,
}
"""The bonus of each kind of definition over a function."""
_ANOTHER_KIND = -0.3
"""The bonus of a kind other than the query names."""


def _definition(inputs: SignalInputs) -> Floats:
    return inputs.candidates.best(definitions(inputs.query, inputs.candidates))


def definitions(query: Query, candidates: Candidates) -> Floats:
    """Return how well each chunk defines the query's name, 1 at most; 0 if the query is more than a name. A
    type is meant more often than a function, a variable or a member of the same name."""
    wanted = {name.lower().lstrip("$@_#") for name in query.names}
    strength = candidates.symbol * query.is_symbol
    for place in np.flatnonzero(strength).tolist():
        outline = candidates.outlines[place]
        is_main = outline.symbol.lower().lstrip("$@_#") in wanted
        of_kind = _TYPE_KINDS.get(outline.symbol_kind, 0.0)
        if query.kinds:
            of_kind = 0.3 if outline.symbol_kind in query.kinds else _ANOTHER_KIND
        strength[place] *= 0.3 + is_main * (0.4 + of_kind)
    return strength


def _whole_question(inputs: SignalInputs) -> Floats:
    """Return how well each file contains the word, quote or piece of code that is the whole query; else 0. If
    a typed word occurs in one file, the user wants that file, whatever its kind."""
    return best("exact")(inputs) if inputs.query.is_one_text else inputs.nothing()


def _file_name(inputs: SignalInputs) -> Floats:
    """Return the share of the file name's words that are in the query. A name with little of the query counts
    less: thousands of files include dozens of `page.c`."""
    wanted = inputs.query.stems

    def share(file: FileCandidate) -> float:
        words = name_stems(file.path)
        if wanted.isdisjoint(words):
            return 0.0
        found = [word for word in words if word in wanted]
        of_query = inputs.share_of_query(found)
        return len(found) / len(words) * min(1.0, _LEAST_OF_A_NAME + _MORE_OF_A_NAME * of_query)

    return inputs.each(share)


def _joined_name(inputs: SignalInputs) -> Floats:
    """Return whether the file's name, as one word, is a name or two adjacent words of the query."""
    names = (name.lower().replace("_", "").lstrip("$@#") for name in inputs.query.names)
    wanted = {*inputs.query.joined, *names}
    return inputs.each(lambda file: joined_name(file.path) in wanted)


def _abbreviated_name(inputs: SignalInputs) -> Floats:
    """Return whether a word of the file's name begins a longer word of the query: `req`, "request"."""
    terms = inputs.query.terms
    # Beginnings of two letters or more that leave out as many.
    beginnings = {term[:end] for term in terms for end in range(2, len(term) - 1)} - inputs.query.stems
    return inputs.each(lambda file: not beginnings.isdisjoint(name_stems(file.path)))


def _folder_name(inputs: SignalInputs) -> Floats:
    wanted = inputs.own_stems

    @cache
    def share(stems: frozenset[str]) -> float:
        return inputs.share_of_query(wanted & stems)

    return inputs.each(lambda file: share(folder_stems(file.path)))


def _older_version(inputs: SignalInputs) -> Floats:
    """Return whether a file is in an older version's folder, and the query does not name that version."""
    newest: defaultdict[tuple[int, str], int] = defaultdict(int)
    for file in inputs.candidates.files:
        for above, number in versions(file.path):
            newest[file.folder, above] = max(number, newest[file.folder, above])
    if not newest:
        return inputs.nothing()

    def is_older(file: FileCandidate) -> bool:
        return any(
            newest[file.folder, above] > number and f"v{number}" not in inputs.query.terms
            for above, number in versions(file.path)
        )

    return inputs.each(is_older)


def _translation(inputs: SignalInputs) -> Floats:
    """Return whether a file is translated from an English one; never for a query in another language."""
    if inputs.query.language:
        return inputs.nothing()
    places = {(file.folder, *found) for file in inputs.candidates.files for found in languages(file.path)}

    def is_one(file: FileCandidate) -> bool:
        if is_translated_readme(file.path):
            return True
        codes = languages(file.path)
        return any(code != "en" and (file.folder, above, "en") in places for above, code in codes)

    return inputs.each(is_one)


def _imports(inputs: SignalInputs) -> Floats:
    return inputs.each(lambda file: math.log1p(file.in_degree))


def _header(inputs: SignalInputs) -> Floats:
    """Return whether a file is a C header, which only declares; never for a name or a constant."""
    if inputs.query.is_symbol or QuestionKind.CONSTANT in question_kinds(inputs.query.wording):
        return inputs.nothing()
    return inputs.each(lambda file: file.path.endswith(".h"))


def _package(inputs: SignalInputs) -> Floats:
    if not inputs.packages:
        return inputs.nothing()
    return inputs.each(lambda file: inputs.packages[file.folder].around(file.path))


def _folder(inputs: SignalInputs) -> Floats:
    """Return the log likelihood of the query in each file's folder, relative to the likeliest one."""
    return inputs.each(lambda file: inputs.folders[file.folder]) if inputs.folders else inputs.nothing()


def _chosen(inputs: SignalInputs) -> Floats:
    if not inputs.learned:
        return inputs.nothing()
    stems, idf = inputs.own_stems, inputs.idf
    values = {folder: learned.values(stems, idf) for folder, learned in inputs.learned.items()}
    return inputs.each(lambda file: values.get(file.folder, {}).get(file.path, 0.0))


def _is(kind: FileKind, excluding_stems: frozenset[str]) -> Value:
    """Return a signal value: whether a file is of the kind. It is 0 for all files if the query asks for the
    kind, and for those that alone define the query's name."""

    def value(inputs: SignalInputs) -> Floats:
        of_kind = inputs.of_kind(kind)
        if excluding_stems & inputs.kind_stems or not of_kind.any():
            return inputs.nothing()
        defining = _definition(inputs) > 0
        return of_kind if (defining & (of_kind == 0)).any() else of_kind * ~defining

    return value


def _documents(wanted: Documents) -> Value:
    """Return a signal value: whether a file is a document, if the query wants documents treated so."""

    def value(inputs: SignalInputs) -> Floats:
        return inputs.of_kind(FileKind.DOCS) if documents_of(inputs.query) is wanted else inputs.nothing()

    return value


def _introduction(inputs: SignalInputs) -> Floats:
    """Return how well the file introduces the project or the query's subject, its README best."""
    subject = name_key(subject_of(inputs.query.wording))
    if not (subject or asks_for_overview(inputs.query.wording)):
        return inputs.nothing()

    def share(file: FileCandidate) -> float:
        if file.kind != FileKind.DOCS or not introduces(file.path):
            return 0.0
        *folders, name = file.path.lower().split("/")
        if name.startswith("readme"):
            is_its_own = not folders or (subject and subject == name_key(folders[-1]))
            return 1.0 if is_its_own else 0.5
        return 0.5 if len(folders) < 3 else 0.0

    return inputs.each(share)


def _asks(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


_ABOUT_TESTS = _asks("test tests testing tested fixture mock assert")
_ABOUT_EXAMPLES = _asks("example sample demo tutorial benchmark")
_ABOUT_CONFIG = _asks(
    "config configuration settings dependency dependencies package workflow ci build version"
)

KEYWORD, VECTOR, FILE = Family
SIGNALS: tuple[Signal, ...] = (
    Signal("keywords in its best chunk", 0.5, KEYWORD, best("keyword"), in_reports=1.4),
    Signal("keywords in its best eight chunks", 1.5, KEYWORD, top("keyword", _SLOW_DECAY)),
    Signal("words of the question that it contains", 1.5, KEYWORD, of_file("words"), floor=0.5, in_reports=0.0),  # noqa: E501
    Signal("names that it defines", 0.4, KEYWORD, best("definition"), in_reports=1.0),
    Signal("file name", 1.0, KEYWORD, _file_name, relative=False, in_reports=1.4),
    Signal("file name as one word", 1.0, KEYWORD, _joined_name, relative=False, in_reports=0.0),
    Signal("file name abbreviated", 1.0, KEYWORD, _abbreviated_name, relative=False, in_reports=0.0),
    Signal("folder names", 2.8, KEYWORD, _folder_name, relative=False, in_reports=5.5),
    Signal("defines the symbol", 5.0, KEYWORD, _definition, relative=False, always=False),
    Signal("re-exports the symbol", 3.0, KEYWORD, best("reexport"), relative=False, always=False),
    Signal("contains the literal text", 4.0, KEYWORD, best("exact"), relative=False, always=False, in_reports=1.9),  # noqa: E501
    Signal("contains the whole question", 8.0, KEYWORD, _whole_question, relative=False, always=False),
    Signal("path in the question", 6.0, KEYWORD, of_file("is_named"), relative=False, always=False, in_reports=4.0),  # noqa: E501
    Signal("defines what a report names", 1.2, KEYWORD, top("named", _SLOW_DECAY), always=False),
    Signal("commit subjects", 2.2, KEYWORD, of_file("subjects"), floor=0.3, in_reports=4.7),
    Signal("imported by others", 0.9, FILE, _imports, floor=math.log1p(_MANY_IMPORTS), in_reports=0.0),
    Signal("meaning of its best chunk", 3.5, VECTOR, best("similarity"), in_reports=2.1),
    Signal("meaning of its best three chunks", 0.5, VECTOR, top("similarity", _FAST_DECAY)),
    Signal("near words in its best chunk", 1.5, VECTOR, of_closer_look("nearness"), always=False, of_first=True, in_reports=1.0),  # noqa: E501
    Signal("meaning of the whole file", 0.7, VECTOR, of_closer_look("whole"), always=False, of_first=True, in_reports=0.2),  # noqa: E501
    Signal("relevance of its package", 3.0, VECTOR, _package, floor=0.3, always=False),
    Signal("words of its folder", 2.0, KEYWORD, _folder, relative=False, always=False, signed=True),
    Signal("is a test", -4.5, FILE, _is(FileKind.TESTS, _ABOUT_TESTS), relative=False),
    Signal("is an example", -2.5, FILE, _is(FileKind.EXAMPLES, _ABOUT_EXAMPLES), relative=False, in_reports=-3.6),  # noqa: E501
    Signal("is documentation", -4.0, FILE, _documents(Documents.PENALISED), relative=False),
    Signal("is a wanted document", 3.0, FILE, _documents(Documents.WELCOME), relative=False, always=False),
    Signal("introduces the project", 3.0, FILE, _introduction, relative=False, always=False),
    Signal("is a header", -0.7, FILE, _header, relative=False),
    Signal("is configuration", -2.7, FILE, _is(FileKind.CONFIG, _ABOUT_CONFIG), relative=False),
    Signal("is a translation", -2.0, FILE, _translation, relative=False),
    Signal("is a copy", -2.0, FILE, of_file("is_copy"), relative=False),
    Signal("is an older version", -4.0, FILE, _older_version, relative=False),
    Signal("chosen for similar questions", _CHOSEN, FILE, _chosen, relative=False, always=False, signed=True),
)  # fmt: skip
"""The signals with their default weights; `benchmarks/results/retrieval-folder.md` measures each."""


_FORMER_NAMES: Mapping[str, str] = {
    "hands on the symbol": "re-exports the symbol",
    "words of the question that it holds": "words of the question that it contains",
    "contains the very text": "contains the literal text",
    "names it defines": "names that it defines",
    "is named by its path": "path in the question",
    "the package asked about": "relevance of its package",
    "documents what was asked": "is a wanted document",
    "chosen for such questions": "chosen for similar questions",
    "is of an older version": "is an older version",
}
"""Former names, which settings may have until 0.3."""
_ALIKE = 70
"""The least similarity of 100 for a hint: "is test" and "is a test" have 95, unrelated names about 50."""


def weighted(weights: Mapping[str, float], signals: Sequence[Signal] = SIGNALS) -> tuple[Signal, ...]:
    """Return the signals with the given weights, by name, for queries and reports."""
    if not weights:
        return tuple(signals)
    now = {_FORMER_NAMES.get(name, name): weight for name, weight in weights.items()}
    return tuple(evolve(s, weight=now[s.name], in_reports=None) if s.name in now else s for s in signals)


def weight_warnings(weights: Mapping[str, float]) -> list[str]:
    """Return a warning for each name in `weights` that no signal has, or that is a former name."""
    from rapidfuzz import process  # seldom needed

    known = [signal.name for signal in SIGNALS]
    warnings = []
    for name in weights:
        if name in _FORMER_NAMES:
            warnings.append(f"search.weights.{name}: this signal is called {_FORMER_NAMES[name]!r} now")
        elif name not in known:
            nearest = process.extractOne(name, known, score_cutoff=_ALIKE)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            warnings.append(f"search.weights.{name}: no signal is called so{hint}")
    return warnings
