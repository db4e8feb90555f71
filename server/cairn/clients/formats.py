"""Edits settings in the format of their file, and checks that nothing else has changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cairn.clients import jsonc, toml_tables
from cairn.clients.settings_files import BLANKS, UneditableSettingsError, UnreadableSettingsError

Keys = tuple[str, ...]
"""The path of a value in settings."""


@frozen
class Format:
    """A format of settings. All methods raise UnreadableSettingsError for a text that is not in it."""

    parse: Callable[[str], dict[str, Any]]
    """Returns the settings in a text."""
    _put: Callable[[str, Sequence[str], object], str]
    _remove: Callable[[str, Sequence[str]], str]
    _blanks: str
    """The characters of a text without settings and comments."""

    def edited(self, text: str, edits: dict[Keys, object]) -> str:
        """Return the text with these values. Raise UneditableSettingsError if other settings would change."""
        expected, new = copy.deepcopy(self.parse(text)), text
        for keys, value in edits.items():
            new = self._put(new, keys, value)
            inner = expected
            for key in keys[:-1]:
                inner = inner.setdefault(key, {})
            inner[keys[-1]] = value
        return self._checked(new, expected, next(reversed(edits)))

    def without(self, text: str, keys: Keys) -> str:
        """Return the text without a value, nor the object around it if that is then empty.

        Raise UneditableSettingsError if other settings would change.
        """
        expected = inner = copy.deepcopy(self.parse(text))
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]
        return self._checked(self._remove(text, keys), expected, keys)

    def is_blank(self, text: str) -> bool:
        """Return whether a valid text has neither settings nor comments."""
        return not text.strip(self._blanks)

    def _checked(self, new: str, expected: dict[str, Any], keys: Keys) -> str:
        try:
            found = self.parse(new)
        except UnreadableSettingsError:
            found = {}
        top = keys[0]  # An object may disappear with its last value.
        for settings in (found, expected):
            if settings.get(top) == {}:
                del settings[top]
        if found != expected:
            place = ".".join(keys)
            raise UneditableSettingsError(f'"{place}" cannot be changed without the rest; change it by hand')
        return new


_JSONC = Format(jsonc.parse, jsonc.put, jsonc.remove, BLANKS + "{}")
_TOML = Format(toml_tables.parse, toml_tables.put, toml_tables.remove, BLANKS)


def format_of(path: Path) -> Format:
    return _TOML if path.suffix == ".toml" else _JSONC
