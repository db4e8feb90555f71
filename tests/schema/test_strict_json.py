"""Strict JSON reads all of the standard, and refuses everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.schema import strict_json
from cairn.schema.strict_json import MAX_DEPTH, MalformedJsonError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inside: st.lists(inside, max_size=5) | st.dictionaries(_TEXT, inside, max_size=5),
    max_leaves=20,
)


@given(_VALUES)
def test_dumps_and_loads_are_inverse(data: object) -> None:
    assert strict_json.loads(strict_json.dumps(data)) == data


@given(st.binary(max_size=200) | st.text('[]{}":,0123456789.eE-+\\untrfals \n', max_size=60).map(str.encode))
def test_loads_parses_or_refuses_any_bytes(body: bytes) -> None:
    try:
        data = strict_json.loads(body)
    except MalformedJsonError:
        return
    assert data == json.loads(body)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "too large, 1e999"),
        (b'{"a": {"b": 1, "b": 2}}', "'b' twice"),
        (b'{"a": "\\ud800"}', "half a surrogate pair"),
        (b'{"\\udfff": 1}', "half a surrogate pair"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "not JSON"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "too many digits"),
        (b"[" * 100_000, "nested deeper"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested deeper"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "nested deeper"),
        (b'{"a": 1', "line 1, column 8"),
    ],
)
def test_refusal_says_what_is_wrong(body: bytes, named: str) -> None:
    with pytest.raises(MalformedJsonError) as refused:
        strict_json.loads(body)
    assert named in str(refused.value)


def test_loads_accepts_the_deepest_nesting() -> None:
    assert strict_json.loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_dumps_refuses_nan_and_escapes_surrogates() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        strict_json.dumps({"score": float("nan")})
    assert json.loads(strict_json.dumps("name \udc80")) == "name \udc80"
