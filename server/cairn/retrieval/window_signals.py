"""Define the signals of windows and their weights. A window's score is the sum of its signals. The first
eight weights are on a plateau: if one is halved or doubled, the share of facts found within 4,000 tokens
changes by less than 0.02 (docs/ranking.md). Each other signal applies only to one kind of question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cairn.chunking.definition_place import definition_lines
from cairn.index.reader.bm25 import K1, B
from cairn.retrieval.anchors import frame_weights
from cairn.retrieval.candidates import Floats
from cairn.retrieval.evidence_lines import (
    begins_test,
    defines_or_imports,
    message_match,
    prose_match,
    reads_option,
    uses,
    words_of_message,
)
from cairn.retrieval.file_names import is_release_notes
from cairn.retrieval.introductions import is_project_upkeep, subject_of
from cairn.retrieval.question_kinds import QuestionKind, message_of
from cairn.retrieval.scores import Signal
from cairn.retrieval.widening import lists, most_members_in
from cairn.retrieval.window_columns import Windows
from cairn.workspace.collections import FileKind

_INT8_SCALE = 127.0
_MOST_COUNTED = 3
"""The number of members of a family, beside the first, that give a window the full value."""
_BEGINS, _BETWEEN_CALLS = 0.7, 0.5
"""The value of a step's windows without calls into the workspace: where the step begins, and elsewhere."""


def _bm25(windows: Windows) -> Floats:
    length = K1 * (1 - B + B * windows.lengths / windows.lengths.mean())
    saturated = windows.counts * (K1 + 1) / (windows.counts + length[:, None])
    found: Floats = saturated @ windows.idf / (windows.idf.sum() or 1.0)
    return found


def _meaning(windows: Windows) -> Floats:
    if windows.table is None:
        return np.zeros(len(windows))
    query = windows.table.embed_queries([windows.query.meant or windows.query.text])[0]
    vectors = np.concatenate([read.vectors for read in windows.read]).astype(np.float32)
    cosines: Floats = np.asarray(np.vecdot(vectors, query) / _INT8_SCALE, np.float64)
    return cosines


def _of_chunk(name: str) -> Callable[[Windows], Floats]:
    return lambda windows: windows.of_chunks(windows.of_chunk[name])


def _definition(windows: Windows) -> Floats:
    values = np.zeros(len(windows))
    if not windows.names or QuestionKind.CALLERS in windows.kinds:
        return values
    for place, ((first, last), chunk) in enumerate(zip(windows.spans, windows.chunk_of, strict=True)):
        stored = windows.chunks[chunk]
        for name in windows.names:
            if name in stored.chunk.defines:
                line = definition_lines(stored.chunk, name)[0] - stored.chunk.start_line
                values[place] = max(values[place], float(first <= line < last))
    return values


def _message(windows: Windows) -> Floats:
    message = words_of_message(message_of(windows.query.wording))
    if not message:
        return np.zeros(len(windows))
    values = [
        message_match(message, text) if code else 0.7 * prose_match(message, text)
        for text, code in zip(windows.texts, windows.is_code, strict=True)
    ]
    return np.array(values, np.float64)


def _frame(windows: Windows) -> Floats:
    """Return the weight of the innermost stack frame whose function the window's chunk defines."""
    report = windows.query.report
    if report is None or not report.frames:
        return np.zeros(len(windows))
    return windows.of_chunks(frame_weights(report, windows.chunks))


def _only(kind: QuestionKind, value: Callable[[Windows], Floats]) -> Callable[[Windows], Floats]:
    """Return the value for questions of this kind, and 0 for all others."""
    return lambda windows: value(windows) if kind in windows.kinds else np.zeros(len(windows))


def _lines_with_terms(shows: Callable[[str], float]) -> Callable[[Windows], Floats]:
    def value(windows: Windows) -> Floats:
        def best(lines: Sequence[str]) -> float:
            shown = ((line, value) for line in lines if (value := shows(line)))
            return max((value * (0.3 + windows.coverage(line)) for line, value in shown), default=0.0)

        return windows.each(best) * windows.is_code

    return value


_option = _lines_with_terms(reads_option)


def _call(windows: Windows) -> Floats:
    if (pattern := uses(windows.names)) is None:
        return np.zeros(len(windows))

    def is_used(lines: Sequence[str]) -> float:
        return float(any(pattern.search(line) and not defines_or_imports(line) for line in lines))

    return windows.each(is_used) * windows.is_code


def _test(windows: Windows) -> Floats:
    begins = windows.each(lambda lines: float(any(map(begins_test, lines))))
    return windows.tests * (0.75 + 0.25 * begins)


def _list(windows: Windows) -> Floats:
    """Return how long a list of similar lines the window contains, 0 to 1. A line may be added there."""
    longest = windows.each(lambda lines: max(map(len, lists(lines)), default=1))
    return np.minimum(1.0, (longest - 1) / 4) * windows.is_code


def _family(windows: Windows) -> Floats:
    if not windows.families:
        return np.zeros(len(windows))
    members = [most_members_in(windows.families, text) for text in windows.texts]
    return np.clip((np.array(members, np.float64) - 1) / _MOST_COUNTED, 0.0, 1.0) * windows.is_code


def _step(windows: Windows) -> Floats:
    """Return how likely the window belongs to the flow; windows that call a further step have the most."""
    if not windows.steps:
        return np.zeros(len(windows))
    values = np.zeros(len(windows))
    for place, step in enumerate(windows.step_of):
        if step is not None:
            first, last = windows.at(place)
            calls = any(first <= line < last for line in step.calls)
            begins = first <= step.place.line < last
            values[place] = step.worth * (1.0 if calls else _BEGINS if begins else _BETWEEN_CALLS)
    return values


def _comment(windows: Windows) -> Floats:
    return np.array([share for read in windows.read for share in read.comments], np.float64) * windows.is_code


def _test_or_upkeep(windows: Windows) -> Floats:
    """Return whether the window is in a test or example, or, for overviews, about the project's upkeep. All
    values are 0 if the question asks for tests."""
    if QuestionKind.TESTS in windows.kinds:
        return np.zeros(len(windows))
    beside = np.maximum(windows.tests, windows.of_kind(FileKind.EXAMPLES))
    if not subject_of(windows.query.wording):
        return beside
    places = [(each.chunk.header_path.split(" > "), each.path) for each in windows.chunks]
    return np.maximum(beside, windows.of_chunks([is_project_upkeep(*place) for place in places]))


def _history(windows: Windows) -> Floats:
    return windows.of_chunks([is_release_notes(chunk.path) for chunk in windows.chunks])


SIGNALS: tuple[Signal[Windows], ...] = (
    Signal("words", "words of the question", 0.8, _bm25, reason="has {terms}"),
    Signal("meaning", "meaning", 3.5, _meaning, reason="close in meaning"),
    Signal("chunk_keywords", "keywords of the chunk", 0.3, _of_chunk("keyword")),
    Signal("chunk_meaning", "meaning of the chunk", 0.7, _of_chunk("similarity")),
    Signal("file", "its file", 0.8, _of_chunk("file")),
    Signal("file_place", "place of its file", 0.2, _of_chunk("place")),
    Signal("package", "its package", 2.0, _of_chunk("package"), reason="in the package asked about"),
    Signal("definition", "defines it", 0.6, _definition, reason="defines {defined}"),
    Signal("introduction", "introduces it", 6.0, lambda windows: windows.introductions, reason="introduces it"),  # noqa: E501
    Signal("message", "is the message", 1.5, _message, reason="has the message"),
    Signal("trace", "is in the trace", 1.0, _frame, reason="in the stack trace"),
    Signal("option", "reads the option", 0.4, _only(QuestionKind.CONFIG, _option), reason="reads or declares an option"),  # noqa: E501
    Signal("use", "uses it", 1.2, _only(QuestionKind.CALLERS, _call), reason="uses {names}"),
    Signal("test", "is a test", 1.0, _only(QuestionKind.TESTS, _test), reason="a test"),
    Signal("list", "lists similar things", 0.8, _only(QuestionKind.CHANGE, _list), reason="lists similar things"),  # noqa: E501
    Signal("members", "mentions other members", 1.0, _family, reason="mentions other members"),
    Signal("step", "is a step", 1.0, _step, reason="{step}"),
    Signal("document", "is a document", -0.3, lambda windows: windows.of_kind(FileKind.DOCS)),
    Signal("comment", "is a comment", -0.2, _comment),
    Signal("off_topic", "is off topic", -0.8, _test_or_upkeep),
    Signal("release_notes", "is in release notes", -0.3, _history),
)  # fmt: skip
