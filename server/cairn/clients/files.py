"""Reading and writing the files of others: whole or not at all, through links, with their mode and their byte order mark."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from cairn.clients.editing import UnreadableSettingsError

_MARK = "\ufeff"


def read(path: Path) -> str | None:
    """The text with its line ends as they are, without a byte order mark; None where there is no file.

    Raises UnreadableSettingsError where it is not UTF-8, and OSError.
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
    """Put `text` in the place of what the file holds; what a link leads to is written, not the link. Raises OSError."""
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
    """Delete a file, and its folder if that is wanted and it holds nothing else. Raises OSError."""
    real = path.resolve()
    real.unlink()
    if with_folder:
        with contextlib.suppress(OSError):  # somebody put something there
            real.parent.rmdir()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
