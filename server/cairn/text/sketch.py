"""Sketch the lines of a text in a few numbers, so that texts can be compared without reading them again."""

from __future__ import annotations

import re
import zlib
from array import array

SAMPLED = 4
"""One in this many lines is sampled by its hash, so that a line is sampled in every text or in none."""
_FEWEST_CHARACTERS = 12


_COMMENT = re.compile(r"\s*(?:\*|//|/\*|<!--|# |--)")


def sketch(text: str) -> bytes:
    """Return uint32[n], ascending: the hashes of a sample of the text's distinct lines, without blanks."""
    lines = {
        line
        for raw in text.split("\n")
        if not _COMMENT.match(raw) and len(line := "".join(raw.split())) >= _FEWEST_CHARACTERS
    }
    hashes = (zlib.crc32(line.encode("utf-8", "surrogatepass")) for line in lines)
    return array("I", sorted({number for number in hashes if number % SAMPLED == 0})).tobytes()
