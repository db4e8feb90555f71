"""Reads and writes settings files: atomically, through links, and with the same mode and byte order mark.

A user's own links may lead anywhere, as in a folder of dotfiles. The links of a project are its author's, so
its files must be inside the project's folder.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from cairn.errors import CairnError
from cairn.paths import write_atomically

BLANKS = " \t\r\n"
"""Whitespace in JSON and TOML. It has fewer characters than Python's `str.isspace` accepts."""
_MARK = "\ufeff"
_RIGHTS = 0o777


class UnreadableSettingsError(CairnError):
    """A settings file is invalid in its format; the message names the line."""


class UneditableSettingsError(CairnError):
    """A settings file is valid, but the entry cannot be changed without changes to the rest of the file."""


def real_path(path: Path, project: Path | None) -> Path:
    """Return the path with all links followed. Raise UneditableSettingsError if it leaves `project`.

    Git's own folder does not count as a part of the project: a file there may run, or change what git runs.
    """
    real = Path(os.path.realpath(path))
    if project is None:
        return real
    root = Path(os.path.realpath(project))
    if not real.is_relative_to(root) or ".git" in map(str.lower, real.relative_to(root).parts):
        raise UneditableSettingsError(
            f"a link leads out of the project, to {real}; replace it with a file or folder of the project"
        )
    return real


def read(path: Path, project: Path | None = None) -> str | None:
    """Return the text with its line endings but without a byte order mark; None if there is no file.

    With `project`, the file must be in that folder. Raise UnreadableSettingsError if the file is not UTF-8 or
    not a regular file, UneditableSettingsError, and OSError.
    """
    try:
        data = _bytes(real_path(path, project))
    except FileNotFoundError:
        return None
    try:
        return data.decode().removeprefix(_MARK)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UnreadableSettingsError(f"line {line}: it is not UTF-8") from None


def write(path: Path, text: str, project: Path | None = None, *, new_mode: int = 0o600) -> None:
    """Replace the content of the file by `text`. A link's target is replaced.

    A new file gets `new_mode`, as far as the umask allows. Raise UneditableSettingsError and OSError.
    """
    real = real_path(path, project)
    real.parent.mkdir(parents=True, exist_ok=True)
    if not real.exists():
        real.touch(new_mode)
    mark = _MARK if _bytes(real).startswith(_MARK.encode()) else ""
    mode = stat.S_IMODE(real.stat().st_mode) & _RIGHTS
    write_atomically(real, (mark + text).encode(), mode, durable=True)


def delete(path: Path, project: Path | None = None) -> None:
    """Delete a file, and its folder in the project if that becomes empty.

    Raise UneditableSettingsError and OSError.
    """
    real_path(path, project).unlink()
    if project is not None and path.parent != project and not path.parent.is_symlink():
        with suppress(OSError):
            path.parent.rmdir()


def newline_of(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def blanks_before(text: str, position: int) -> int:
    """Return the start of the whitespace that ends at `position`."""
    return len(text[:position].rstrip(BLANKS))


def _bytes(real: Path) -> bytes:
    flags = ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK")  # Opening a pipe would wait.
    handle = os.open(real, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnreadableSettingsError("it is not a regular file")
        return file.read()
