"""What the editors of settings files have in common: their interface, and the errors of files that cannot be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cairn.errors import CairnError

BLANKS = " \t\r\n"
"""What JSON and TOML call white space; Python's own idea of it is wider."""


class UnreadableSettingsError(CairnError):
    """A settings file is not what its format allows; the message names the line."""


class UneditableSettingsError(CairnError):
    """A settings file is sound, but written in a way that cannot be changed without changing the rest of it."""


class Editor(Protocol):
    """Edits the text of one format. Every character that is not of the entry stays as it is."""

    def parse(self, text: str) -> dict[str, Any]:
        """The settings; empty for a blank text. Raises UnreadableSettingsError."""

    def set(
        self, text: str, keys: Sequence[str], value: Mapping[str, Any], preamble: Mapping[str, Any]
    ) -> str:
        """The text with `value` at `keys`, in the place of what is there. A blank text begins with `preamble`.

        Raises UnreadableSettingsError and UneditableSettingsError.
        """

    def put(self, text: str, keys: Sequence[str], key: str, value: object) -> str:
        """The text with a value for one key of the entry at `keys`, which is there.

        Raises UnreadableSettingsError and UneditableSettingsError.
        """

    def remove(self, text: str, keys: Sequence[str]) -> str:
        """The text without what is at `keys`, which is there. Raises UnreadableSettingsError and UneditableSettingsError."""

    def hollows(self, text: str, keys: Sequence[str]) -> dict[str, str | None]:
        """What `set` would fill at each of the levels above the entry, by the level's key ("" is the whole file).

        The value is the text that stands there and holds nothing but blanks and comments; None where nothing does.
        """

    def restore(
        self, text: str, hollows: Mapping[str, str | None], preamble: Mapping[str, Any]
    ) -> str | None:
        """The text with each hollow as it was before, unless somebody put something into it; None for no file at all."""


def newline_of(text: str) -> str:
    """How the text ends its lines."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_at(text: str, position: int) -> int:
    """The line of a position, from 1 on."""
    return text.count("\n", 0, position) + 1


def blanks_before(text: str, position: int) -> int:
    """Where the blanks begin that end at `position`."""
    return len(text[:position].rstrip(BLANKS))
