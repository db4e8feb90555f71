"""The folders of Cairn's data and settings, and how private folders and files are written there.

Cairn never writes into the user's workspace.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path


def data_dir() -> Path:
    """Return the folder of indexes and models: `CAIRN_DATA_DIR`, or the platform's user cache folder."""
    if override := os.environ.get("CAIRN_DATA_DIR"):
        return Path(override)
    import platformdirs  # Commands that ask a running engine must start fast.

    return Path(platformdirs.user_cache_dir("cairn"))


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


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can enter, with its missing parents, and return it. Raise OSError.

    If the folder is in the data folder, the data folder is closed to other users, too.
    """
    data = data_dir()
    if data in folder.parents and not folder.is_dir():
        private_folder(data)
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    _close(folder)
    return folder


def _close(folder: Path) -> None:
    """Close a folder of this user to others. A folder that all may write, such as /tmp, stays open."""
    if sys.platform == "win32":  # Other users cannot read a user's folders there.
        return
    status = folder.stat()
    if status.st_uid == os.getuid() and status.st_mode & 0o077 and not status.st_mode & stat.S_ISVTX:
        folder.chmod(stat.S_IMODE(status.st_mode) & 0o700)


def write_private(path: Path, content: str | bytes) -> None:
    """Replace the content of a file, which only this user can read. A reader never finds half of it.

    The folder of `path` is made with `private_folder`. Raise OSError.
    """
    private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise


def read_private(path: Path, most: int) -> bytes:
    """Return at most `most` bytes of a regular file of this user. Raise OSError, also for any other file."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        is_own = sys.platform == "win32" or status.st_uid == os.getuid()
        if not is_own or not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"{path} is not a regular file of this user")
        return file.read(most)
