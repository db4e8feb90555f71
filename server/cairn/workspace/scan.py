"""Walk a workspace folder, decide which files are indexed and by which rule, and read them.

All of Cairn relies on this one decision. The steps are: the names and directories that Cairn always excludes
(`builtin_rules`), other worktrees (`repository`), the settings, the ignore files (`ignore_files`), the size,
and after reading the file its content (`builtin_rules` again). No step re-includes what the first one
excludes, so a secret stays excluded.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Set
from itertools import accumulate
from operator import attrgetter
from pathlib import Path, PureWindowsPath

from attrs import field, frozen

from cairn.paths import open_regular
from cairn.settings.tree import IndexSettings
from cairn.text.decoding import decoded
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import (
    INDEXED,
    Decision,
    decide_content,
    decide_directory_path,
    decide_file_path,
    other_worktree,
    unreadable,
)
from cairn.workspace.ignore_files import IgnoreFiles
from cairn.workspace.ignore_patterns import PatternList, Selection, path_key
from cairn.workspace.repository import is_linked_worktree

_LONGEST_PATH = 4_096
"""The maximum length of a path in characters; no system has longer ones."""
_EMPTY = os.stat_result((stat.S_IFREG, *(0 for _ in range(9))))


def is_relative(path: object) -> bool:
    """Return whether `path` is written as the path of a file below a folder: relative, with `/`, no `..`."""
    if not isinstance(path, str) or not 0 < len(path) <= _LONGEST_PATH or "\0" in path:
        return False
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return False
    # Windows reads these as drives, streams and devices, and ignores a dot or space at the end of a name.
    return sys.platform != "win32" or not (
        re.search(r'[\\:*?"<>|]', path)
        or any(part[-1] in ". " or PureWindowsPath(part).is_reserved() for part in parts)
    )


class FileRules:
    """The rules of one workspace folder. The ignore files are read as they are at its creation."""

    def __init__(self, root: Path, settings: IndexSettings, *, all_tracked: bool = False) -> None:
        """If `all_tracked`, git tracks all files of the folder, so the ignore files of git do not apply."""
        self._root = root
        self._settings = settings
        self._include = Selection(settings.include)
        self._exclude = PatternList.of_settings(settings.exclude)
        self._ignore_files = IgnoreFiles(root, all_tracked=all_tracked)

    def decide(self, path: str) -> Decision:
        """Decide about the file at `path` (relative, with `/`) by its name, size and directories."""
        try:
            return self._decide(path, None)
        except OSError as problem:
            return unreadable(problem)

    def admits(self, path: str) -> bool:
        """Return whether the file at `path` is indexed by its name and directories. It may not exist yet."""
        try:
            return self._decide(path, _EMPTY).indexed
        except OSError:
            return False

    def _decide(self, path: str, missing: os.stat_result | None) -> Decision:
        """Decide about a file, which has the status `missing` if it does not exist. Raise OSError."""
        if not is_relative(path):
            return Decision(False, "outside of the workspace folder")
        entered = self.decide_descent(path.rpartition("/")[0])
        if not entered.indexed:
            return entered
        try:
            status = (self._root / path).lstat()
        except FileNotFoundError:
            if missing is None:
                raise
            status = missing
        return self.decide_file(path, status)

    def decide_descent(self, directory: str) -> Decision:
        """Decide whether the scan reaches `directory`. It always reaches "", the folder itself."""
        decision = INDEXED
        for ancestor in accumulate(directory.split("/") if directory else (), "{}/{}".format):
            decision = self.decide_directory(ancestor)
            if not decision.indexed:
                return decision
            if (self._root / ancestor).is_symlink():
                return Decision(False, "symbolic link", ancestor)
            if is_linked_worktree(self._root / ancestor):
                return other_worktree(ancestor)
        return decision

    def decide_directory(self, path: str) -> Decision:
        """Decide whether to enter the directory at `path`, whose parent was entered."""
        return decide_directory_path(path) or self._decide_place(path, directory=True)

    def decide_file(self, path: str, status: os.stat_result) -> Decision:
        """Decide about one file whose directory was entered. `status` must not follow links."""
        if not stat.S_ISREG(status.st_mode):
            return Decision(False, "symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file")
        decision = decide_file_path(path) or self._decide_place(path, directory=False)
        if not decision.indexed:
            return decision
        if self._include and not self._include.names(path):
            return Decision(False, "settings: index.include does not name it")
        if status.st_size > self._settings.max_file_bytes:
            sizes = f"{status.st_size} > {self._settings.max_file_bytes}"
            return Decision(False, "larger than index.maxFileBytes", sizes)
        return decision

    def decide_listed(self, directory: str, names: Set[str]) -> Decision:
        """Decide by the entries of `directory` whether to scan it. This records them, which saves searching
        for missing ignore files."""
        if directory and ".git" in names and is_linked_worktree(self._root / directory):
            return other_worktree(directory)
        self._ignore_files.listed(directory, names)
        return INDEXED

    def _decide_place(self, path: str, directory: bool) -> Decision:
        if self._exclude:
            pattern = self._exclude.match(path_key(path), path_key(path.rpartition("/")[2]), directory)
            if pattern is not None and not pattern.negated:
                return Decision(False, "settings: index.exclude", pattern.text)
        match = self._ignore_files.decide(path, directory)
        if match is None:
            return INDEXED
        where = f"{match.source}:{match.pattern.line}: {match.pattern.text}"
        if match.ignored:
            return Decision(False, f"ignored by {match.source}", where)
        return Decision(True, f"taken back in by {match.source}", where)


# --- the scan ---------------------------------------------------------------------------------------


@frozen
class FileEntry:
    """A file to index, with the metadata from its directory's listing."""

    path: str
    size: int
    mtime_ns: int


@frozen
class ScanReport:
    """The files and directories that a scan skipped. It is filled during the scan."""

    skipped: Counter[str] = field(factory=Counter)
    examples: dict[str, list[tuple[str, Decision]]] = field(factory=dict)
    """The first paths to which each rule applied. A directory ends with `/`."""
    unreadable: list[str] = field(factory=list)
    """The paths that could not be listed, with the system's reason."""
    most_examples: int = field(default=1, kw_only=True)

    def add_excluded(self, path: str, decision: Decision) -> None:
        self.skipped[decision.rule] += 1
        examples = self.examples.setdefault(decision.rule, [])
        if len(examples) < self.most_examples:
            examples.append((path, decision))


def scan(
    root: Path,
    rules: FileRules,
    report: ScanReport,
    below: str = "",
    stop: Callable[[], bool] = lambda: False,
    passed_over: Container[str] = (),
) -> Iterator[FileEntry]:
    """Yield every accepted file under `root / below`, shallow files before deep ones. Links are not followed,
    so a loop of links cannot trap the scan. It stops early once `stop()` is true. The files `passed_over` are
    neither decided nor yielded."""
    folder = os.fspath(root)  # Paths are text, because the operator `/` of Path took a third of the scan.
    level = [below]
    while level:
        deeper: list[str] = []
        for directory in level:
            if stop():
                return
            try:
                entries = sorted(os.scandir(f"{folder}/{directory}"), key=attrgetter("name"))
            except OSError as problem:
                report.unreadable.append(f"{directory or '.'}: {problem.strerror or problem}")
                continue
            listed = rules.decide_listed(directory, {entry.name for entry in entries})
            if not listed.indexed:
                report.add_excluded(f"{directory}/", listed)
                continue
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                # Linux allows names that editors and databases reject.
                if not entry.name.isascii() and well_formed(entry.name) != entry.name:
                    report.unreadable.append(f"{path!r}: its name is not valid Unicode")
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        decision = rules.decide_directory(path)
                        if decision.indexed:
                            deeper.append(path)
                        else:
                            report.add_excluded(f"{path}/", decision)
                    elif path not in passed_over:
                        status = entry.stat(follow_symlinks=False)
                        decision = rules.decide_file(path, status)
                        if decision.indexed:
                            yield FileEntry(path, status.st_size, status.st_mtime_ns)
                        else:
                            report.add_excluded(path, decision)
                except OSError as problem:  # The file was removed or locked after the listing.
                    report.unreadable.append(f"{path}: {problem.strerror or problem}")
        level = deeper


def permitted_text(
    root: Path, path: str, rules: FileRules, is_admitted: Callable[[str], bool] = lambda text: False
) -> str | None:
    """Return the text of the file at `path` below the folder `root`, if the rules admit the file and its
    content; None for any other path and for a binary file. `is_admitted` tells whether they admitted the same
    text before, which is faster than to decide again. Raise OSError."""
    if not rules.decide(path).indexed:
        return None
    text = read_text(root / path)
    if text is None or is_admitted(text):
        return text
    return text if decide_content(path, text).indexed else None


def read_text(path: Path) -> str | None:
    """Return the file's text with its line ends, or None for a binary file. Raise OSError as `read_bytes`."""
    found = decoded(read_bytes(path))
    return None if found is None else found.text


def read_bytes(path: Path) -> bytes:
    """Return the file's content. Raise OSError as `open_regular`."""
    with open_regular(path) as file:
        return file.read()
