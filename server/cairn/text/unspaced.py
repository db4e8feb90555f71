"""Scripts in which a word may be anywhere in a run of letters: Chinese, Japanese, Korean, Thai, Lao, Khmer
and Burmese. Most have no spaces between words; Korean words have their particles attached.

Each run is read as its overlapping pairs of letters, so that a word is a phrase of pairs wherever it stands:
停靠规则 is 停靠, 靠规 and 规则. A letter alone is itself. Marks on a letter (vowel signs, tones, voicing of
half-width kana) belong to it; the marks that are not part of a composed letter do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import add

_WITH_MARKS = (range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800))
"""The blocks of Thai and Lao, Burmese, and Khmer."""


def _of_category(category: str) -> str:
    return "".join(
        each for block in _WITH_MARKS for each in map(chr, block) if unicodedata.category(each)[0] == category
    )


_LETTERS = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff" + _of_category("L")
)
"""The letters of these scripts, for use in a character class."""
_COMPATIBLE = "\u1100-\u115f\u2f00-\u2fd5\uf900-\ufaff\uff66-\uff9d"
"""Other forms of these letters: the first part of a decomposed Korean syllable, and half-width kana."""
_MARKS = (
    "\u1160-\u11ff\u3099\u309a\uff9e\uff9f\u200b-\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef" + _of_category("M")
)
"""Marks, the other parts of a decomposed syllable, and invisible characters between or after letters."""
IN_WORD = rf"[^\W{_LETTERS}{_COMPATIBLE}]"
"""A pattern of a character that joins others to a word with spaces around it."""


class _Patterns:
    """The patterns of runs and letters. Each is compiled at its first use, because that takes 4 ms."""

    @cached_property
    def units(self) -> re.Pattern[str]:
        return re.compile(f"[{_LETTERS}{_COMPATIBLE}][{_MARKS}]*")

    @cached_property
    def unusual(self) -> re.Pattern[str]:
        return re.compile(f"[{_COMPATIBLE}{_MARKS}]")

    @cached_property
    def runs(self) -> re.Pattern[str]:
        """Matches a run of these letters, or a run of full-width letters and digits, which stand for ASCII
        ones."""
        run = f"([{_LETTERS}{_COMPATIBLE}][{_LETTERS}{_COMPATIBLE}{_MARKS}]*)"
        return re.compile(rf"{run}|[\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a]+")

    @cached_property
    def uncertain(self) -> re.Pattern[str]:
        return re.compile(rf"\A[{_MARKS}]+|[{_COMPATIBLE}][{_MARKS}]*\Z")

    @cached_property
    def letter(self) -> re.Pattern[str]:
        return re.compile(f"[{_LETTERS}{_COMPATIBLE}]")


_PATTERNS = _Patterns()


def is_unspaced(text: str) -> bool:
    """Return whether a text has letters of these scripts."""
    return not text.isascii() and _PATTERNS.letter.search(text) is not None


def spread(text: str) -> str:
    """Return a text with the pairs of each run, apart from each other and from other letters, in its place.
    Full-width letters become those of ASCII. Line ends stay, and a text without such runs is unchanged."""
    return text if text.isascii() else _PATTERNS.runs.sub(_spread_run, text)


def certain_part(text: str) -> str:
    """Return a text without marks at its beginning and without a letter at its end that a further mark would
    change. All pairs of the rest are also those of each longer text that contains it."""
    return _PATTERNS.uncertain.sub("", text)


def _spread_run(match: re.Match[str]) -> str:
    run = match[0]
    if match[1] is None:
        return unicodedata.normalize("NFKC", run)
    if _PATTERNS.unusual.search(run):
        run = "".join(map(_letter, _PATTERNS.units.findall(run)))
    return f" {' '.join(map(add, run, run[1:])) or run} "


def places_of(words: Container[str], text: str) -> list[tuple[int, int]]:
    """Return the places `[start, end)` in a text of these pairs, and of these words in full-width letters, in
    order. Adjacent ones are one place."""
    found: list[tuple[int, int]] = []
    for word, start, end in () if text.isascii() else _words(text):
        if word in words:
            if found and start <= found[-1][1]:
                start = found.pop()[0]
            found.append((start, end))
    return found


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the pairs and full-width words of a text in lower case, each with its place `[start, end)`."""
    for run in _PATTERNS.runs.finditer(text):
        if run[1] is None:
            yield _spread_run(run).lower(), *run.span()
            continue
        units = list(_PATTERNS.units.finditer(text, *run.span()))
        for pair in [units] if len(units) == 1 else pairwise(units):
            yield "".join(_letter(unit[0]) for unit in pair), pair[0].start(), pair[-1].end()


@lru_cache(maxsize=10_000)
def _letter(unit: str) -> str:
    """Return a letter in its usual form and without its marks."""
    if not _PATTERNS.unusual.search(unit):
        return unit
    return unicodedata.normalize("NFKC", unit)[0]
