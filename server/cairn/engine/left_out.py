"""Which files of the open folders are not indexed, and why: all of a folder by rule, or one path."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attrs import frozen

from cairn.engine.background_value import BackgroundValue
from cairn.engine.folders import Folder, path_inside
from cairn.errors import InvalidRequestError
from cairn.index.indexing.folder_state import QueryGate
from cairn.index.reader.index_memory import IndexMemory
from cairn.operations.why import Why, decide_by_content, in_words, why
from cairn.settings.tree import IndexSettings
from cairn.text.counts import counted
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import (
    INDEXED,
    LEFT_OUT_BY_CONTENT,
    Decision,
    decide_directory_path,
    decide_file_path,
)
from cairn.workspace.scan import FileRules, ScanReport, scan

if TYPE_CHECKING:
    from cairn.engine.request import Request

MOST_EXAMPLES = 8
_SCAN_SECONDS = 5.0
"""The time limit of a scan. A scan of 20,000 files takes 0.3 s, one of 78,000 files 1.5 s."""
_CONTENT_SECONDS, _CONTENT_FILES = 1.0, 300
"""The maximum time and number of files for reading files again to learn which rule excludes their content."""
_FRESH_SECONDS = 30.0
"""How many seconds a count is used. Excluded files may change while the index does not."""
_MOST_CHARACTERS = 4_096
"""The maximum length of a path; no system has longer paths."""


@frozen
class LeftOutByRule:
    rule: str
    meaning: str
    count: int
    """The number of files and directories. The contents of an excluded directory are not counted."""
    examples: Sequence[tuple[str, Decision]]
    """Paths relative to the folder. The path of a directory ends with `/`."""


@frozen
class LeftOut:
    rules: tuple[LeftOutByRule, ...]
    """The rules that exclude something, the highest count first."""
    unreadable: tuple[str, ...]
    """Paths that could not be read, each with the system's reason."""
    is_whole: bool
    """Whether the scan reached the end of the folder before its time limit."""


_CACHE: WeakKeyDictionary[IndexMemory, BackgroundValue[LeftOut]] = WeakKeyDictionary()


def left_out(folder: Folder, gate: QueryGate, deadline: float) -> LeftOut | None:
    """Return what is excluded from a local folder. The result is cached for 30 s or until the index changes.

    Return None if the first count has not ended at `deadline` (`time.monotonic`). The count pauses while
    queries run (`gate`).
    """
    settings, reader = folder.settings().index, folder.reader.saved
    value = _CACHE.setdefault(reader.memory, BackgroundValue())
    version = (reader.identity(), reader.facts().content, settings)
    return value.get(
        version, lambda: _count(folder, settings, gate), _FRESH_SECONDS, deadline - time.monotonic()
    )


def _count(folder: Folder, settings: IndexSettings, gate: QueryGate) -> LeftOut:
    deadline = time.monotonic() + _SCAN_SECONDS
    report, is_cut = ScanReport(most_examples=MOST_EXAMPLES), False

    def is_over() -> bool:
        nonlocal is_cut
        is_cut = time.monotonic() > deadline
        return is_cut

    for _ in scan(folder.root, FileRules(folder.root, settings), report, stop=is_over):
        gate.step_aside()
    for path, decision in _by_content(folder, gate):
        report.add_excluded(path, decision)
    rules = [
        LeftOutByRule(rule, in_words(rule, settings), count, tuple(report.examples[rule]))
        for rule, count in report.skipped.most_common()
    ]
    return LeftOut(tuple(rules), tuple(report.unreadable), not is_cut)


def _by_content(folder: Folder, gate: QueryGate) -> Iterator[tuple[str, Decision]]:
    """Yield the files of which only the name is indexed, with the rule. The index does not store the rule."""
    deadline = time.monotonic() + _CONTENT_SECONDS
    paths = folder.reader.saved.select("SELECT path FROM files WHERE NOT is_text ORDER BY path")
    for number, (path,) in enumerate(paths):
        if number >= _CONTENT_FILES or time.monotonic() > deadline:
            yield path, Decision(False, LEFT_OUT_BY_CONTENT)
            continue
        gate.step_aside()
        decision = decide_by_content(folder.root, path)
        if not decision.indexed:  # Otherwise the file has changed since it was indexed.
            yield path, decision


# --- one path --------------------------------------------------------------------------------------------


def why_indexed(request: Request, path: str) -> list[tuple[Folder, Why]]:
    """Return the decisions about a typed path, in the folders that have it, or else in all.

    The decision about a path that does not exist has no rule. Raise InvalidRequestError for a path outside of
    all folders.
    """
    given = path.strip().removeprefix("./")
    inside = [] if len(given) > _MOST_CHARACTERS else [
        (folder, place) for folder in request.folders if (place := _place(folder, given)) is not None
    ]  # fmt: skip
    if not inside:
        raise InvalidRequestError("path", "give a path in the folder, as `src/app.py`")
    answers = [
        (folder, (_of_team if folder.revision else _of_files)(folder, place)) for folder, place in inside
    ]
    return [each for each in answers if each[1].exists] or answers


def _place(folder: Folder, given: str) -> PurePosixPath | None:
    """Return a typed path as a path relative to the folder; None if it is outside."""
    if folder.revision is None and Path(given).is_absolute() and (place := folder.place_of(Path(given))):
        return PurePosixPath(place)
    return path_inside(given)


def _of_files(folder: Folder, path: PurePosixPath) -> Why:
    try:
        return why(folder.root / path, folder.root)
    except (InvalidRequestError, OSError, RuntimeError, ValueError):  # The path cannot be resolved.
        return Why(str(path), False, False, "", "", "there is no such file or directory", None)


def _of_team(folder: Folder, path: PurePosixPath) -> Why:
    """Return the decision about a path in a team's index, where only rules about names are known."""
    revision, reader = folder.revision, folder.reader.saved
    assert revision is not None
    where = "" if path == PurePosixPath() else well_formed(path.as_posix())
    sql = """SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(path = ?1), 0), coalesce(max(is_text), 0)
        FROM files
        WHERE ?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"""
    ((files, chunks, is_file, is_text),) = reader.select(sql, (where,))
    decision, state = INDEXED, counted(chunks, "passage")
    if not files:
        decision, state = _by_name(path) or Decision(False, ""), "the team's index has nothing of it"
    elif not is_text:
        decision, state = Decision(False, LEFT_OUT_BY_CONTENT), "its name alone"
    elif not is_file:
        state = f"{counted(files, 'file')}, {state}"
    meaning = "" if decision.indexed else in_words(decision.rule, IndexSettings())
    at = f"{state}, from {revision.ref} at {revision.commit[:8]}"
    return Why(where, False, decision.indexed, decision.rule, "", at, None, meaning=meaning)


def _by_name(path: PurePosixPath) -> Decision | None:
    """Return the built-in rule that excludes the path by its name or the name of a parent directory."""
    for directory in accumulate(path.parts[:-1], "{}/{}".format):
        if (decision := decide_directory_path(directory)) is not None:
            return decision
    return decide_file_path(str(path)) or decide_directory_path(str(path))
