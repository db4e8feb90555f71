"""The reads that a client may request of a server, and how the server's own reader answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import apsw

from cairn.errors import WireError
from cairn.index.store.deadline import Deadline, never

if TYPE_CHECKING:
    from cairn.index.postgres.postgres_reader import PostgresReader

_MS = 10_000.0
"""The time limit of one read in milliseconds."""

_NO_SUCH_ARGUMENTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, apsw.Error)

Read = Callable[..., Any]


def _plain(name: str) -> Read:
    return lambda reader, *given: getattr(reader, name)(*given)


def _cancellable(name: str) -> Read:
    return lambda reader, *given: getattr(reader, name)(*given, never)


def _containing(
    reader: PostgresReader, literal: Any, limit: int, only: Any, ms: float, first: list[int]
) -> Any:
    return reader.containing(literal, limit, only, Deadline(never, min(ms, _MS)), first)


def _stems_starting(reader: PostgresReader, prefix: str, ms: float) -> Any:
    return reader.stems_starting(prefix, Deadline(never, min(ms, _MS)))


READS: Mapping[str, Read] = {
    "containing": _containing,
    "stems_starting": _stems_starting,
    **{
        name: _cancellable(name)
        for name in (
            "word_counts", "postings", "keywords", "statistics", "admitted", "definitions", "names_matching",
            "nearest_static",
        )
    },
    "symbols_naming": _cancellable("symbols_with_words"),
    **{
        name: _plain(name)
        for name in (
            "absent", "documents", "is_named", "chunks", "outlines", "leading_chunks", "opening_chunks",
            "chunk_ids", "neighbours", "page", "between", "files_with_chunk", "defining", "members",
            "definitions_of", "places", "packed_tables", "static_similarities", "static_vectors",
        )
    },
}  # fmt: skip
"""The reads by name. For everything else, a remote reader uses its catalogue."""


def read(reader: PostgresReader, request: Any) -> Any:
    """Return the reader's answer to a request `[name, arguments]`. Raises WireError for an invalid one."""
    if not isinstance(request, list) or len(request) != 2 or not isinstance(request[1], list):
        raise WireError("A read is a name and a list of arguments.")
    name, given = request
    if not isinstance(name, str) or name not in READS:
        raise WireError("There is no such read.")
    from psycopg import DataError, NotSupportedError, ProgrammingError  # Only servers have psycopg.

    try:
        return READS[name](reader, *given)
    except (*_NO_SUCH_ARGUMENTS, DataError, NotSupportedError, ProgrammingError) as problem:
        raise WireError(f"{name} does not take these arguments.") from problem
