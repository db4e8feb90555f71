"""The token that whoever talks to `cairn serve` must know: one file that only its owner can read.

Other users of the machine, and web pages in a browser on it, reach the same ports; the token is what they
lack.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
import sys
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from cairn.errors import CairnError
from cairn.paths import data_dir

_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")
"""32 bytes in base64 that needs no quoting."""
_READ_BYTES = 200
"""More than any token has."""


class TokenError(CairnError):
    """The token's file cannot be used."""


class Callers(Protocol):
    """Who has which token."""

    @property
    def remedy(self) -> str:
        """What to send, for people."""

    async def caller(self, token: str) -> str | None:
        """Whose token it is; None for one that is not known."""


@frozen
class Token:
    """The token of this process, and where it is written down."""

    value: str = field(repr=False)
    path: Path

    def matches(self, given: str) -> bool:
        """Whether that is it; how long this takes says nothing about the token."""
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.value.encode())

    @property
    def remedy(self) -> str:
        """What a client is to send."""
        return f"the token that is in {self.path.name} in Cairn's data folder"

    async def caller(self, given: str) -> str | None:
        """The one caller there is, who has no name, for this token; None for another."""
        return "" if self.matches(given) else None


def token_path() -> Path:
    """Where the token is kept between starts."""
    return data_dir() / "serve-token"


def serve_token(*, new: bool = False) -> Token:
    """The token, made by the first who asks; with `new`, another one from now on.

    Raises TokenError where others could read or have written it.
    """
    path = token_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if new:
            _written_beside(path).replace(path)
        elif not path.exists():
            _put(_written_beside(path), path)
        return Token(_read(path), path)
    except OSError as problem:
        raise TokenError(f"The token in {path} cannot be read or written: {problem.strerror}.") from problem


def _written_beside(path: Path) -> Path:
    """A file of its own with a new token: nobody ever sees half of one."""
    made = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32))
    return made


def _put(made: Path, path: Path) -> None:
    """Name it so unless another process was faster."""
    try:
        with contextlib.suppress(FileExistsError):
            if sys.platform == "win32":
                made.rename(path)  # which replaces nothing there
            else:
                path.hardlink_to(made)
    finally:
        made.unlink(missing_ok=True)


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise TokenError(f"{path} is no file; {_REMEDY}.")
        if sys.platform != "win32":  # whose user folders nobody else reads
            if facts.st_uid != os.getuid():
                raise TokenError(f"{path} belongs to another user; {_REMEDY}.")
            if facts.st_mode & 0o077:
                raise TokenError(f"Others may read or write {path}; {_REMEDY}.")
        text = file.read(_READ_BYTES).decode("ascii", "replace").strip()
    if not _SHAPE.fullmatch(text):
        raise TokenError(f"{path} holds no token; {_REMEDY}.")
    return text


_REMEDY = "have another made with `cairn serve --new-token`"
