"""Where the names and paths of a report are in an index: the definitions and the files that it is anchored to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase

from cairn.index.queries.names import Definition, definitions_of
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.reports.names import FRAME_DECAY
from cairn.retrieval.reports.report import Report

_OF_OWNER = 2.0
"""How much more a definition counts whose type, file or folder was named with it."""
_MOST_FILES = 40
"""A name that more files define tells nothing."""


def named_definitions(reader: IndexReader, report: Report, only: ChunkFilter) -> dict[int, float]:
    """For each chunk that defines a name of the report how much it counts, the more the fewer files define the name."""
    worth: dict[int, float] = defaultdict(float)
    every = definitions_of(reader, [name.text for name in report.names], only)
    for name in report.names:
        found = every.get(name.text, [])
        owned = [each for each in found if name.owner and each.belongs_to(name.owner)]
        if 0 < _files(found) <= _MOST_FILES:
            for each in found:
                worth[each.chunk_id] = max(name.weight / _files(found), worth[each.chunk_id])
            for each in owned:
                worth[each.chunk_id] += _OF_OWNER * name.weight / max(1, _files(owned))
    return worth


def _files(definitions: Sequence[Definition]) -> int:
    """How many files define a name, tests not counted."""
    return len({each.path for each in definitions if not each.is_test})


def named_files(paths: Sequence[str], report: Report) -> dict[str, float]:
    """How surely each of these files is meant by the report, 1 at most.

    A frame counts the less the more frames of the project lie inside it, and a fragment the less the more files it fits.
    """
    surely: dict[str, float] = defaultdict(float)

    def add(fragment: str, weight: float) -> bool:
        fitting = [path for path in paths if _fits(f"/{path}", f"/{fragment.strip('/')}")]
        for path in fitting:
            surely[path] = max(weight / len(fitting), surely[path])
        return bool(fitting)

    for fragment, weight in report.places.items():
        add(fragment, weight)
    weight = 1.0
    for frame in report.frames:
        if add(frame.path, weight):
            weight *= FRAME_DECAY
    return {path: weight for path, weight in surely.items() if weight}


def _fits(path: str, fragment: str) -> bool:
    """Whether one of them ends with the other, or the fragment is a glob that the path's end matches."""
    return (
        path.endswith(fragment)
        or fragment.endswith(path)
        or ("*" in fragment and fnmatchcase(path, f"*{fragment}"))
    )
