"""The lines that the answers of a session have shown, so that no answer shows them a second time.

A line counts as shown if it has the same number and the same text as when it was shown. So lines that moved
or changed are shown again.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from attrs import define, field, frozen

from cairn import protocol
from cairn.discovery.layout import LEAST_KNOWN
from cairn.errors import InvalidRequestError
from cairn.paths import data_dir, read_private, write_private
from cairn.text.ranges import ranges_of

_LONGEST_LINE = 300
"""The length in characters from which a line counts as never shown, since answers may have cut it."""
_MOST_FILES = 500
"""The maximum number of files of a session. The one that was shown least recently is forgotten first."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_BYTES = 20_000_000
_MOST_SESSIONS = 100


@frozen
class Run:
    """Neighbouring lines of a file, of which all or none were shown before."""

    first: int
    """The 1-based number of the first line."""
    lines: Sequence[str]
    is_known: bool

    @property
    def mark(self) -> str:
        """What stands in the place of lines that were shown before."""
        return f"{self.first}-{self.first + len(self.lines) - 1} shown above"


@define(eq=False)
class ShownLines:
    _files: dict[tuple[str, str], dict[int, int]] = field(factory=dict, init=False)
    """The checksum of each shown line by its 1-based number, by the folder's URI and the path in it."""
    question: str = field(default="", init=False)
    """The last question of the session."""
    _named: dict[tuple[str, str], None] = field(factory=dict, init=False)
    """The files that answers have named as places to read, each by its folder and path."""

    def add(self, folder: str, path: str, first: int, lines: Sequence[str]) -> None:
        """Note that an answer shows these lines, of which `first` is the 1-based number of the first."""
        new = {
            number: _checksum(line) for number, line in enumerate(lines, first) if len(line) < _LONGEST_LINE
        }
        # Another thread may be reading the former mapping.
        self._files[folder, path] = {**self._files.pop((folder, path), {}), **new}
        while len(self._files) > _MOST_FILES:
            del self._files[next(iter(self._files))]

    def add_named(self, folder: str, path: str) -> None:
        """Note that an answer names places of the file to read."""
        self._named.pop((folder, path), None)
        self._named[folder, path] = None
        while len(self._named) > _MOST_FILES:
            del self._named[next(iter(self._named))]

    def has_named(self, folder: str, path: str) -> bool:
        return (folder, path) in self._named

    def has(self, folder: str, path: str) -> bool:
        """Return whether any line of the file was shown."""
        return (folder, path) in self._files

    def runs(self, folder: str, path: str, first: int, lines: Sequence[str]) -> list[Run]:
        """Divide the lines into those that are new and those that were shown. Short runs of the latter count
        as new."""
        here = self._files.get((folder, path), {})
        known = [here.get(number) == _checksum(line) for number, line in enumerate(lines, first)]
        lengths = [(is_known, sum(1 for _ in same)) for is_known, same in groupby(known)]
        found, at = list[Run](), 0
        for is_known, same in groupby(lengths, key=lambda each: each[0] and each[1] >= LEAST_KNOWN):
            count = sum(length for _, length in same)
            found.append(Run(first + at, lines[at : at + count], is_known))
            at += count
        return found

    def still_there(
        self, uri_of: Callable[[str, str], str | None], lines_now: Callable[[str], Sequence[str] | None]
    ) -> Iterator[protocol.ShownPlace]:
        """Yield the shown lines that stand unchanged in their files. `uri_of` returns a file's URI by its
        folder and path, None if the folder is not open, and `lines_now` its current lines."""
        for (folder, path), known in list(self._files.items()):
            uri = uri_of(folder, path)
            if uri is None:
                continue
            lines = lines_now(uri) or ()
            there = (
                number - 1
                for number, checksum in known.items()
                if number <= len(lines) and _checksum(lines[number - 1]) == checksum
            )
            for first, last in ranges_of(there):
                yield protocol.ShownPlace(uri, protocol.whole_lines(first, last))

    # --- between commands ------------------------------------------------------------------------------

    @classmethod
    def load(cls, name: str) -> ShownLines:
        """Return what the commands of the session with this name have shown. Raise InvalidRequestError for a
        name that cannot be that of a file."""
        shown = cls()
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            data = json.loads(read_private(_file(name), _MOST_BYTES))
            shown.question = str(data["question"])
            for folder, path, lines in data["shown"]:
                shown._files[folder, path] = {int(number): checksum for number, checksum in lines.items()}
            for folder, path in data["named"]:
                shown._named[folder, path] = None
        return shown

    def save(self, name: str) -> None:
        """Keep this for the next command of the session, and forget the oldest of many sessions."""
        file = _file(name)
        shown = [(*place, lines) for place, lines in self._files.items()]
        data = {"question": self.question, "shown": shown, "named": list(self._named)}
        with suppress(OSError):  # The next command shows some lines a second time.
            write_private(file, json.dumps(data, separators=(",", ":")))
            sessions = sorted(file.parent.glob("*.json"), key=lambda each: -each.stat().st_mtime)
            for each in sessions[_MOST_SESSIONS:]:
                each.unlink(missing_ok=True)


def _file(name: str) -> Path:
    if not _NAME.fullmatch(name):
        problem = f"{name[:80]!r} cannot name a session; give letters, digits, `-`, `_` and `.`, at most 64"
        raise InvalidRequestError("session", problem)
    return data_dir() / "sessions" / f"{name}.json"


def _checksum(line: str) -> int:
    return zlib.crc32(line.rstrip().encode("utf-8", "surrogatepass"))
