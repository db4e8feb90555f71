"""The output streams of a process. On a terminal they pass only text that cannot control the terminal.

Texts of files, commits, other programs and servers end up in answers, errors, logs and tracebacks. So the
streams themselves are guarded, rather than each place that prints. Escape sequences of our own bypass the
guard through `unguarded`, and whoever writes them cleans the text between them with `visible`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TextIO, cast

_CONTROLS = (
    "["
    "\x00-\x08\x0b-\x1f"  # C0 except tab and line feed: escape, bell, backspace, carriage return
    "\x7f-\x9f"  # DEL, and C1: one character instead of escape and a letter
    "\u2028-\u202e\u2066-\u2069"  # separators of lines, and what reorders the characters of a line
    "\ud800-\udfff"  # bytes of file names that are not UTF-8, which some encodings would write as they are
    "]"
)
"""A pattern, which is compiled on its first use: that takes a millisecond, and only terminals need it."""


def visible(text: str) -> str:
    """Return the text with U+FFFD in place of each character that could control a terminal."""
    return re.sub(_CONTROLS, "\ufffd", text.replace("\r\n", "\n"))


class _GuardedBytes:
    """The bytes of a stream on a terminal. Each write contains whole characters."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream, self._encoding = stream, encoding

    def write(self, data: bytes) -> int:
        text = visible(data.decode(self._encoding, "replace"))
        self._stream.write(text.encode(self._encoding, "replace"))
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Guarded:
    """The text of a stream on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @property
    def buffer(self) -> _GuardedBytes:
        self.stream.flush()
        return _GuardedBytes(self.stream.buffer, self.stream.encoding)

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Piped:
    """A stream of Windows that is not a terminal. It calls a pipe without a reader an invalid argument."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _named_as_elsewhere():
            return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        with _named_as_elsewhere():
            self._stream.writelines(lines)

    def flush(self) -> None:
        with _named_as_elsewhere():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _named_as_elsewhere() -> Iterator[None]:
    """Raise BrokenPipeError for a pipe without a reader, as other systems do."""
    try:
        yield
    except OSError as problem:
        if problem.errno != errno.EINVAL:
            raise
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from problem


def guard_streams() -> None:
    """Guard stdout and stderr where they are terminals; elsewhere, what is written stays as it is.

    Both replace characters that their encoding (of an old Windows console, C) lacks.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, _Guarded | _Piped):
            continue
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")
        if stream.isatty():
            setattr(sys, name, _Guarded(stream))
            os.environ.setdefault("PYTHON_COLORS", "0")  # From Python 3.13 on, tracebacks would be coloured.
        elif sys.platform == "win32":
            setattr(sys, name, _Piped(stream))


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream below the guard, for a writer that cleans the texts of others itself."""
    return cast(_Guarded, stream).stream if isinstance(stream, _Guarded) else stream


def guarded_bytes(stream: BinaryIO) -> BinaryIO:
    """Return a stream for lines of UTF-8, guarded if it is a terminal."""
    return cast(BinaryIO, _GuardedBytes(stream, "utf-8")) if stream.isatty() else stream
