"""The JSON form of the arguments and results of IndexReader's methods, and the check of a server's answers.

A value without a JSON form is an object with one key that names its kind: `{"Hit": [7, 0.5]}`. Only objects
of the kinds listed here are created from network data, and their size is limited first: a message of 32 MB
takes at most 200 MB of memory.

A server may answer to each read only with what the types of the records' fields say. Beyond them, whole
numbers are neither negative nor huge, other numbers are finite, and the paths of files are inside the folder.
"""

from __future__ import annotations

import base64
import enum
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cairn.chunking.model import Chunk
from cairn.errors import WireError
from cairn.index.reader.bm25 import Statistics
from cairn.index.reader.exact import ExactMatches, Literal, TextHit
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import Ids, Postings
from cairn.index.reader.records import (
    ColumnWeights,
    FoundName,
    Hit,
    KeywordCounts,
    Outline,
    StoredChunk,
)
from cairn.protocol.chunk_types import ChunkType
from cairn.workspace.scan import is_relative

_RECORDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        Chunk, ChunkFilter, ColumnWeights, ExactMatches, FoundName, Hit, KeywordCounts,
        Literal, Outline, Postings, Statistics, StoredChunk, TextHit,
    )
}  # fmt: skip
_ARRAYS = frozenset({"int8", "uint8", "uint16", "int32", "int64", "float32", "float64", "bool"})
MOST_BYTES = 32 << 20
"""The size limit of a message. The postings of a word in all of a million chunks take 8 MB."""
_MOST_VALUES = 1_000_000
"""The maximum number of values in a message. Each takes up to 240 bytes of memory, however short it is."""
_TUPLE, _MAP, _BYTES, _ARRAY, _TYPE = "tuple", "map", "bytes", "array", "type"


def dumps(value: object) -> bytes:
    """Return the value as JSON. Raises TypeError for a value that readers do not exchange."""
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=True).encode()


def loads(data: bytes) -> Any:
    """Return the value from the JSON that `dumps` wrote. Raises WireError for other input."""
    # `dumps` writes ASCII only. With other text, each character could take four bytes.
    is_small = len(data) <= MOST_BYTES and sum(map(data.count, (b"[", b"{", b","))) <= _MOST_VALUES
    if not is_small or not data.isascii():
        raise WireError("The answer is too large, or is not ASCII.")
    try:
        return _value(json.loads(data, parse_constant=_constant))
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as problem:
        raise WireError(f"The answer cannot be read ({type(problem).__name__}).") from problem


def _constant(name: str) -> float:
    """Return infinity, which a request has as the time limit of a query without one. Refuse NaN."""
    if name == "NaN":
        raise ValueError(name)
    return float(name)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return value
    if isinstance(value, enum.Enum):
        return {_TYPE: value.value}
    name = type(value).__name__
    if _RECORDS.get(name) is type(value):
        return {name: [_plain(each) for each in _fields(value)]}
    if isinstance(value, np.ndarray):
        return {_ARRAY: [value.dtype.name, list(value.shape), _text(np.ascontiguousarray(value).tobytes())]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return {_BYTES: _text(value)}
    if isinstance(value, tuple):
        return {_TUPLE: [_plain(each) for each in value]}
    if isinstance(value, Mapping):
        return {_MAP: [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, list | set | frozenset):
        return [_plain(each) for each in value]
    raise TypeError(f"Readers do not exchange {name}.")


def _fields(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [getattr(value, field.name) for field in attrs.fields(type(value)) if field.init]


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, inside),) = plain.items()
    if kind in _RECORDS:
        return _RECORDS[kind](*map(_value, inside))
    if kind == _ARRAY:
        dtype, shape, text = inside
        if dtype not in _ARRAYS:
            raise ValueError(dtype)
        return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)
    if kind == _TUPLE:
        return tuple(map(_value, inside))
    if kind == _MAP:
        return {_value(key): _value(each) for key, each in inside}
    if kind == _BYTES:
        return base64.b64decode(inside)
    if kind == _TYPE:
        return ChunkType(inside)
    raise ValueError(kind)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_MOST = 2**53
"""Whole numbers are below this, so that they are exact as floating-point numbers, too."""
_READS = """
    absent admitted between chunk_ids chunks containing defining definitions definitions_of documents
    files_with_chunk is_named keywords leading_chunks members names_matching nearest_static opening_chunks
    outlines postings proposed static_similarities static_vectors statistics stems_starting word_counts
    """.split()


_NUMPY = {"np": np, "NDArray": NDArray, "PackedTable": Any, "Ids": Ids, "Postings": Postings}
"""Names that IndexReader imports only for type checkers."""


def _returned(method: str) -> Any:
    return typing.get_type_hints(getattr(IndexReader, method), localns=_NUMPY)["return"]


ANSWERS: Mapping[str, Any] = {
    **{name: _returned(name) for name in _READS},
    "packed_tables": dict[int, bytes],
    "symbols_naming": _returned("symbols_with_words"),
}
"""The type of the result of each read."""

Check = Callable[[Any], bool]


def check(hint: Any, answer: Any) -> Any:
    """Return `answer`. Raise WireError if it is not of the type `hint`, or beyond a limit."""
    try:
        is_valid = _check_of(hint)(answer)
    except (ValueError, RecursionError):
        is_valid = False
    if not is_valid:
        raise WireError("The answer has something else in it than was asked for.")
    return answer


@functools.cache
def _check_of(hint: Any) -> Check:
    """Return a function that says whether a value is of the type `hint` and within the limits."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray:
        dtype = np.dtype(typing.get_args(inside[1])[0])
        dimensions = 2 if dtype == np.int8 else 1  # Only vectors are of bytes.
        return lambda value: (
            isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == dimensions
        )
    if origin in (typing.Union, types.UnionType):
        some = [_check_of(each) for each in inside]
        return lambda value: any(is_valid(value) for is_valid in some)
    if origin is tuple and inside[-1] is not Ellipsis:
        every = [_check_of(each) for each in inside]
        return lambda value: type(value) is tuple and len(value) == len(every) and _fit(every, value)
    if origin in (list, tuple, Sequence):
        item = _check_of(inside[0])
        kinds = (list, tuple) if origin is Sequence else origin
        return lambda value: isinstance(value, kinds) and all(map(item, value))
    if origin in (dict, Mapping):
        pair = [_check_of(each) for each in inside]
        return lambda value: isinstance(value, dict) and all(_fit(pair, each) for each in value.items())
    if attrs.has(hint) or hint is Outline:
        return _check_of_record(hint)
    return _SCALARS.get(hint) or (lambda value: type(value) is hint)


_SCALARS: Mapping[Any, Check] = {
    int: lambda value: type(value) is int and 0 <= value < _MOST,
    float: lambda value: type(value) in (int, float) and math.isfinite(value) and abs(value) < _MOST,
    type(None): lambda value: value is None,
}


def _check_of_record(cls: type[Any]) -> Check:
    hints = typing.get_type_hints(cls)
    names = getattr(cls, "_fields", None) or [each.name for each in attrs.fields(cls) if each.init]
    fields = [is_relative if name == "path" else _check_of(hints[name]) for name in names]
    also = _ALSO.get(cls, lambda value: True)

    def is_valid(value: Any) -> bool:
        return type(value) is cls and _fit(fields, (getattr(value, name) for name in names)) and also(value)

    return is_valid


def _fit(checks: Sequence[Check], values: Iterable[Any]) -> bool:
    return all(is_valid(each) for is_valid, each in zip(checks, values, strict=True))


def _are_postings(value: Postings) -> bool:
    ids = value.ids
    are_columns = ids.shape == value.counts.shape == value.names.shape
    return are_columns and (not len(ids) or bool(ids[0] > 0 and (ids[1:] > ids[:-1]).all()))


def _are_names(value: Outline) -> bool:
    names = json.loads(value.names)
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


_ALSO: Mapping[type[Any], Check] = {
    Postings: _are_postings,
    Outline: _are_names,
    StoredChunk: lambda value: value.chunk.start_line <= value.chunk.end_line,
}
"""What must be true of a record besides the types of its fields."""
