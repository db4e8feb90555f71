"""Reads and writes settings files: atomically, through links, and with the same mode and byte order mark."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from cairn.clients.editing import UnreadableSettingsError

_MARK = "\ufeff"


def read(path: Path) -> str | None:
    """Return the text with its line endings but without a byte order mark; None if there is no file.

    Raise UnreadableSettingsError if the file is not UTF-8, and OSError.
    """
    data = _bytes(path)
    if data is None:
        return None
    try:
        return data.decode().removeprefix(_MARK)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UnreadableSettingsError(f"line {line}: it is not UTF-8") from None


def write(path: Path, text: str) -> None:
    """Replace the content of the file by `text`. A link's target is replaced. Raise OSError."""
    real = path.resolve()
    data = _bytes(real)
    mark = _MARK if data is not None and data.startswith(_MARK.encode()) else ""
    real.parent.mkdir(parents=True, exist_ok=True)
    beside = real.with_name(f".{real.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write((mark + text).encode())
            file.flush()
            os.fsync(file.fileno())
        if data is not None:
            shutil.copymode(real, beside)
        beside.replace(real)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def delete(path: Path, *, with_folder: bool) -> None:
    """Delete a file. With `with_folder`, also delete its folder if that becomes empty. Raise OSError."""
    real = path.resolve()
    real.unlink()
    if with_folder:
        with contextlib.suppress(OSError):  # The folder contains other files.
            real.parent.rmdir()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
