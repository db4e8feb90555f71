"""Load tree-sitter grammars and parse with them. No other module does this."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cairn.paths import data_dir

if TYPE_CHECKING:
    from tree_sitter import Parser, Point, Range, Tree

_log = logging.getLogger(__name__)
_UNUSED = "jsonnet"
"""A grammar whose scanner starts with undefined state: it reads `"}\\n"` as a string or as an error."""

# A text that is not in the grammar's language can take very long: 64 kB of Ruby take 4 s in the Lua grammar,
# 300 hostile bytes two minutes in the Kotlin grammar, 3.6 kB of MUMPS four minutes in the Objective-C
# grammar. So the parser's progress steps are limited. A step is a hundred operations of the parser and takes
# about 40 µs. None of 5,583 files needed more than 0.08 steps per byte, or 6,300 in all.
_STEPS = 2_000
_STEPS_PER_BYTE = 0.1
# A grammar's own scanner takes no steps, and may read the rest of the text again for each of its tokens:
# 120 kB of broken Svelte took a minute. So the slices that the parser reads are limited, too. None of 10,000
# files needed more than 3,200, or 0.2 per byte.
_READS = 2_000
_READS_PER_BYTE = 0.5
_SLICE = 4096
# The size of the slices in which nodes read their text, in bytes. Names are short.
_NODE_SLICE = 256


class _ThreadState(threading.local):
    """The state of one thread, because threads must not share a parser."""

    def __init__(self) -> None:
        self.parsers: dict[str, Parser | None] = {}
        self.buffer = memoryview(bytearray(_SLICE))
        """One buffer suffices, because a parser no longer needs a slice when it requests the next one."""


_thread = _ThreadState()


def parse(language: str, source: bytes, ranges: Sequence[Range] = ()) -> Tree | None:
    """Return the syntax tree of UTF-8 text, or of `ranges` of it, with positions in the whole text.

    Return None if the language has no grammar, the grammar does not load on this platform, or parsing takes
    too long because the text is not in the language.
    """
    if language not in _thread.parsers:
        _thread.parsers[language] = _load(language)
    parser = _thread.parsers[language]
    if parser is None:
        return None
    parser.included_ranges = list(ranges)
    reader = _SourceSlices(source)
    steps = iter(range(_STEPS + int(_STEPS_PER_BYTE * len(source))))
    try:
        tree = parser.parse(
            reader, progress_callback=lambda _offset, _has_error: next(steps, None) is None or reader.is_spent
        )
    except ValueError:  # The callback stopped the parser.
        parser.reset()
        return None
    reader.is_parsed = True
    return tree


class _SourceSlices:
    """The text as a callback that returns slices, for a parser and for the nodes of its tree.

    tree-sitter's binding never frees the slices that a parser received: as `bytes`, each parse of 19 KB
    leaked 26 KB. So the parser gets views of one buffer, which is filled again for each slice.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._buffer = _thread.buffer
        self.is_parsed = False
        self._reads_left = _READS + int(_READS_PER_BYTE * len(source))

    @property
    def is_spent(self) -> bool:
        """Whether the parser has read more slices than a text in its language needs."""
        return self._reads_left < 0

    def __call__(self, offset: int, _point: Point) -> bytes | memoryview:
        if self.is_parsed:
            return self._source[offset : offset + _NODE_SLICE]
        self._reads_left -= 1
        part = self._source[offset : offset + _SLICE]
        self._buffer[: len(part)] = part
        return self._buffer if len(part) == _SLICE else self._buffer[: len(part)]


def _load(language: str) -> Parser | None:
    if language == _UNUSED:
        return None
    # The import is late because a process that only reads the index never parses.
    import semble_grammars

    # Grammars are unpacked into a folder on first use: Cairn's own, unless the user has chosen one. Its name
    # has the version because existing files are never replaced.
    folder = data_dir() / "grammars" / semble_grammars.__version__
    os.environ.setdefault("SEMBLE_GRAMMARS_CACHE_DIR", str(folder))
    try:
        parser: Parser = semble_grammars.get_parser(language)
    except semble_grammars.LanguageNotFoundError:
        return None
    except (semble_grammars.UnsupportedPlatformError, semble_grammars.GrammarLoadError) as problem:
        _log.warning("no syntax tree for %s, files are cut by lines instead: %s", language, problem)
        return None
    return parser
