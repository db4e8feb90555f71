"""The token that clients of `cairn serve` must send. The token is in a file that only its owner can read.
Without the token, other users of the machine, and web pages in its browsers, could use the server.
"""

from __future__ import annotations

import hmac
import re
import secrets
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from cairn.errors import CairnError
from cairn.paths import data_dir, read_private, write_private

_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")
"""The pattern of 32 bytes in URL-safe base64."""
_READ_BYTES = 200
"""The maximum number of bytes to read, more than any token has."""


class TokenError(CairnError):
    """The token's file cannot be used."""


class Callers(Protocol):
    """The known callers and their tokens."""

    @property
    def remedy(self) -> str:
        """A text that says which token a client must send."""

    async def caller(self, token: str) -> str | None:
        """Return the caller with this token; None for an unknown token."""


@frozen
class Token:
    """The token of this process, and its file."""

    value: str = field(repr=False)
    path: Path

    def matches(self, given: str) -> bool:
        """Compare the token in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.value.encode())

    @property
    def remedy(self) -> str:
        return f"the token that is in {self.path.name} in Cairn's data folder"

    async def caller(self, given: str) -> str | None:
        """Return "", the name of the only caller, for this token; None for any other token."""
        return "" if self.matches(given) else None


def token_path() -> Path:
    return data_dir() / "serve-token"


def serve_token(*, new: bool = False) -> Token:
    """Return the token, created if missing or if `new`. Raise TokenError if other users had access to it."""
    path = token_path()
    try:
        if new or not path.exists():
            write_private(path, secrets.token_urlsafe(32), replace=new)
        return Token(_read(path), path)
    except OSError as problem:
        raise TokenError(f"The token in {path} cannot be read or written: {problem.strerror}.") from problem


def _read(path: Path) -> str:
    try:
        text = read_private(path, _READ_BYTES, is_secret=True).decode("ascii", "replace").strip()
    except PermissionError as problem:
        raise TokenError(f"{problem}; {_REMEDY}.") from problem
    if not _SHAPE.fullmatch(text):
        raise TokenError(f"{path} does not contain a token; {_REMEDY}.")
    return text


_REMEDY = "make a new one with `cairn serve --new-token`"
