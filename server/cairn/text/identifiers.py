"""Split texts into runs of letters and digits, and identifiers into words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

# Alternatives by first character: a word in lower case, a number, a capitalised word, an acronym before a
# capitalised word (`HTTPServer`), a run of capitals (at the end, or before a digit).
#
# Both patterns begin with a character set, so that `re` skips other characters without trying the pattern.
# Alternatives and a lookbehind at the beginning took two thirds of the time.
_WORD = re.compile(r"[A-Za-z0-9](?:(?<=[a-z])[a-z]*|(?<=[0-9])[0-9]*|[a-z]+|[A-Z]*(?=[A-Z][a-z])|[A-Z]*)")
_ASCII_PLURAL_ACRONYM = re.compile(r"[A-Z](?<![A-Z][A-Z])[A-Z]+s(?![a-z])")


def identifier_words(name: str) -> list[str]:
    """Return the words of `name` in lower case: `HTTPServer2` → `["http", "server", "2"]`.

    camelCase, PascalCase, snake_case, kebab-case, dotted names and acronyms are split; `URLs` is one word. A
    letter outside ASCII does not split a word.
    """
    if name.isascii():
        if name.isalpha() and name[1:].islower():
            return [name.lower()]
        return list(map(str.lower, _WORD.findall(_ASCII_PLURAL_ACRONYM.sub(_capitalised, name))))
    return [word.lower() for run in _RUN.findall(name) for word in _split_by_case(run)]


@lru_cache(maxsize=20_000)
def words_in(identifier: str) -> tuple[str, ...]:
    return tuple(identifier_words(identifier))


def _capitalised(match: re.Match[str]) -> str:
    # `URLs` becomes `Urls`, so that the plural ending does not begin a word.
    return match.group(0).capitalize()


_RUN = re.compile(r"[^\W\d_]+|\d+")


def _split_by_case(run: str) -> list[str]:
    """Split a run of letters before capitals that start a word. Letters may be outside `[a-z]`."""
    if run[1:].islower():
        return [run]
    words, start = [], 0
    for index in range(1, len(run)):
        before, here = run[index - 1], run[index]
        after = run[index + 1] if index + 1 < len(run) else ""
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            words.append(run[start:index])
            start = index
    words.append(run[start:])
    return words


_Value = TypeVar("_Value")

_BLANKED = "".join(chr(code) if chr(code).isalnum() or chr(code) == "_" else " " for code in range(128))
"""Each ASCII character; a space replaces characters that cannot be in an identifier."""


def ascii_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores of an ASCII text. This is faster than a pattern."""
    return text.translate(_BLANKED).split()


class RunCache(dict[str, _Value]):
    """A thread-safe cache of `work_out(run)`. `map(cache.__getitem__, runs)` does not leave C code."""

    def __init__(self, work_out: Callable[[str], _Value], most: int) -> None:
        """Create a cache that is cleared at `most` runs, since tracking the oldest ones is slow."""
        super().__init__()
        self._work_out = work_out
        self._most = most

    def __missing__(self, run: str) -> _Value:
        value = self._work_out(run)
        if len(self) >= self._most:
            self.clear()
        self[run] = value
        return value
