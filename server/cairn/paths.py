"""The folders of Cairn's data and settings, and how folders and files are written."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path


def data_dir() -> Path:
    """Return the folder of indexes and models: `CAIRN_DATA_DIR`, or the platform's user cache folder.

    If it exists, it is closed to other users: earlier versions, and libraries that write there, left it open.
    """
    if override := os.environ.get("CAIRN_DATA_DIR"):
        folder = Path(override)
    else:
        import platformdirs  # Commands that ask a running engine must start fast.

        folder = Path(platformdirs.user_cache_dir("cairn"))
    _close(folder)
    return folder


def config_dir() -> Path:
    """Return the folder of the user's settings: `CAIRN_CONFIG_DIR`, or the platform's settings folder."""
    if override := os.environ.get("CAIRN_CONFIG_DIR"):
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_config_dir("cairn"))


def workspace_dir(folder: Path) -> Path:
    """Return the data folder of a workspace folder, named by its base name and a hash of its real path."""
    real = folder.resolve()
    digest = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name)[:40] or "root"
    return data_dir() / "workspaces" / f"{readable}-{digest}"


def known_above(folder: Path) -> Path | None:
    """Return the nearest of a folder and those above it that was open as a workspace; None if none was."""
    folder = folder.resolve()
    return next((each for each in (folder, *folder.parents) if workspace_dir(each).is_dir()), None)


def contains_home(folder: Path) -> bool:
    """Return whether the real path is the user's home folder, or one that contains it."""
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home can fail
    return home.is_relative_to(folder) or folder == Path(folder.anchor)


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can enter, with missing parents, and return it. Raise OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    _close(folder)
    return folder


def _close(folder: Path) -> None:
    """Close a folder of this user to others. This does nothing if it is missing or cannot be closed.

    A group that can only pass through the folder keeps that right: the trial database needs it, if it runs as
    another user. Folders that are certainly not Cairn's alone stay open: those that all may write, such as
    /tmp, and the home folder and those above it.
    """
    if sys.platform == "win32":  # Other users cannot read a user's folders there.
        return
    with suppress(OSError):
        status = folder.stat()
        if status.st_uid != os.getuid() or not status.st_mode & 0o067 or status.st_mode & stat.S_ISVTX:
            return
        if not contains_home(folder.resolve()):
            folder.chmod(stat.S_IMODE(status.st_mode) & 0o700)


_REPLACE_TRIES = 20
_REPLACE_PAUSE_S = 0.01
"""The pause between tries. On Windows, a file cannot be replaced while another process reads it."""


def write_private(path: Path, content: str | bytes, *, replace: bool = True) -> None:
    """Write a file that only this user can read, with `write_atomically`, in a `private_folder`.

    Raise OSError.
    """
    private_folder(path.parent)
    write_atomically(path, content.encode() if isinstance(content, str) else content, replace=replace)


def write_atomically(
    path: Path, content: bytes, mode: int = 0o600, *, replace: bool = True, durable: bool = False
) -> None:
    """Write a file with these rights. Another process finds all of its old or new content.

    Without `replace`, a file that exists stays as it is. With `durable`, this also holds after a power cut.
    The file's time is exact, so that a change in its time shows each change of its content. Raise OSError.
    """
    fresh = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if sys.platform != "win32":
                os.fchmod(handle, mode)  # The umask may have taken rights away.
            file.write(content)
            if durable:
                file.flush()
                os.fsync(handle)
        now = time.time_ns()  # The file system's own times have steps of milliseconds.
        os.utime(fresh, ns=(now, now))
        if replace:
            _replace(fresh, path)
            return
        with suppress(FileExistsError):
            if sys.platform == "win32":
                fresh.rename(path)  # On Windows, this does not replace a file.
            else:
                path.hardlink_to(fresh)
        fresh.unlink(missing_ok=True)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise


def _replace(fresh: Path, path: Path) -> None:
    for tries_left in reversed(range(_REPLACE_TRIES)):
        try:
            fresh.replace(path)
            return
        except PermissionError:
            if sys.platform != "win32" or not tries_left:
                raise
            time.sleep(_REPLACE_PAUSE_S)


def read_private(path: Path, most: int, *, is_secret: bool = False) -> bytes:
    """Return at most `most` bytes of a regular file of this user. Raise OSError, also for any other file, and
    for a secret that others may read or write."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        is_own = sys.platform == "win32" or status.st_uid == os.getuid()
        if not is_own or not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"{path} is not a regular file of this user")
        if is_secret and sys.platform != "win32" and status.st_mode & 0o077:
            raise PermissionError(f"Others may read or write {path}")
        return file.read(most)
