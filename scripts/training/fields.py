"""The parts of a text that Cairn embeds, which count differently: `cairn.chunking.composite` writes them in this order."""

from __future__ import annotations

import enum
from collections.abc import Iterator


class Field(enum.IntEnum):
    FOLDERS = 0
    STEM = 1
    NAMES = 2
    REST = 3
    TITLE = 4
    PLACE = 5


_PROSE = "Title: "
_BODY = "\n---\n"


def fields_of(text: str) -> Iterator[tuple[Field, str]]:
    """Each part of an embedded text with its field, in order."""
    if text.startswith(_PROSE) and _BODY in text:
        head, _, body = text.partition(_BODY)
        title, _, place = head.partition("\nSource: ")
        yield Field.TITLE, title[len(_PROSE) :]
        place = place.partition("\nPath: ")[2].rpartition("\nType: ")[0]
        yield Field.PLACE, place.replace(" > ", "\n")
        yield Field.REST, body
        return
    path, _, rest = text.partition("\n")
    folders, _, stem = path.rpartition(" / ")
    names, _, rest = rest.partition("\n")
    yield Field.FOLDERS, folders
    yield Field.STEM, stem
    yield Field.NAMES, names
    yield Field.REST, rest
