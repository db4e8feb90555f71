"""The one place that loads tree-sitter grammars and parses."""

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
# Grammars of semble-grammars 0.1.2 that are not used, and why.
UNUSED = {
    # The state of its scanner is not set at the start: even `"}\n"` is a string at one time and an error at another.
    "jsonnet": "parses one text in different ways",
    "markdown_inline": "what is inside a paragraph makes no chunk",
    "php_only": "for texts without `<?php`, which files have",
    **dict.fromkeys(
        "asciidoc latex markdown org rst typst".split(), "headings and blocks are read line by line"
    ),
    **dict.fromkeys(
        "dockerfile dtd gitignore ini json json5 jsonc kdl properties toml xml yaml".split(),
        "sections and keys are read line by line",
    ),
}

# Where a text is mostly errors to the grammar, time explodes: 64 kB of Ruby take the Lua grammar 4 s, 300 hostile
# bytes the Kotlin grammar two minutes, 3.6 kB of MUMPS the Objective-C grammar four. So the parser's steps are counted,
# each a hundred of its operations and some 40 µs. Of 5,583 files, none needed more than 0.08 steps a byte or 6,300 in
# all.
_STEPS = 10_000
_STEPS_PER_BYTE = 0.1
_SLICE = 4096
# Nodes ask for their text in the same way; names are short.
_NODE_SLICE = 256


class _ThreadState(threading.local):
    """What each thread has of its own, since a parser holds the state of its parse."""

    def __init__(self) -> None:
        self.parsers: dict[str, Parser | None] = {}
        self.buffer = memoryview(bytearray(_SLICE))
        """A parser has done with a slice when it asks for the next."""


_thread = _ThreadState()


def parse(language: str, source: bytes, ranges: Sequence[Range] = ()) -> Tree | None:
    """The syntax tree of UTF-8 text, or of `ranges` of it, with positions in all of it.

    None if the language has no grammar, the grammar does not load here, or the text is so far from the language
    that parsing it takes too long.
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
        tree = parser.parse(reader, progress_callback=lambda _offset, _has_error: next(steps, None) is None)
    except ValueError:  # ended by the callback, in the middle of the text
        parser.reset()
        return None
    reader.is_parsed = True
    return tree


class _SourceSlices:
    """Hands out text in slices, to a parser and to the nodes of its tree.

    tree-sitter's binding never lets go of what a parser was given: 26 KB for each parse of 19 KB were lost as slices
    of bytes. So the parser gets views of one buffer, filled anew each time.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._buffer = _thread.buffer
        self.is_parsed = False
        """Whether whoever asks is a node, which takes bytes and lets go of them."""

    def __call__(self, offset: int, _point: Point) -> bytes | memoryview:
        if self.is_parsed:
            return self._source[offset : offset + _NODE_SLICE]
        part = self._source[offset : offset + _SLICE]
        self._buffer[: len(part)] = part
        return self._buffer if len(part) == _SLICE else self._buffer[: len(part)]


def _load(language: str) -> Parser | None:
    if language in UNUSED:
        return None
    # Imported late: a process that only answers from the index never parses.
    import semble_grammars

    # Grammars are unpacked into a folder at first use: into ours, unless the user has chosen one. The version is
    # part of its name because files that are there already are never replaced.
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
