"""The URLs of the team store, from the environment or a private file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cairn.errors import StoreUnavailableError

VARIABLE = "CAIRN_STORE_URL"
"""The name of the environment variable with the URLs of the store's servers, separated by white space."""


def store_urls(file: Path | None = None) -> tuple[str, ...]:
    """Return the URLs of the store's servers: the lines of `file` if given, otherwise from the environment.

    The URLs contain passwords, so only the owner of the file may be able to read it (mode 0600). Lines that
    begin with # are comments. Raise `StoreUnavailableError` if there are no URLs.
    """
    if file is None:
        urls = os.environ.get(VARIABLE, "").split()
    else:
        lines = map(str.strip, _secret(file).splitlines())
        urls = [line for line in lines if line and not line.startswith("#")]
    if not urls:
        raise StoreUnavailableError(
            f"The URL of the team store is missing. Set {VARIABLE}, or write it to a file."
        )
    return tuple(urls)


def _secret(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise StoreUnavailableError(
                    f"Others can read {file}, which contains the store's password. Run: chmod 600 {file}"
                )
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StoreUnavailableError(
            f"The file of the store's URL, {file}, cannot be read: {reason}."
        ) from None
