"""Find the definitions and files of an index that a report names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from cairn.index.queries.file_queries import file_stem, files_called
from cairn.index.queries.found_words import passing_chunks
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import Outline, StoredChunk
from cairn.retrieval.report import FRAME_DECAY, Report, last_part
from cairn.workspace.collections import FileKind

_OWNER_BONUS = 2.0
"""The factor of a definition's additional weight if the report also names its type, file or folder."""
_MOST_DEFINITIONS = 40
"""The maximum number of chunks that define a name. A name with more is ignored."""
_MOST_NAMED = 40


def named_definitions(reader: IndexReader, report: Report, only: ChunkFilter) -> dict[int, float]:
    """Return the weight of each chunk that defines a name in the report. Rarer names weigh more."""
    found = reader.definitions_of({name.text for name in report.names}, _MOST_DEFINITIONS)
    known = reader.outlines({each.chunk_id for each in found})
    allowed = passing_chunks(reader, only)
    shown = known.keys() if allowed is None else known.keys() & set(allowed.tolist())
    by_name: dict[str, list[Outline]] = defaultdict(list)
    for each in found:
        if each.chunk_id in shown:
            by_name[each.name].append(known[each.chunk_id])
    worth: dict[int, float] = defaultdict(float)
    for name in report.names:
        defining = by_name.get(name.text, [])
        if not (files := _files(defining)):
            continue
        owned = [each for each in defining if _belongs_to(each, name.owner)]
        for place in defining:
            worth[place.id] = max(name.weight / files, worth[place.id])
        for place in owned:
            worth[place.id] += _OWNER_BONUS * name.weight / max(1, _files(owned))
    return worth


def _files(definitions: Iterable[Outline]) -> int:
    return len({each.path for each in definitions if each.kind != FileKind.TESTS})


def _belongs_to(definition: Outline, owner: str) -> bool:
    folder = definition.path.rpartition("/")[0].rpartition("/")[2]
    return owner != "" and owner in (
        definition.parent.rpartition(".")[2],
        file_stem(definition.path),
        folder,
    )


def named_files(reader: IndexReader, report: Report) -> dict[str, float]:
    """Return the likelihood that the report means each file, 1 at most, highest first. A stack frame weighs
    less for each project frame inside it, and a path less for each file that it fits."""
    fragments = [*report.places, *(frame.path for frame in report.frames)]
    by_stem: dict[str, list[str]] = defaultdict(list)
    for path in files_called(reader, {file_stem(fragment) for fragment in fragments}):
        by_stem[file_stem(path)].append(path)
    surely: dict[str, float] = defaultdict(float)

    @cache  # A trace often names the same file several times.
    def fits(fragment: str) -> list[str]:
        return [path for path in by_stem.get(file_stem(fragment), ()) if _fits(path, fragment)]

    def add(fragment: str, weight: float) -> bool:
        fitting = fits(fragment)
        for path in fitting:
            surely[path] = max(weight / len(fitting), surely[path])
        return bool(fitting)

    for fragment, weight in report.places.items():
        add(fragment, weight)
    weight = 1.0
    for frame in report.frames:
        if add(frame.path, weight):
            weight *= FRAME_DECAY
    best = sorted(surely, key=lambda path: (-surely[path], path))[:_MOST_NAMED]
    return {path: surely[path] for path in best}


def _fits(path: str, fragment: str) -> bool:
    """Return whether one of the paths ends with the other. `port/cranes.*` fits a file with any extension."""
    path, fragment = f"/{path}", f"/{fragment.strip('/')}"
    if fragment.endswith(".*"):
        return path.rpartition(".")[0].endswith(fragment[:-2])
    return path.endswith(fragment) or fragment.endswith(path)


def frame_weights(report: Report, chunks: Sequence[StoredChunk]) -> list[float]:
    """Return 1 for chunks with the innermost function that any chunk defines, less for outer ones, else 0."""
    weights = [0.0] * len(chunks)
    weight = 1.0
    for frame in dict.fromkeys(report.frames):  # A recursive function counts once.
        name = last_part(frame.name)
        holding = [
            place
            for place, each in enumerate(chunks)
            if name and name in each.chunk.defines and _fits(each.path, frame.path)
        ]
        for place in holding:
            weights[place] = max(weights[place], weight)
        if holding:
            weight *= FRAME_DECAY
    return weights
