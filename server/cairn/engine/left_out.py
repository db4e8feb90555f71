"""What of a folder is not indexed, and by which rule: found by the very rules of a scan, whoever writes the index."""

from __future__ import annotations

import time
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from attrs import frozen

from cairn.engine.folders import Folder
from cairn.engine.in_background import InBackground
from cairn.index.indexing.folder_state import QueryGate
from cairn.index.reader.connection import IndexMemory
from cairn.operations.why import decide_by_content
from cairn.settings.tree import IndexSettings
from cairn.workspace.builtin_rules import Decision
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import ScanReport, scan

MOST_EXAMPLES = 8
"""Paths that are shown of each rule."""
_SCAN_SECONDS = 5.0
"""A folder is looked through for so long at most: 20,000 files take 0.3 s, 78,000 take 1.5 s."""
_CONTENT_SECONDS, _CONTENT_FILES = 1.0, 300
"""So many files that their content keeps out are read again, to say which rule it is."""
_FRESH_SECONDS = 30.0
"""Files that are left out change without the index: the folder is looked through again after this long, if somebody asks."""
_BY_CONTENT = "left out by its content"

_IN_WORDS = {
    "built-in: directory without project text": "Directories of other people's code, caches and git's own data: packages that were installed,"
    " virtual environments, build caches.",
    "built-in: may hold secrets": "Files and directories whose name, or first lines, promise a secret. Nothing takes them back in.",
    "built-in: generated file": "Files that a program wrote, as their name or their first lines say: lock files, generated code.",
    "built-in: generated documentation": "Pages that a program made of comments in the code, where the comments are found already.",
    "built-in: binary file type": "Files without text, by their ending: pictures, archives, compiled programs.",
    "built-in: minified": "Files nearly all of whose text is in very long lines, as scripts for browsers are packed.",
    "symbolic link": "Links to other places. What they lead to is indexed where it lies, if that is in the folder.",
    "not a regular file": "Sockets, pipes and devices.",
    "settings: index.include does not name it": "Files that no pattern of the setting index.include names.",
    "settings: index.exclude": "Files and directories that a pattern of the setting index.exclude names.",
    "binary content": "Files with bytes that no text has. Only their names can be found.",
    _BY_CONTENT: "Files that are binary, minified or generated, as their content says; there are too many to name the rule for each."
    " Only their names can be found.",
}


@frozen
class Example:
    """A path that a rule leaves out."""

    path: str
    """Relative to the folder; that of a directory ends with `/`."""
    detail: str
    """What is particular to this path, such as file, line and pattern; may be empty."""


@frozen
class LeftOutByRule:
    """What one rule leaves out."""

    rule: str
    meaning: str
    """The rule in a sentence."""
    count: int
    """Files and directories; what is in a directory is not counted."""
    examples: tuple[Example, ...]


@frozen
class LeftOut:
    """What of a folder is left out."""

    rules: tuple[LeftOutByRule, ...]
    """The ones that leave out most come first."""
    unreadable: tuple[str, ...]
    """Places that could not be read, each with the system's reason."""
    is_whole: bool
    """Whether the whole folder was looked through; else the time was over before."""
    looked_at: float
    """Unix seconds."""
    files: int
    """Files that the rules admit, as far as the look went."""


_KEPT: WeakKeyDictionary[IndexMemory, InBackground[LeftOut]] = WeakKeyDictionary()


def left_out(folder: Folder, gate: QueryGate, waits_until: float) -> LeftOut | None:
    """What is left out of a folder on this machine. It is kept while the index has the same content, for half a minute.

    None where the first count has not ended at `waits_until`, on the monotonic clock. The count steps aside while `gate` says that
    questions are answered.
    """
    settings, reader = folder.settings().index, folder.reader.saved
    kept = _KEPT.setdefault(reader.memory, InBackground())
    version = (reader.identity(), reader.facts().content, settings)
    return kept.get(
        version, lambda: _look(folder, settings, gate), _FRESH_SECONDS, waits_until - time.monotonic()
    )


def _look(folder: Folder, settings: IndexSettings, gate: QueryGate) -> LeftOut:
    deadline = time.monotonic() + _SCAN_SECONDS
    report, files, is_cut = ScanReport(most_examples=MOST_EXAMPLES), 0, False

    def is_over() -> bool:
        nonlocal is_cut
        is_cut = time.monotonic() > deadline
        return is_cut

    for _ in scan(folder.root, FileRules(folder.root, settings), report, stop=is_over):
        files += 1
        gate.step_aside()
    for path, decision in _by_content(folder, gate):
        report.leave_out(path, decision)
    rules = [
        LeftOutByRule(
            rule,
            in_words(rule, settings),
            count,
            tuple(Example(path, decision.detail) for path, decision in report.examples[rule]),
        )
        for rule, count in report.skipped.most_common()
    ]
    return LeftOut(tuple(rules), tuple(report.unreadable), not is_cut, time.time(), files)


def _by_content(folder: Folder, gate: QueryGate) -> Iterator[tuple[str, Decision]]:
    """The files whose names alone the index has, because of what is in them. The index does not say which rule it was."""
    deadline = time.monotonic() + _CONTENT_SECONDS
    paths = folder.reader.saved.select("SELECT path FROM files WHERE NOT is_text ORDER BY path")
    for number, (path,) in enumerate(paths):
        if number >= _CONTENT_FILES or time.monotonic() > deadline:
            yield path, Decision(False, _BY_CONTENT)
            continue
        gate.step_aside()
        decision = decide_by_content(folder.root, path)
        if not decision.indexed:  # else it was changed since it was read
            yield path, decision


def in_words(rule: str, settings: IndexSettings) -> str:
    """A rule in a sentence."""
    if rule.startswith("ignored by "):
        return f"Files and directories that a line of {rule.removeprefix('ignored by ')} names."
    if rule.startswith("taken back in by "):
        return f"A line of {rule.removeprefix('taken back in by ')} takes it back in."
    if rule == "larger than index.maxFileBytes":
        return f"Files larger than {settings.max_file_bytes:,} bytes, which the setting index.maxFileBytes allows."
    if rule.startswith("cannot be read"):
        return "The system does not let Cairn read it."
    return _IN_WORDS.get(rule, "")
