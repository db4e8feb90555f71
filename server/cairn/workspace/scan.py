"""Walk a workspace folder and read its files."""

from __future__ import annotations

import codecs
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

from attrs import field, frozen

from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import Decision, decide_content
from cairn.workspace.rules import FileRules

_SNIFFED_BYTES = 8_000
"""The number of a file's first bytes that are searched for a NUL, which makes it binary, as in git."""


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
) -> Iterator[FileEntry]:
    """Yield every accepted file under `root / below`, shallow files before deep ones. Links are not followed,
    so a loop of links cannot trap the scan. It stops early once `stop()` is true."""
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
            rules.listed(directory, {entry.name for entry in entries})
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
                    else:
                        status = entry.stat(follow_symlinks=False)
                        decision = rules.decide_file(path, status)
                        if decision.indexed:
                            yield FileEntry(path, status.st_size, status.st_mtime_ns)
                        else:
                            report.add_excluded(path, decision)
                except OSError as problem:  # The file was removed or locked after the listing.
                    report.unreadable.append(f"{path}: {problem.strerror or problem}")
        level = deeper


def permitted_text(root: Path, path: str, rules: FileRules) -> str | None:
    """Return the text of the file at `path` below the folder `root`, if the rules admit the file and its
    content; None for any other path and for a binary file. Raise OSError."""
    if not rules.decide(path).indexed:
        return None
    text = read_text(root / path)
    return text if text is not None and decide_content(path, text).indexed else None


def read_text(path: Path) -> str | None:
    """Return the file's text with its line ends, or None for a binary file. Raise OSError as `read_bytes`.

    Text that is not valid UTF-8 is read as Latin-1, which preserves every byte and every line.
    """
    data = read_bytes(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:_SNIFFED_BYTES]:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_bytes(path: Path) -> bytes:
    """Return the file's content. Raise OSError, also for a link and for anything but a regular file."""
    # A link may have replaced the file since the rules examined it. Opening a pipe would wait for a writer.
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read()
