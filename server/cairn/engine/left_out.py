"""Lists the files of a folder that are not indexed, and the rules of the indexer's scan that exclude them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from attrs import frozen

from cairn.engine.background_value import BackgroundValue
from cairn.engine.folders import Folder
from cairn.index.indexing.folder_state import QueryGate
from cairn.index.reader.index_memory import IndexMemory
from cairn.operations.why import decide_by_content
from cairn.settings.tree import IndexSettings
from cairn.workspace.builtin_rules import UNREADABLE, Decision
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import ScanReport, scan

MOST_EXAMPLES = 8
_SCAN_SECONDS = 5.0
"""The time limit of a scan. A scan of 20,000 files takes 0.3 s, one of 78,000 files 1.5 s."""
_CONTENT_SECONDS, _CONTENT_FILES = 1.0, 300
"""The maximum time and number of files for reading files again to learn which rule excludes their content."""
_FRESH_SECONDS = 30.0
"""How many seconds a count is used. Excluded files may change while the index does not."""
_BY_CONTENT = "left out by its content"

_IN_WORDS = {
    "built-in: directory without project text": "Directories of other people's code, caches and git's own"
    " data: packages that were installed, virtual environments, build caches.",
    "built-in: may hold secrets": "Files and directories whose names mean secrets, and files that contain"
    " one. Nothing takes them back in.",
    "built-in: generated file": "Files that a program wrote, as their name or their first lines say:"
    " lock files, generated code.",
    "built-in: generated documentation": "Pages that a program made of comments in the code,"
    " where the comments are found already.",
    "built-in: binary file type": "Files without text, by their ending: pictures, archives, compiled"
    " programs.",
    "built-in: minified": "Files nearly all of whose text is in very long lines, as scripts for browsers are"
    " packed.",
    "symbolic link": "Links to other places. Their targets are indexed too, if they are in the folder.",
    "not a regular file": "Sockets, pipes and devices.",
    "settings: index.include does not name it": "Files that no pattern of the setting index.include names.",
    "settings: index.exclude": "Files and directories that a pattern of the setting index.exclude names.",
    "binary content": "Files with bytes that no text has. Only their names can be found.",
    _BY_CONTENT: "Files that are binary, minified or generated, or hold a secret, as their content says;"
    " there are too many to name the rule for each. Only their names can be found.",
}


@frozen
class Example:
    path: str
    """The path relative to the folder. The path of a directory ends with `/`."""
    detail: str
    """Details of the decision, such as the ignore file, line and pattern; may be empty."""


@frozen
class LeftOutByRule:
    rule: str
    meaning: str
    count: int
    """The number of files and directories. The contents of an excluded directory are not counted."""
    examples: tuple[Example, ...]


@frozen
class LeftOut:
    rules: tuple[LeftOutByRule, ...]
    """The rules that exclude something, the highest count first."""
    unreadable: tuple[str, ...]
    """Paths that could not be read, each with the system's reason."""
    is_whole: bool
    """Whether the scan reached the end of the folder before its time limit."""
    looked_at: float
    """The time of the scan in Unix seconds."""
    files: int
    """The number of scanned files that no rule excludes."""


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
    report, files, is_cut = ScanReport(most_examples=MOST_EXAMPLES), 0, False

    def is_over() -> bool:
        nonlocal is_cut
        is_cut = time.monotonic() > deadline
        return is_cut

    for _ in scan(folder.root, FileRules(folder.root, settings), report, stop=is_over):
        files += 1
        gate.step_aside()
    for path, decision in _by_content(folder, gate):
        report.add_excluded(path, decision)
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
    """Yield the files of which only the name is indexed, with the rule. The index does not store the rule."""
    deadline = time.monotonic() + _CONTENT_SECONDS
    paths = folder.reader.saved.select("SELECT path FROM files WHERE NOT is_text ORDER BY path")
    for number, (path,) in enumerate(paths):
        if number >= _CONTENT_FILES or time.monotonic() > deadline:
            yield path, Decision(False, _BY_CONTENT)
            continue
        gate.step_aside()
        decision = decide_by_content(folder.root, path)
        if not decision.indexed:  # Otherwise the file has changed since it was indexed.
            yield path, decision


def in_words(rule: str, settings: IndexSettings) -> str:
    """Return a sentence that explains the rule; "" if its name says everything."""
    if rule.startswith("ignored by "):
        return f"Files and directories that a line of {rule.removeprefix('ignored by ')} names."
    if rule.startswith("taken back in by "):
        return f"A line of {rule.removeprefix('taken back in by ')} takes it back in."
    if rule == "larger than index.maxFileBytes":
        allowed = f"{settings.max_file_bytes:,} bytes"
        return f"Files larger than {allowed}, which the setting index.maxFileBytes allows."
    if rule.startswith(UNREADABLE):
        return "The system does not let Cairn read it."
    return _IN_WORDS.get(rule, "")
