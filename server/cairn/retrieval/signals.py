"""Define the ranking signals of files and their weights.

The weights were fitted on one half of a development set's repositories. They were checked on the other half
and on repositories in other languages. The weights of meaning and imports were fitted on weak labels of
repositories that the code model was not trained on (scripts/training/ranking_weights.py). docs/ranking.md
says what each signal adds, and what did not help.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from attrs import evolve

from cairn.languages.syntax import PROTOTYPE
from cairn.retrieval.candidates import Candidates, FileCandidate, Floats
from cairn.retrieval.file_names import (
    folder_stems,
    is_translated_readme,
    joined_name,
    languages,
    name_stems,
    versions,
)
from cairn.retrieval.intent import Documents, documents_of
from cairn.retrieval.introductions import asks_about_whole, introduces, name_key, subject_of
from cairn.retrieval.query import Query
from cairn.retrieval.question_kinds import QuestionKind, question_kinds
from cairn.retrieval.scores import (
    Family,
    FileSignal,
    Signal,
    SignalInputs,
    Value,
    best,
    of_closer_look,
    of_file,
    top,
)
from cairn.text.nearest import nearest
from cairn.text.words import stem
from cairn.workspace.collections import FileKind

_SLOW_DECAY = tuple(0.7**place for place in range(8))
"""The shares of a file's best eight chunks. A file about something says so in several places."""
_FAST_DECAY = (1.0, 0.5, 0.25)
"""The shares of a file's best three chunks. More say little, because the chunks of a file are similar."""

_MANY_IMPORTS = 4
"""The minimum divisor of import counts. In a project of three files, one import must not count fully."""

_LEAST_OF_A_NAME, _MORE_OF_A_NAME = 0.4, 1.5
"""The value of a file name with hardly a word of the query, and the increase for all words; 1 at most."""

_CHOSEN = 1.0
"""The maximum effect of users' choices on a file's sum. For 55 questions about Flask and Click, neighbours
among the first ten results differ by 0.27 (median), the first and second by 1.1, the first and fifth by 3.2.
So a file that is always chosen passes one or two better files. It could rise to the first place from the
second for 44 % of the questions, from the fifth for 4 %, from the tenth for none."""

_TYPE_KINDS = {
    **dict.fromkeys(
        ("class", "struct", "interface", "trait", "enum", "type", "protocol", "module", "record"), 0.3
    ),
    "object": 0.25,  # A class of the same name is meant more often.
    PROTOTYPE: -0.4,
}
"""The bonus of each kind of definition relative to a function."""
_ANOTHER_KIND = -0.3
"""The bonus of a definition of another kind than the query names."""


DEFINES = "defines the symbol"


def _definition(inputs: SignalInputs) -> Floats:
    return inputs.candidates.best(definitions(inputs.query, inputs.candidates))


def definitions(query: Query, candidates: Candidates) -> Floats:
    """Return how well each chunk defines the query's name, 1 at most, or 0 if the query is more than a name.
    Users mean a type more often than a function, variable or member of the same name."""
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
    """Return how well each file matches a query that is one word, quote or piece of code, else 0. A user who
    types a text that occurs in one file wants this file, whatever its kind."""
    return best("exact")(inputs) if inputs.query.is_one_text else inputs.nothing()


def _file_name(inputs: SignalInputs) -> Floats:
    """Return the share of the file name's words that are in the query. It is lower if these are a small part
    of the query, because among thousands of files, dozens are called `page.c`."""
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
    """Return whether the file's name, written as one word, is a name or two adjacent words of the query."""
    names = (name.lower().replace("_", "").lstrip("$@#") for name in inputs.query.names)
    wanted = {*inputs.query.joined, *names}
    return inputs.each(lambda file: joined_name(file.path) in wanted)


def _abbreviated_name(inputs: SignalInputs) -> Floats:
    """Return whether a word in the file's name abbreviates a word of the query: `req` for "request"."""
    terms = inputs.query.terms
    # An abbreviation has two letters or more, and omits two or more.
    beginnings = {term[:end] for term in terms for end in range(2, len(term) - 1)} - inputs.query.stems
    return inputs.each(lambda file: not beginnings.isdisjoint(name_stems(file.path)))


def _folder_name(inputs: SignalInputs) -> Floats:
    wanted = inputs.own_stems

    @cache
    def share(stems: frozenset[str]) -> float:
        return inputs.share_of_query(wanted & stems)

    return inputs.each(lambda file: share(folder_stems(file.folders)))


def _older_version(inputs: SignalInputs) -> Floats:
    """Return whether a file is in the folder of an older version that the query does not name."""
    newest: defaultdict[tuple[int, str], int] = defaultdict(int)
    for file in inputs.candidates.files:
        for above, number in versions(file.folders):
            newest[file.folder, above] = max(number, newest[file.folder, above])
    if not newest:
        return inputs.nothing()

    def is_older(file: FileCandidate) -> bool:
        return any(
            newest[file.folder, above] > number and f"v{number}" not in inputs.query.terms
            for above, number in versions(file.folders)
        )

    return inputs.each(is_older)


def _translation(inputs: SignalInputs) -> Floats:
    """Return whether a file is translated from English. All values are 0 for a query in another language."""
    if inputs.query.language:
        return inputs.nothing()
    places = {(file.folder, *found) for file in inputs.candidates.files for found in languages(file.folders)}

    def is_one(file: FileCandidate) -> bool:
        if is_translated_readme(file.path):
            return True
        codes = languages(file.folders)
        return any(code != "en" and (file.folder, above, "en") in places for above, code in codes)

    return inputs.each(is_one)


def _imports(inputs: SignalInputs) -> Floats:
    return inputs.each(lambda file: math.log1p(file.in_degree))


def _header(inputs: SignalInputs) -> Floats:
    """Return whether a file is a C header, which only declares. All values are 0 for a name or a constant."""
    if inputs.query.is_symbol or QuestionKind.CONSTANT in question_kinds(inputs.query.wording):
        return inputs.nothing()
    return inputs.each(lambda file: file.path.endswith(".h"))


def _package(inputs: SignalInputs) -> Floats:
    if not inputs.packages:
        return inputs.nothing()
    return inputs.each(lambda file: inputs.packages[file.folder].around(file.path))


def _folder(inputs: SignalInputs) -> Floats:
    """Return the log likelihood of the query in each file's folder, minus that of the likeliest folder."""
    return inputs.each(lambda file: inputs.folders[file.folder]) if inputs.folders else inputs.nothing()


def _chosen(inputs: SignalInputs) -> Floats:
    if not inputs.learned:
        return inputs.nothing()
    stems, idf = inputs.own_stems, inputs.idf
    values = {folder: learned.values(stems, idf) for folder, learned in inputs.learned.items()}
    return inputs.each(lambda file: values.get(file.folder, {}).get(file.path, 0.0))


def _is(kind: FileKind, excluding_stems: frozenset[str]) -> Value:
    """Return the signal value that tells whether a file is of this kind. It is 0 for all files if the query
    asks for the kind, and 0 for files with the query's name if only files of this kind define it."""

    def value(inputs: SignalInputs) -> Floats:
        of_kind = inputs.of_kind(kind)
        if excluding_stems & inputs.kind_stems or not of_kind.any():
            return inputs.nothing()
        defining = _definition(inputs) > 0
        return of_kind if (defining & (of_kind == 0)).any() else of_kind * ~defining

    return value


def _documents(wanted: Documents) -> Value:
    """Return a signal value: whether a file is a document, if the query wants this treatment of documents."""

    def value(inputs: SignalInputs) -> Floats:
        return inputs.of_kind(FileKind.DOCS) if documents_of(inputs.query) is wanted else inputs.nothing()

    return value


def _introduction(inputs: SignalInputs) -> Floats:
    """Return how well the file introduces the project or the query's subject. Its README is best."""
    subject = name_key(subject_of(inputs.query.wording))
    if not (subject or asks_about_whole(inputs.query.wording)):
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

KEYWORD, VECTOR, _ = Family
SIGNALS: tuple[FileSignal, ...] = (
    Signal("keywords", "keywords in its best chunk", 0.5, best("keyword"), KEYWORD, in_reports=1.4),
    Signal("keywords_of_eight", "keywords in its best eight chunks", 1.5, top("keyword", _SLOW_DECAY), KEYWORD),  # noqa: E501
    Signal("words", "words of the question that it contains", 1.5, of_file("words"), KEYWORD, floor=0.5, in_reports=0.0),  # noqa: E501
    Signal("names", "names that it defines", 0.4, best("definition"), KEYWORD, in_reports=1.0),
    Signal("file_name", "file name", 1.0, _file_name, KEYWORD, relative=False, in_reports=1.4),
    Signal("joined_name", "file name as one word", 1.0, _joined_name, KEYWORD, relative=False, in_reports=0.0),  # noqa: E501
    Signal("abbreviated_name", "file name abbreviated", 1.0, _abbreviated_name, KEYWORD, relative=False, in_reports=0.0),  # noqa: E501
    Signal("folder_names", "folder names", 2.8, _folder_name, KEYWORD, relative=False, in_reports=5.5),
    Signal("definition", DEFINES, 5.0, _definition, KEYWORD, relative=False, always=False),
    Signal("reexport", "re-exports the symbol", 3.0, best("reexport"), KEYWORD, relative=False, always=False),
    Signal("literal", "contains the literal text", 4.0, best("exact"), KEYWORD, relative=False, always=False, in_reports=1.9),  # noqa: E501
    Signal("whole_question", "contains the whole question", 8.0, _whole_question, KEYWORD, relative=False, always=False),  # noqa: E501
    Signal("path", "path in the question", 6.0, of_file("is_named"), KEYWORD, relative=False, always=False, in_reports=4.0),  # noqa: E501
    Signal("report_names", "defines what a report names", 1.2, top("named", _SLOW_DECAY), KEYWORD, always=False),  # noqa: E501
    Signal("commits", "commit subjects", 2.2, of_file("subjects"), KEYWORD, floor=0.3, in_reports=4.7),
    Signal("imports", "imported by others", 0.9, _imports, floor=math.log1p(_MANY_IMPORTS), in_reports=0.0),
    Signal("meaning", "meaning of its best chunk", 3.5, best("similarity"), VECTOR, in_reports=2.1),
    Signal("meaning_of_three", "meaning of its best three chunks", 0.5, top("similarity", _FAST_DECAY), VECTOR),  # noqa: E501
    Signal("near_words", "near words in its best chunk", 1.5, of_closer_look("nearness"), VECTOR, always=False, of_first=True, in_reports=1.0),  # noqa: E501
    Signal("meaning_of_file", "meaning of the whole file", 0.7, of_closer_look("whole"), VECTOR, always=False, of_first=True, in_reports=0.2),  # noqa: E501
    Signal("package", "relevance of its package", 3.0, _package, VECTOR, floor=0.3, always=False),
    Signal("folder", "words of its folder", 2.0, _folder, KEYWORD, relative=False, always=False, signed=True),
    Signal("test", "is a test", -4.5, _is(FileKind.TESTS, _ABOUT_TESTS), relative=False),
    Signal("example", "is an example", -2.5, _is(FileKind.EXAMPLES, _ABOUT_EXAMPLES), relative=False, in_reports=-3.6),  # noqa: E501
    Signal("document", "is documentation", -4.0, _documents(Documents.PENALISED), relative=False),
    Signal("requested_document", "requested document", 3.0, _documents(Documents.WELCOME), relative=False, always=False),  # noqa: E501
    Signal("introduction", "introduces the project", 3.0, _introduction, relative=False, always=False),
    Signal("header", "is a header", -0.7, _header, relative=False),
    Signal("configuration", "is configuration", -2.7, _is(FileKind.CONFIG, _ABOUT_CONFIG), relative=False),
    Signal("translation", "is a translation", -2.0, _translation, relative=False),
    Signal("copy", "is a copy", -2.0, of_file("is_copy"), relative=False),
    Signal("older_version", "is an older version", -4.0, _older_version, relative=False),
    Signal("chosen", "chosen for similar questions", _CHOSEN, _chosen, relative=False, always=False, signed=True),  # noqa: E501
)  # fmt: skip
"""The signals with their default weights. docs/ranking.md shows the measured effect of each."""


def weighted(weights: Mapping[str, float], signals: Sequence[FileSignal] = SIGNALS) -> tuple[FileSignal, ...]:
    """Return the signals with these weights by title. A given weight applies to queries and reports alike."""
    if not weights:
        return tuple(signals)
    return tuple(
        evolve(s, weight=weights[s.title], in_reports=None) if s.title in weights else s for s in signals
    )


def weight_warnings(weights: Mapping[str, float]) -> list[str]:
    """Return a warning for each name in `weights` that is unknown."""
    known = [signal.title for signal in SIGNALS]
    warnings = []
    for name in weights:
        if name not in known:
            meant = nearest(name, known)
            hint = f"; did you mean {meant!r}?" if meant else ""
            warnings.append(f"search.weights.{name}: no signal is called so{hint}")
    return warnings
