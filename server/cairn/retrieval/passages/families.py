"""Find families: names that a program lists one by one, such as the formats that it reads. A user who wants
to add another member needs to see such lists, and code that mentions several members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights
from cairn.index.store.deadline import Cancelled
from cairn.text.identifiers import identifier_words

Family = tuple[str, ...]

_FEWEST_MEMBERS, _MOST_MEMBERS = 3, 12
_MOST_FAMILIES = 2
_LEAST_LETTERS = 2
_SHORT_LINE = 8
_MOST_CHUNKS = 40
"""The maximum number of chunks added for each family because they mention its members."""
_ALL_COLUMNS = ColumnWeights()

_NAME = re.compile(r"[A-Za-z0-9_$]+")
_SHAPE = re.compile(r"[A-Za-z0-9_$]+|\s+")


def families(texts: Sequence[Sequence[str]]) -> tuple[Family, ...]:
    """Return the first families listed in `texts`, sequences of lines, the most promising text first."""
    found: list[Family] = []
    for lines in texts:
        for run in lists(lines):
            members = _members(run)
            if len(members) >= _FEWEST_MEMBERS and not any(set(members) & set(other) for other in found):
                found.append(members)
                if len(found) == _MOST_FAMILIES:
                    return tuple(found)
    return tuple(found)


def lists(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield each run of similar lines, such as registrations."""
    bare = [line.strip() for line in lines]
    shapes = [_SHAPE.sub("x", line) if len(line) > _SHORT_LINE else "" for line in bare]
    run = bare[:1]
    for (before, shape), line in zip(pairwise(shapes), bare[1:], strict=False):
        if shape and shape == before:
            run.append(line)
            continue
        if len(run) >= _FEWEST_MEMBERS:
            yield run
        run = [line]
    if len(run) >= _FEWEST_MEMBERS:
        yield run


def _members(run: Sequence[str]) -> Family:
    """Return the names at the first position where all lines differ, without words common to all."""
    rows = [_NAME.findall(line) for line in run]
    for names in zip(*rows, strict=False):
        if len({name.lower() for name in names}) < len(names):
            continue
        words = [identifier_words(name) for name in names]
        common = set(words[0]).intersection(*words[1:])
        members = dict.fromkeys("".join(word for word in each if word not in common) for each in words)
        known = [each for each in members if len(each) >= _LEAST_LETTERS and not each.isdigit()]
        if len(known) >= _FEWEST_MEMBERS:
            return tuple(known[:_MOST_MEMBERS])
    return ()


def mentioning(
    reader: IndexReader, found: Sequence[Family], only: ChunkFilter, cancelled: Cancelled
) -> list[int]:
    """Return the ids of chunks that mention members of the families, the best matches of each first."""
    ids: dict[int, None] = {}
    for family in found:
        hits = reader.keywords(family, _ALL_COLUMNS, _MOST_CHUNKS, only, cancelled)
        ids.update(dict.fromkeys(hit.chunk_id for hit in hits))
    return list(ids)


def most_members_in(found: Sequence[Family], text: str) -> int:
    names = set(_NAME.findall(text))
    known = {name.lower().replace("_", "") for name in names}
    known.update(word for name in names for word in identifier_words(name))
    return max((len(known.intersection(family)) for family in found), default=0)
