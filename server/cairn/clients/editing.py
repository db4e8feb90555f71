"""The interface of the editors of settings files, their errors, and functions that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cairn.errors import CairnError

BLANKS = " \t\r\n"
"""Whitespace in JSON and TOML. It has fewer characters than Python's `str.isspace` accepts."""


class UnreadableSettingsError(CairnError):
    """A settings file is invalid in its format; the message names the line."""


class UneditableSettingsError(CairnError):
    """A settings file is valid, but the entry cannot be changed without changes to the rest of the file."""


class Editor(Protocol):
    """Edits text in one format. Every character outside the entry stays as it is.

    All methods raise UnreadableSettingsError. Those that change a text also raise UneditableSettingsError.
    """

    def parse(self, text: str) -> dict[str, Any]: ...

    def set(
        self, text: str, keys: Sequence[str], value: Mapping[str, Any], preamble: Mapping[str, Any]
    ) -> str:
        """Return the text with `value` at `keys`. If the text was blank, it begins with `preamble`."""

    def put(self, text: str, keys: Sequence[str], key: str, value: object) -> str:
        """Return the text with a new value for one key of the existing entry at `keys`."""

    def remove(self, text: str, keys: Sequence[str]) -> str: ...

    def hollows(self, text: str, keys: Sequence[str]) -> dict[str, str | None]:
        """Return the empty or missing levels above the entry, which `set` would fill.

        A key of the result names the level ("" is the whole file). Its value is the level's text, which
        contains only blanks and comments, or None if the level is missing.
        """

    def restore(
        self, text: str, hollows: Mapping[str, str | None], preamble: Mapping[str, Any]
    ) -> str | None:
        """Return the text with the hollows that are still empty as they were; None if there was no file."""


def newline_of(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def blanks_before(text: str, position: int) -> int:
    """Return the start of the whitespace that ends at `position`."""
    return len(text[:position].rstrip(BLANKS))
