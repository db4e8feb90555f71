"""Sketch the lines of a text in a few numbers, so that texts can be compared without reading them again."""

from __future__ import annotations

import re
import zlib
from array import array

SAMPLED = 4
"""One of this many lines is sampled by its hash, so that equal lines are sampled in every text."""
_FEWEST_CHARACTERS = 12


_COMMENT = re.compile(r"\s*(?:\*|//|/\*|<!--|# |--)")


def sketch(text: str) -> bytes:
    """Return uint32[n], ascending: hashes of a sample of a text's distinct lines, ignoring blanks."""
    lines = {
        line
        for raw in text.split("\n")
        if not _COMMENT.match(raw) and len(line := "".join(raw.split())) >= _FEWEST_CHARACTERS
    }
    hashes = (zlib.crc32(line.encode("utf-8", "surrogatepass")) for line in lines)
    return array("I", sorted({number for number in hashes if number % SAMPLED == 0})).tobytes()
