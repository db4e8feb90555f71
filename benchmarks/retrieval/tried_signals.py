"""Ranking signals that were tried and did nothing, or harm (docs/ranking.md), so that Cairn does not have
them.

Each follows its source (docs/sources.md), but is added: a factor there is its logarithm here.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Mapping

import numpy as np
from attrs import frozen

from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.candidates import FileCandidate, Floats
from cairn.retrieval.scores import Family, FileSignal, Signal, SignalInputs, Value, top
from cairn.text.words import text_stems
from cairn.workspace.collections import FileKind

_YEAR_S = 365 * 24 * 3600

# Only for the languages that have such words.
_TYPE_DEFINITION = re.compile(
    r"\b(?:pub|public|export|abstract)\s+(?:\w+\s+)*?(?:struct|enum|class)\b|^class\s", re.MULTILINE
)
_IMPLEMENTATION = re.compile(r"\bimpl\b|\bimplements\b|\bextends\b|^\s+def __init__\(", re.MULTILINE)
_TRAIT = re.compile(r"\b(?:trait|interface|protocol)\s+\w")
_ENTRY = re.compile(
    r"\bfn main\(|\bpub fn new\(|\bfunc main\(|\bdef main\(|\bint main\(|\bstatic void main\("
)
_PUBLIC = re.compile(
    r"\b(?:pub|public|export)\s+(?:\w+\s+)*?(?:fn|struct|enum|class|function|interface|const)\b"
)
_MODULE_DOC = ("//!", '"""', "'''", "/**")
_SPECIFICATION = re.compile(r"(?:^|/)[^/]*spec[^/]*\.md$", re.IGNORECASE)
_README = re.compile(r"(?:^|/)readme[^/]*$", re.IGNORECASE)


def _shallow(file: FileCandidate) -> float:
    return 1 / (1 + 0.1 * len(file.path.split("/")))


@frozen
class _Facts:
    """The facts about one file besides its text."""

    size: int = 0
    """The size in bytes."""
    commits: int = 0
    last_commit: int = 0
    """The time of the last commit in Unix seconds; 0 without one."""


def _facts(reader: IndexReader) -> dict[str, _Facts]:
    """Return the facts about each file, by path."""
    with reader.reading() as db:
        rows = db.execute(
            """SELECT f.path, f.size, coalesce(h.count, 0), coalesce(h.last_time, 0)
                FROM files f LEFT JOIN file_history h ON h.path = f.path"""
        )
        return {str(path): _Facts(*facts) for path, *facts in rows}


def _not_tiny(facts: _Facts) -> float:
    return 0.3 if facts.size < 100 else 0.7 if facts.size < 500 else 1.0


def _recent(facts: _Facts) -> float:
    age = max(0.0, time.time() - facts.last_commit) / _YEAR_S
    return math.exp(-age / 2) if facts.last_commit else 0.0


def _often(facts: _Facts) -> float:
    return math.log1p(facts.commits)


def _words_in_path(inputs: SignalInputs) -> Floats:
    """Return the signal: a factor of 1.4 for each word of the question in the path, and of 1.2 more if a
    folder has one."""
    words = [word for word in inputs.query.text.lower().split() if len(word) > 3]

    def value(file: FileCandidate) -> float:
        path = file.path.lower()
        folders = path.rpartition("/")[0]
        return sum(math.log(1.4) * (word in path) + math.log(1.2) * (word in folders) for word in words)

    return inputs.each(value)


def _density(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    """Return a tenth for each word of the question in the text, up to half."""
    text = text.lower()
    words = [word for word in inputs.query.text.lower().split() if len(word) > 3]
    return math.log(min(1.5, 1 + 0.1 * sum(word in text for word in words)))


def _patterns(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    factor = 1.0
    if _IMPLEMENTATION.search(text) and _TYPE_DEFINITION.search(text):
        factor *= 1.3
    if _TRAIT.search(text):
        factor *= 1.2
    if _ENTRY.search(text):
        factor *= 1.25
    if len(_PUBLIC.findall(text)) > 5:
        factor *= 1.2
    if text.lstrip().startswith(_MODULE_DOC):
        factor *= 1.15
    return math.log(factor)


def _documents_by_content(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    """Penalise documents by content: READMEs and specifications most, then texts without code."""
    if file.kind != FileKind.DOCS:
        return 0.0
    if _README.search(file.path):
        return 0.95
    if _SPECIFICATION.search(file.path):
        return 0.97
    return 0.7 if "```" in text else 0.6 if "## API" in text or "### Methods" in text else 0.9


def _whole_question(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    """Return the factors of the whole question in the text and in its first three lines."""
    text, question = text.lower(), inputs.query.text.lower()
    beginning = "\n".join(text.splitlines()[:3])
    return math.log(1.2) * (question in text) + math.log(1.1) * (question in beginning)


def _long(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    return float(text.count("\n") > 150)


def _coverage(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    """Return the share of the question's words in the shown chunk."""
    chunk_stems = text_stems(text)
    return sum(stem in chunk_stems for stem in inputs.query.stems) / (len(inputs.query.stems) or 1)


def _proximity(inputs: SignalInputs, file: FileCandidate, text: str) -> float:
    """Return how close together two different words of the question are in the text, nearest pair."""
    words = re.findall(r"\w+", text.lower())
    places = [(place, word) for place, word in enumerate(words) if word in inputs.query.terms]
    gaps = [b - a for (a, x), (b, y) in itertools.pairwise(places) if x != y]
    return 1 / min(gaps) if gaps else 0.0


_names_decayed = top("definition", tuple(0.7**place for place in range(8)))

TRIAL_WEIGHTS: Mapping[str, float] = {
    "shallow path": 1.0,
    "not tiny": 1.0,
    "words in the path": 1.0,
    "words in the text": 1.0,
    "code patterns": 1.0,
    "documents by content": -1.0,
    "recently changed": 1.0,
    "often changed": 0.5,
    "whole question in the text": 1.0,
    "long chunk": -0.2,
    "share of the words in the text": 1.0,
    "words close together": 0.5,
    "names in its best eight chunks": 1.0,
}
"""The weight that each is tried with."""


def tried_signals(reader: IndexReader) -> tuple[FileSignal, ...]:
    """Return the signals, without weight, for one index; some read the text of a file's best chunk there."""

    def of_text(value: Callable[[SignalInputs, FileCandidate, str], float]) -> Value:
        def values(inputs: SignalInputs) -> Floats:
            chunks = inputs.candidates
            best = chunks.ordered(chunks.keyword)[chunks.places() == 0].tolist()
            stored = reader.chunks(chunks.outlines[place].id for place in best)
            texts = [stored[chunks.outlines[place].id].chunk.text for place in best]
            return np.array(
                [value(inputs, file, text) for file, text in zip(chunks.files, texts, strict=True)],
                np.float64,
            )

        return values

    known = _facts(reader)

    def of_facts(value: Callable[[_Facts], float]) -> Value:
        return lambda inputs: inputs.each(lambda file: value(known.get(file.path, _Facts())))

    return (
        Signal("shallow_path", "shallow path", 0.0, lambda inputs: inputs.each(_shallow), Family.FILE),
        Signal("not_tiny", "not tiny", 0.0, of_facts(_not_tiny), Family.FILE),
        Signal("words_in_the_path", "words in the path", 0.0, _words_in_path, Family.KEYWORD),
        Signal("words_in_the_text", "words in the text", 0.0, of_text(_density), Family.KEYWORD),
        Signal("code_patterns", "code patterns", 0.0, of_text(_patterns), Family.FILE),
        Signal(
            "documents_by_content",
            "documents by content",
            0.0,
            of_text(_documents_by_content),
            Family.FILE,
            relative=False,
        ),
        Signal("recently_changed", "recently changed", 0.0, of_facts(_recent), Family.FILE),
        Signal("often_changed", "often changed", 0.0, of_facts(_often), Family.FILE),
        Signal(
            "whole_question_in_the_text",
            "whole question in the text",
            0.0,
            of_text(_whole_question),
            Family.KEYWORD,
        ),
        Signal("long_chunk", "long chunk", 0.0, of_text(_long), Family.FILE, relative=False),
        Signal(
            "share_of_the_words_in_the_text",
            "share of the words in the text",
            0.0,
            of_text(_coverage),
            Family.KEYWORD,
        ),
        Signal("words_close_together", "words close together", 0.0, of_text(_proximity), Family.KEYWORD),
        Signal(
            "names_in_its_best_eight_chunks",
            "names in its best eight chunks",
            0.0,
            _names_decayed,
            Family.KEYWORD,
        ),
    )
