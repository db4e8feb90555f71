"""Reads and writes settings files: atomically, through links, and with the same mode and byte order mark.

A user's own links may lead anywhere, as in a folder of dotfiles. The links of a project are its author's, so
its files must be inside the project's folder. Once a file's real path is known, it is opened from folder to
folder without following links, so that a link made in between leads nowhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from cairn.clients.editing import UneditableSettingsError, UnreadableSettingsError

_MARK = "\ufeff"


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
        with _folder_of(real_path(path, project), project) as place:
            data = _bytes(place)
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
    with _folder_of(real_path(path, project), project, make=True) as place:
        try:
            data = _bytes(place)
            mode = stat.S_IMODE(os.stat(place.name, dir_fd=place.folder).st_mode) & 0o777
        except FileNotFoundError:
            data, mode = b"", None
        mark = _MARK if data.startswith(_MARK.encode()) else ""
        beside = place.beside()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        handle = os.open(beside, flags, new_mode if mode is None else mode, dir_fd=place.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                if mode is not None and sys.platform != "win32":
                    os.fchmod(handle, mode)  # The umask may have taken rights away.
                file.write((mark + text).encode())
                file.flush()
                os.fsync(handle)
            os.replace(beside, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=place.folder)
            raise


def delete(path: Path, project: Path | None = None, *, with_folder: bool) -> None:
    """Delete a file. With `with_folder`, also delete its folder if that becomes empty.

    Raise UneditableSettingsError and OSError.
    """
    real = real_path(path, project)
    with _folder_of(real, project) as place:
        os.unlink(place.name, dir_fd=place.folder)
    if with_folder:
        with contextlib.suppress(OSError), _folder_of(real.parent, project) as place:
            os.rmdir(place.name, dir_fd=place.folder)


_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@frozen
class _Place:
    """A name in an open folder."""

    name: str
    """The name, or on Windows the whole path."""
    folder: int | None
    """The folder's descriptor; None on Windows, which cannot open folders."""

    def beside(self) -> str:
        head, tail = os.path.split(self.name)
        return os.path.join(head, f".{tail}.{secrets.token_hex(4)}")  # noqa: PTH118


@contextlib.contextmanager
def _folder_of(real: Path, project: Path | None, *, make: bool = False) -> Iterator[_Place]:
    """Open the folder of a real path without following links below `project`. Raise OSError.

    With `make`, missing folders are created.
    """
    if make and (project is None or sys.platform == "win32"):
        real.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield _Place(str(real), None)
        return
    start = real.parent if project is None else Path(os.path.realpath(project))
    folder = os.open(start, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in real.parent.relative_to(start).parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield _Place(real.name, folder)
    finally:
        os.close(folder)


def _bytes(place: _Place) -> bytes:
    flags = os.O_RDONLY | _NO_LINK | _BINARY | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(place.name, flags, dir_fd=place.folder)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnreadableSettingsError("it is not a regular file")
        return file.read()
