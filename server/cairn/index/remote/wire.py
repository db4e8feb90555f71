"""The JSON form of the arguments and results of IndexReader's methods.

A value without a JSON form is an object with one key that names its kind: `{"Hit": [7, 0.5]}`. Only objects
of the kinds listed here are created from network data, and their size is limited first: a message of 32 MB
takes at most 200 MB of memory.
"""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from cairn.chunking.model import Chunk
from cairn.errors import WireError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import (
    ColumnWeights,
    DefinitionPlace,
    FoundName,
    Hit,
    KeywordCounts,
    Outline,
    StoredChunk,
)
from cairn.index.text.bm25 import Statistics
from cairn.index.text.literals import ExactMatches, Literal, TextHit
from cairn.protocol.places import ChunkType

_RECORDS: Mapping[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        Chunk, ChunkFilter, ColumnWeights, DefinitionPlace, ExactMatches, FoundName, Hit, KeywordCounts,
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
