"""Reads a snapshot of a team's index through a server: the catalogue once, and chunks and words on demand.

A read is a method of IndexReader. The client sends its name and arguments, and the server's own reader
answers. The types of the answers are in `cairn.index.remote.messages`.
"""

from __future__ import annotations

import functools
import inspect
import typing
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from cairn.chunking.references.packed_table import PackedTable
from cairn.errors import WireError
from cairn.index.reader.catalogue_reader import CatalogueMemory, CatalogueReader
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import Ids, Postings
from cairn.index.reader.records import KeywordCounts, LanguageStats, Outline
from cairn.index.remote.messages import ANSWERS, MOST_BYTES
from cairn.index.store.database import distrust
from cairn.index.store.deadline import Deadline, check_end, interruption, never
from cairn.languages.registry import detect_language

if TYPE_CHECKING:
    from cairn.index.postgres.postgres_reader import PostgresReader

Ask = Callable[[str, list[Any]], Any]
"""A function that sends a read to the server, given the read's name and arguments, and returns the result."""

_MOST_POSTINGS_BYTES = 64 << 20
"""The maximum size of the cached postings."""
_CHUNK_BYTES = 8
"""The size of a chunk in the postings of a message."""
_MOST_TABLE_BYTES = 64 << 20
"""The maximum size of the symbol tables of one answer, which are compressed."""
_MS = 10_000.0
"""The time limit of one read in milliseconds."""

_METHODS = {"symbols_naming": "symbols_with_words", "packed_tables": "symbol_tables"}
"""The methods of the reads that have other names."""
_NO_SUCH_ARGUMENTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, apsw.Error)


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(IndexReader, _METHODS.get(name, name)))


def _asked(name: str) -> Any:
    """Return the method of IndexReader for the read `name`, which asks the server."""
    origin = typing.get_origin(ANSWERS[name])
    empty = origin if origin in (list, dict) else None

    def method(self: RemoteReader, *given: object, **named: object) -> Any:
        arguments = self.arguments(name, *given, **named)
        if empty is not None and isinstance(arguments[0], list) and not arguments[0]:
            return empty()
        return self.ask(name, arguments)

    return method


@define(eq=False)
class RemoteMemory(CatalogueMemory):
    languages: frozenset[str] = field(kw_only=True)
    postings: dict[str, Postings] = field(factory=dict, init=False)

    def connect(self) -> apsw.Connection:
        connection = super().connect()
        distrust(connection)
        return connection


@define(eq=False, slots=False)
class RemoteReader(CatalogueReader):
    """Reads the snapshot of `memory`, and asks the server for what the catalogue lacks."""

    memory: RemoteMemory = field(kw_only=True)
    ask: Ask = field(kw_only=True)

    @classmethod
    def of(cls, ask: Ask, memory: RemoteMemory, root: str = "") -> RemoteReader:
        return cls(Path(f"snapshot {memory.snapshot}"), memory=memory, root=root, ask=ask)

    absent = _asked("absent")
    between = _asked("between")
    chunk_ids = _asked("chunk_ids")
    chunks = _asked("chunks")
    containing = _asked("containing")
    defining = _asked("defining")
    definitions = _asked("definitions")
    definitions_of = _asked("definitions_of")
    documents = _asked("documents")
    files_with_chunk = _asked("files_with_chunk")
    is_named = _asked("is_named")
    keywords = _asked("keywords")
    leading_chunks = _asked("leading_chunks")
    members = _asked("members")
    names_matching = _asked("names_matching")
    nearest_static = _asked("nearest_static")
    opening_chunks = _asked("opening_chunks")
    proposed = _asked("proposed")
    static_similarities = _asked("static_similarities")
    statistics = _asked("statistics")
    stems_starting = _asked("stems_starting")
    symbols_with_words = _asked("symbols_naming")

    def arguments(self, name: str, *given: object, **named: object) -> list[Any]:
        """Return the arguments of the read as they are sent: a deadline as its milliseconds, and a filter for
        the server's reader, which does not know the folder's path. Raise an error if the query has ended
        (`check_end`)."""
        check_end()
        bound = _signature(name).bind(self, *given, **named)
        bound.apply_defaults()
        sent: list[Any] = []
        for parameter, value in list(bound.arguments.items())[1:]:
            if parameter == "deadline":
                if value.cancelled():
                    raise interruption(value)
                sent.append(value.ms)
            elif isinstance(value, ChunkFilter):
                patterns = value.paths_in(self.root)
                folders = () if patterns is None else (("", tuple(patterns)),)
                sent.append(evolve(value, paths=(), folders=folders))
            else:
                is_whole = not isinstance(value, Iterable) or isinstance(value, str | Mapping | np.ndarray)
                sent.append(value if is_whole else list(value))
        return sent

    def admitted(self, only: ChunkFilter) -> Ids | None:
        if not only:
            return None
        found: Ids = self.ask("admitted", self.arguments("admitted", only))
        return found

    def word_counts(self, texts: Iterable[str], bound: int) -> KeywordCounts:
        wanted = list(texts)
        found: KeywordCounts = self.ask("word_counts", self.arguments("word_counts", wanted, bound))
        if not found.matching.keys() >= set(wanted):
            raise WireError("The answer lacks the counts of some words.")
        return found

    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        known = dict(self.memory.postings)
        missing = {text: rows for text, rows in texts.items() if text not in known}
        for some in _messages(missing):
            known |= self.ask("postings", self.arguments("postings", dict.fromkeys(some, 0)))
        if missing:
            is_small = sum(each.size for each in known.values()) <= _MOST_POSTINGS_BYTES
            self.memory.postings = known if is_small else {}
        return {text: known[text] for text in texts if text in known}

    def outlines(self, ids: Iterable[int]) -> dict[int, Outline]:
        return self.memory.outlines.get(self.key, ids, lambda missing: self.ask("outlines", [missing]))

    def counted_languages(self) -> tuple[LanguageStats, ...]:
        """Return the numbers by the catalogue's file names, in 5 µs for each. Only the server knows the
        languages of chunks."""
        counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        sql = "SELECT path, collection, chunks FROM files WHERE is_text AND chunks"
        for path, collection, chunks in self.select(sql):
            counts[collection, detect_language(path)].append(chunks)
        return tuple(LanguageStats(*where, len(each), sum(each)) for where, each in sorted(counts.items()))

    def has_language(self, language: str) -> bool:
        return language in self.memory.languages

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        return self.memory.tables.get(self.key, ids, self._read_tables)

    def _read_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        tables, room = dict[int, PackedTable](), _MOST_TABLE_BYTES
        for number, packed in self.ask("packed_tables", [list(ids)]).items():
            try:
                tables[number] = table = PackedTable(packed, room)
                table.check()
            except (ValueError, LookupError, zlib.error) as problem:
                raise WireError("A symbol table cannot be read.") from problem
            room -= table.size
        return tables

    def static_vectors(self, ids: Iterable[int]) -> tuple[Ids, NDArray[np.int8]]:
        wanted = list(ids)
        if not wanted:
            return np.empty(0, np.int64), np.empty((0, 0), np.int8)
        found: tuple[Ids, NDArray[np.int8]] = self.ask("static_vectors", [wanted])
        if len(found[0]) != len(found[1]):
            raise WireError("The answer has not as many vectors as chunks.")
        return found


def _messages(texts: Mapping[str, int]) -> Iterator[list[str]]:
    """Divide words, given with their numbers of chunks, so that the postings of each part fit a message."""
    part, size = list[str](), 0
    for text, rows in texts.items():
        if part and size + rows * _CHUNK_BYTES > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(text)
        size += rows * _CHUNK_BYTES
    if part:
        yield part


def read(reader: PostgresReader, request: Any) -> Any:
    """Return the reader's answer to a request `[name, arguments]`. Raises WireError for an invalid one."""
    if not isinstance(request, list) or len(request) != 2 or not isinstance(request[1], list):
        raise WireError("A read is a name and a list of arguments.")
    name, given = request
    if not isinstance(name, str) or name not in ANSWERS:
        raise WireError("There is no such read.")
    from psycopg import DataError, NotSupportedError, ProgrammingError  # Only servers have psycopg.

    method = "symbols_with_words" if name == "symbols_naming" else name
    try:
        for place, parameter in enumerate(list(_signature(name).parameters)[1:]):
            if parameter == "deadline":
                given[place] = Deadline(never, min(given[place], _MS))
        return getattr(reader, method)(*given)
    except (*_NO_SUCH_ARGUMENTS, DataError, NotSupportedError, ProgrammingError) as problem:
        raise WireError(f"{name} does not take these arguments.") from problem
