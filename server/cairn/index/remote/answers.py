"""What a server may answer to each read, and the check that it answers nothing else.

The types of the records' fields say what is valid. Beyond them, whole numbers are neither negative nor huge,
other numbers are finite, and the paths of files are inside the folder.
"""

from __future__ import annotations

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

from cairn.errors import WireError
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import (
    DefinitionPlace,
    FoundName,
    Hit,
    KeywordCounts,
    Outline,
    StoredChunk,
)
from cairn.index.text.bm25 import Statistics
from cairn.index.text.literals import ExactMatches
from cairn.workspace.scan import is_relative

_IDS = NDArray[np.int64]
_VECTORS = NDArray[np.int8]
_MOST = 2**53
"""Whole numbers are below this, so that they are exact as floating-point numbers, too."""

ANSWERS: Mapping[str, Any] = {
    "absent": list[str],
    "admitted": _IDS | None,
    "between": list[StoredChunk],
    "chunk_ids": dict[str, list[int]],
    "chunks": dict[int, StoredChunk],
    "containing": ExactMatches,
    "defining": list[Hit],
    "definitions": list[FoundName],
    "definitions_of": list[FoundName],
    "documents": dict[str, int],
    "files_with_chunk": list[str],
    "is_named": bool,
    "keywords": list[Hit],
    "leading_chunks": list[int],
    "members": list[Hit],
    "names_matching": list[str],
    "nearest_static": list[Hit],
    "neighbours": dict[tuple[str, int], list[StoredChunk]],
    "opening_chunks": list[int],
    "outlines": dict[int, Outline],
    "packed_tables": dict[int, bytes],
    "page": list[StoredChunk],
    "places": dict[int, DefinitionPlace],
    "postings": dict[str, Postings],
    "static_similarities": dict[int, float],
    "static_vectors": tuple[_IDS, _VECTORS],
    "statistics": Statistics,
    "stems_starting": dict[str, int],
    "symbols_naming": list[tuple[int, str]],
    "word_counts": KeywordCounts,
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
        dtype, dimensions = np.dtype(typing.get_args(inside[1])[0]), 2 if hint is _VECTORS else 1
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
