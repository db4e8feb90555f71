"""A few numbers that say which lines a text has, so that two texts can be compared without reading them again."""

from __future__ import annotations

import re
import zlib
from array import array

SAMPLED = 4
"""One of so many lines is kept, chosen by its hash: the same ones in every text that has them."""
_FEWEST_CHARACTERS = 12
"""Shorter lines stand in any text."""


_COMMENT = re.compile(r"\s*(?:\*|//|/\*|<!--|# |--)")
"""Licences make files look alike that have nothing else in common."""


def sketch(text: str) -> bytes:
    """uint32[n], ascending: hashes of a sample of the different lines of a text, whatever their blanks."""
    lines = {
        line
        for raw in text.split("\n")
        if not _COMMENT.match(raw) and len(line := "".join(raw.split())) >= _FEWEST_CHARACTERS
    }
    hashes = (zlib.crc32(line.encode("utf-8", "surrogatepass")) for line in lines)
    return array("I", sorted({number for number in hashes if number % SAMPLED == 0})).tobytes()
