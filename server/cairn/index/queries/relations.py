"""Relations between files and chunks: by stored vectors, names, imports and commits."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from cairn.errors import CairnError
from cairn.index.reader.index_memory import IndexMemory
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.caches import MANY_CHUNKS, due_again
from cairn.index.store.deadline import uninterrupted
from cairn.index.store.schema import STATIC_LENGTH, static_table_name
from cairn.languages.imports import Module
from cairn.workspace.import_graph import ImportGraph

logger = logging.getLogger(__name__)

NO_OTHERS: Mapping[str, Sequence[str] | None] = MappingProxyType({})
_SMALL_COMMIT = 9
"""The maximum number of files in a commit that counts as a relation between them."""


# --- vectors -------------------------------------------------------------------------------------


@frozen
class PassageVector:
    """The mean of the stored vectors of some chunks."""

    static_table: str = ""
    static: NDArray[np.int8] | None = None
    """int8[dimension], a vector of the model and format `static_table`. All its vectors have the same
    length."""


def passage_vector(reader: IndexReader, ids: Sequence[int]) -> PassageVector:
    """Return the mean vector of these chunks."""
    table = reader.static_table()
    rows = [
        row
        for source, _, wanted in reader.by_source(ids)
        if source.static_table()
        for row in source.static_vectors(wanted)[1]
    ]
    return PassageVector(table, _static_mean(rows) if table else None)


def vector_of_texts(model: str, rows: NDArray[np.int8]) -> PassageVector:
    """Return the mean of `rows`, int8[n, dimension], vectors of some texts by `model`."""
    return PassageVector(static_table_name(model, rows.shape[1]), _static_mean([*rows]))


def _static_mean(rows: Sequence[NDArray[np.int8]]) -> NDArray[np.int8] | None:
    """Return the mean, int8[dimension]; None for no rows, and for rows that add up to zero."""
    total = np.sum(np.stack(rows).astype(np.float32), axis=0) if rows else np.zeros(1, np.float32)
    length = np.float32(np.linalg.norm(total))
    return np.rint(total / length * STATIC_LENGTH).astype(np.int8) if length else None


# --- chunks ----------------------------------------------------------------------------------------


def spread_ids(reader: IndexReader, count: int) -> list[int]:
    """Return up to `count` evenly spaced chunk ids, always the same ones. Some may belong to no chunk."""
    last = reader.columns().upto
    return list(range(1, last + 1, max(1, last // count)))[:count]


# --- files -----------------------------------------------------------------------------------------


def same_stem(reader: IndexReader, path: str) -> list[str]:
    """Return other files whose names differ only by suffix or a mark of tests: `foo.h`, `test_foo.c`."""
    stem = file_stem(path)
    if not stem:
        return []
    # `_` and `%` in a stem match too many paths, which the comparison below excludes.
    rows = reader.select("SELECT path FROM files WHERE path LIKE ?", (f"%{stem}%",))
    paths = {path for (path,) in rows}.union(reader.hidden)
    return sorted(other for other in paths if other != path and file_stem(other) == stem)


def file_stem(path: str) -> str:
    """Return the name without suffixes and marks of tests: `foo` for `foo.module.css` and `test_foo.py`.
    Common names such as `index.ts` give ""."""
    stem = path.rpartition("/")[2].lower().lstrip(".").partition(".")[0]
    for mark in ("test_", "spec_"):
        stem = stem.removeprefix(mark)
    for mark in ("_test", "-test", "_spec", "-spec", "_unittest"):
        stem = stem.removesuffix(mark)
    return "" if stem in _NAMED_BY_FOLDER else stem


_NAMED_BY_FOLDER = frozenset(
    "__init__ __main__ index main mod lib readme license changelog conftest setup".split()
    + "cmakelists makefile dockerfile".split()
)
"""File names that are common in all projects."""


def imports_around(reader: IndexReader, path: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the files that the file at `path` imports, unsaved text included, and its indexed importers."""
    specs = reader.select_all("SELECT imports FROM files WHERE path = ?", (path,))
    with _graphs_lock:
        graph = _import_graph(reader)
        return graph.imported(path, json.loads(specs[-1][0]) if specs else ()), graph.importers(path)


def importers_of(reader: IndexReader, path: str) -> tuple[str, ...]:
    with _graphs_lock, uninterrupted():
        return _import_graph(reader).importers(path)


def import_resolver(
    reader: IndexReader, others: Mapping[str, Sequence[str] | None] = NO_OTHERS
) -> Callable[[str, Module], tuple[str, ...]]:
    """Return a function that takes a file's path and a module imported in it, and returns the files meant.

    `others` are files of another state of the folder, with their imports; None for files that are not there.
    If it has other files than the index, this takes 4 µs for each file of the folder.
    """
    with _graphs_lock:
        graph = _import_graph(reader)
        imports = _graphs[reader.memory].imports
        if all((path in imports) == (specs is not None) for path, specs in others.items()):
            return graph.resolve
        every = {path: json.loads(specs) for path, specs in imports.items() if path not in others}
    return ImportGraph(every | {path: specs for path, specs in others.items() if specs is not None}).resolve


@define
class _KnownGraph:
    """An import graph, and the state of the index from which the graph was made."""

    index: object
    paths: int
    links: int
    imports: dict[str, str]
    graph: ImportGraph
    due: float
    """The time from which the graph of a large index is refreshed."""


_graphs: WeakKeyDictionary[IndexMemory, _KnownGraph] = WeakKeyDictionary()
_graphs_lock = threading.Lock()


def _import_graph(reader: IndexReader) -> ImportGraph:
    """Return the graph of the whole index. After files were added or removed, this takes 0.1 s for 13,000
    files; otherwise only changed files are updated. For a large index it takes seconds, so a thread refreshes
    the graph, and meanwhile the last one is returned."""
    facts, index = reader.facts(), reader.identity()
    known = _graphs.get(reader.memory)
    if known is not None and known.index == index:
        same_files = known.paths == facts.paths
        if same_files and known.links == facts.links:
            return known.graph
        if facts.chunks >= MANY_CHUNKS:
            if time.monotonic() >= known.due:
                known.due = math.inf
                threading.Thread(
                    target=_refresh_graph, args=(reader, known), name="cairn-imports", daemon=True
                ).start()
            return known.graph
        imports: dict[str, str] = dict(reader.select(_SELECT_IMPORTS))
        if same_files and known.imports.keys() == imports.keys():
            changed = [path for path, specs in imports.items() if known.imports[path] != specs]
            if all(known.graph.changed(path, json.loads(imports[path])) for path in changed):
                known.imports, known.links = imports, facts.links
                return known.graph
    return _make_graph(reader)


_SELECT_IMPORTS = "SELECT path, imports FROM files WHERE is_text"


def _make_graph(reader: IndexReader) -> ImportGraph:
    began = time.monotonic()
    facts, index = reader.facts(), reader.identity()
    imports: dict[str, str] = dict(reader.select(_SELECT_IMPORTS))
    graph = ImportGraph({path: json.loads(specs) for path, specs in imports.items()})
    _graphs[reader.memory] = _KnownGraph(index, facts.paths, facts.links, imports, graph, due_again(began))
    return graph


def _refresh_graph(reader: IndexReader, before: _KnownGraph) -> None:
    began = time.monotonic()
    try:
        _make_graph(reader)
    except CairnError as problem:
        logger.warning("Imports could not be read: %s", problem)
    before.due = due_again(began)


def changed_together(reader: IndexReader, path: str) -> dict[str, float]:
    """Return how often other files changed in the same commits, from 0 to 1. Only commits of up to nine files
    count. The value is the cosine of the two files' commits: 1 if neither file ever changed without the
    other. Files with a single common commit are left out, because it proves nothing."""
    histories = reader.select("SELECT path, touches FROM file_history WHERE count > 1")
    paths: list[str] = [each for each, _ in histories]
    if path not in paths:
        return {}
    touch = np.dtype([("commit", "<u4"), ("files", "u1")])
    touches = np.frombuffer(b"".join(packed for _, packed in histories), touch)
    lengths = [len(packed) // touches.dtype.itemsize for _, packed in histories]
    file_of_touch = np.repeat(np.arange(len(paths)), lengths)
    small = touches["files"] <= _SMALL_COMMIT
    here = paths.index(path)
    own = touches["commit"][small & (file_of_touch == here)]
    shared = np.bincount(file_of_touch[small & np.isin(touches["commit"], own)], minlength=len(paths))
    each = np.bincount(file_of_touch[small], minlength=len(paths))
    found = np.flatnonzero(shared > 1)
    return {
        paths[number]: float(shared[number] / np.sqrt(each[number] * len(own)))
        for number in found.tolist()
        if number != here
    }
