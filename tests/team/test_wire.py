"""The exchange between a clone and a team's server: values, invalid data, and what each reader may read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays
from tests.postgres import execute
from tests.serving import Answer, Served
from tests.team.shared_town import Town

from cairn.chunking.model import Chunk
from cairn.engine.stored import StoredEngine
from cairn.errors import WireError
from cairn.index.postgres.transactions import Store
from cairn.index.reader.bm25 import Statistics
from cairn.index.reader.exact import ExactMatches, Literal, TextHit
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import (
    ColumnWeights,
    FoundName,
    Hit,
    KeywordCounts,
    Outline,
    StoredChunk,
)
from cairn.index.remote.messages import ANSWERS, dumps, loads
from cairn.protocol.search_messages import ChunkType

# --- values --------------------------------------------------------------------------------------------

text = st.text(max_size=20)
number = st.integers(-(2**63), 2**63)
real = st.floats(allow_nan=False)
names = st.lists(text, max_size=3).map(tuple)


def array(dtype: str) -> st.SearchStrategy[Any]:
    return arrays.arrays(dtype, arrays.array_shapes(max_dims=1, min_side=0, max_side=5))


filters = st.builds(
    ChunkFilter, types=names, languages=names, paths=names, collections=names, hidden=names,
    folders=st.lists(st.tuples(text, names), max_size=2).map(tuple),
)  # fmt: skip
chunks = st.builds(
    Chunk, position=number, start_line=number, end_line=number, text=text,
    type=st.sampled_from(ChunkType), title=text, defines=names,
)  # fmt: skip
records = st.one_of(
    chunks,
    filters,
    st.builds(StoredChunk, number, text, text, text, chunks, text),
    st.builds(Outline, number, text, text, number, text, text, text, text, text, st.booleans()),
    st.builds(ColumnWeights, real, real, real),
    st.builds(Hit, number, real),
    st.builds(FoundName, number, text, text),
    st.builds(KeywordCounts, number, st.dictionaries(text, number, max_size=3)),
    st.builds(Postings, array("int32"), array("uint8"), array("uint8")),
    st.builds(Statistics, number, number, st.lists(number, max_size=3)),
    st.builds(Literal, text, st.booleans(), st.booleans()),
    st.builds(
        ExactMatches,
        st.lists(st.builds(TextHit, number, real, number, number), max_size=2).map(tuple), st.booleans(),
    ),
)  # fmt: skip
leaves = st.one_of(
    st.none(), st.booleans(), number, real, text, st.binary(max_size=20), st.sampled_from(ChunkType), records,
    *map(array, ("int8", "uint8", "uint16", "int32", "int64", "float32", "float64", "bool")),
)  # fmt: skip
keys = st.one_of(text, number, st.tuples(text, number))
values = st.recursive(
    leaves,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.lists(inside, max_size=3).map(tuple),
        st.dictionaries(keys, inside, max_size=3),
    ),
    max_leaves=6,
)


@given(values)
@settings(max_examples=50)
def test_every_value_arrives_as_it_was_sent(value: Any) -> None:
    with np.printoptions(floatmode="unique"):
        assert repr(loads(dumps(value))) == repr(value)


def test_numbers_of_numpy_arrive_as_plain_ones_and_sets_as_lists() -> None:
    assert loads(dumps([np.int64(7), np.float32(0.5), np.bool_(True)])) == [7, 0.5, True]
    assert sorted(loads(dumps({"a", "b"}))) == ["a", "b"]


@pytest.mark.parametrize("value", [object(), Path("a"), 1j, np.dtype("int8"), {"a": object()}, KeyError])
def test_value_of_another_type_is_not_sent(value: Any) -> None:
    with pytest.raises(TypeError):
        dumps(value)


tags = "Chunk ChunkFilter Hit Postings Literal StoredChunk tuple map array bytes type Path".split()
dtypes = st.sampled_from(["int8", "object", "int64", "S9"])
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text),
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.dictionaries(st.sampled_from(tags), inside, max_size=2),
        st.builds(lambda *given: {"array": list(given)}, dtypes, inside, inside),
    ),
    max_leaves=12,
)


@given(st.one_of(st.binary(max_size=60), plain.map(lambda value: json.dumps(value).encode())))
@settings(max_examples=150)
def test_hostile_json_is_read_or_refused_and_nothing_else(data: bytes) -> None:
    with contextlib.suppress(WireError):
        loads(data)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"array": ["int8", [4611686018427387904, 4], ""]}',
        b'{"array": ["int8", [-1, -1], ""]}',
        b'{"array": ["object", [1], "AAAAAAAAAAA="]}',
        b'{"Hit": [1, 2], "map": []}',
        b'{"Hit": 7}',
        b'{"Hit": [1, 2, 3]}',
        b'{"map": [[[], 1]]}',
        b'{"type": "nothing"}',
        b'{"bytes": "\xc3\xa4"}',
        b'{"TeamServer": ["http://127.0.0.1", "token"]}',
        b'{"Literal": [7]}',
        b"[NaN]",
        b"[" + b"[]," * 1_000_000 + b"0]",
        b'"' + b"x" * (33 << 20) + b'"',
        '["\u2603"]'.encode(),
    ],
)
def test_invalid_values_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        loads(data)


# --- the server ------------------------------------------------------------------------------------------

_SECRET = "buried_treasure"


@frozen
class Exchange:
    """The town's server with a private fork of the harbour: ada sees only the harbour, and bob everything."""

    served: Served
    url: str
    engine: StoredEngine
    ada: str
    bob: str
    snapshots: Mapping[str, int]
    """The snapshots' numbers by repository."""
    commits: Mapping[str, str]

    def post(self, path: str, body: bytes, token: str | None = None) -> Answer:
        return self.served.ask(f"/team/v1/{path}", body=body, method="POST", token=token or self.ada)

    def read(self, name: str, *given: Any, repository: str = "harbour") -> Any:
        answer = self.post(f"read/{self.snapshots[repository]}", dumps([name, list(given)]))
        assert answer.status == 200, answer
        return loads(answer.body)


@pytest.fixture(scope="module")
def exchange(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    fork = town.harbour.clone(tmp_path_factory.mktemp("fork") / "fork")
    fork.write({"src/harbour/map.py": f'def {_SECRET}():\n    """Where it lies: seven steps north."""\n'})
    fork.commit("A map")
    town.index(fork, name="fork")
    rows: Any = execute(
        town.store.url,
        """SELECT r.name, s.number, s.commit, r.pool
           FROM cairn.refs f JOIN cairn.snapshots s ON s.id = f.snapshot
           JOIN cairn.repositories r ON r.id = s.repository WHERE f.ref = 'main'""",
    )
    snapshots, commits, pools = ({row[0]: row[column] for row in rows} for column in (1, 2, 3))
    assert pools["harbour"] == pools["fork"], "a fork shares the rows"
    engine = StoredEngine(Store([town.store.server_url]))
    sees_all = town.store.reader("wes", everything=True)
    yield Exchange(town.served, town.store.url, engine, town.ada, sees_all, snapshots, commits)
    engine.stop()


def test_hidden_snapshots_are_refused_as_those_that_do_not_exist(exchange: Exchange) -> None:
    body = dumps(["between", ["README.md", 0, 99]])
    for repository in ("fork", "lighthouse"):
        number = exchange.snapshots[repository]
        assert exchange.post(f"read/{number}", body, exchange.bob).status == 200
        for token, snapshot in ((exchange.ada, number), (exchange.bob, 999_999)):
            answers = [
                exchange.post(f"read/{snapshot}", body, token),
                exchange.served.ask(f"/team/v1/catalogue/{snapshot}", token=token),
            ]
            for answer in answers:
                assert answer.status == 404
                assert answer.json["error"]["message"] == "There is no such snapshot that you may see."


@pytest.mark.parametrize(
    "number",
    ["0", "-1", "1.5", "a", "%00", "\uff11", "9" * 18, "9" * 19, "9" * 5_000, "1%2F2", "1;1", "1 OR 1"],
)
def test_unknown_and_invalid_snapshots_are_not_found(exchange: Exchange, number: str) -> None:
    path = "".join(f"%{byte:02X}" if byte > 126 or byte == 32 else chr(byte) for byte in number.encode())
    for answer in (
        exchange.post(f"read/{path}", dumps(["between", ["README.md", 0, 99]])),
        exchange.served.ask(f"/team/v1/catalogue/{path}", token=exchange.ada),
    ):
        assert answer.status == 404


def test_locate_finds_only_visible_snapshots(exchange: Exchange) -> None:
    def located(token: str, *commits: str) -> Any:
        return exchange.post("locate", json.dumps({"commits": commits}).encode(), token).json

    fork, first, other = (exchange.commits[name] for name in ("fork", "harbour", "lighthouse"))
    assert located(exchange.bob, fork, first)["repository"] == "fork"
    found = located(exchange.ada, fork, first)
    assert (found["repository"], found["commit"], found["behind"]) == ("harbour", first, 1)
    assert located(exchange.ada, other) is None
    assert located(exchange.ada, "0" * 40) is None
    assert located(exchange.ada) is None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"7", b'{"commits": 7}', b'{"commits": [7]}', b'{"commits": ["HEAD"]}',
        b'{"commits": [null]}', b'{"commits": ["%s"]}' % (b"g" * 40), b'{"commits": ["%s"]}' % (b"A" * 40),
        b'{"commits": {"a": 1}}', b'{"a": NaN}', b"\xff", b'{"commits": [], "commits": []}', b"[" * 5_000,
    ],
)  # fmt: skip
def test_wrong_commits_are_refused(exchange: Exchange, body: bytes) -> None:
    answer = exchange.post("locate", body)
    assert answer.status == 400, answer
    assert answer.json["error"]["code"] in ("invalidParams", "invalidJson")


def test_locate_looks_up_a_limited_number_of_commits(exchange: Exchange) -> None:
    commits = [f"{number:040x}" for number in range(3_000)]
    answer = exchange.post(
        "locate", json.dumps({"commits": [*commits, exchange.commits["harbour"]]}).encode()
    )
    assert (answer.status, answer.json) == (200, None)
    assert exchange.post("locate", b" " * 16_000_001).status == 413


_WRONG = [
    b"", b"{", b"[]", b"null", b'["page"]', b'["page", "README.md"]', b'[["page"], []]',
    b'[{"tuple": []}, []]', b"\xff", b"[" * 50_000, b'["nothing", []]', b'["select", ["SELECT 1"]]',
    b'["_rows", ["SELECT 1"]]', b'["__class__", []]', b'["texts", [[1]]]', b'["close", []]', b'["page", []]',
    b'["page", ["README.md", 1]]', b'["chunks", [["a"]]]', b'["chunks", [[{"Hit": [1, 2]}]]]',
    b'["chunks", [7]]', b'["keywords", [["a"], 1, 9, 7]]', b'["between", ["README.md", "a", {}]]',
    b'["containing", ["a", 9, {"ChunkFilter": []}, 1, []]]',
    b'["nearest_static", ["a", 9, {"ChunkFilter": []}]]',
    b'["nearest_static", [{"array": ["int8", [3], "AAAA"]}, 9, {"ChunkFilter": []}]]',
    b'["nearest_static", [{"array": ["float64", [1], "AAAAAAAA8D8="]}, 9, {"ChunkFilter": []}]]',
    b'["nearest_static", [{"array": ["int8", [1], "fw=="]}, 9, {"ChunkFilter": []}]]',
    b'["static_similarities", [[1], {"array": ["int8", [3], "AAAA"]}]]',
    b'["static_similarities", [[1], {"array": ["int8", [1], "fw=="]}]]',
    b'["static_similarities", [[1], {"array": ["float64", [1], "AAAAAAAA8D8="]}]]',
    b'["static_similarities", [[1], {"array": ["float64", [256], "%s"]}]]' % (b"A" * 2_728 + b"AAA="),
]  # fmt: skip


@pytest.mark.parametrize("body", _WRONG)
def test_wrong_reads_are_refused(exchange: Exchange, body: bytes) -> None:
    answer = exchange.post(f"read/{exchange.snapshots['harbour']}", body)
    assert answer.status == 400, answer
    assert answer.json["error"]["code"] == "invalidParams"


_TEXTS = ["\0", "README.md", "ship", '"', "*", "(", "%", "\ud800", "a" * 5_000]
_ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), text, st.binary(max_size=8), filters, records,
    array("int8"), array("float64"),
    st.sampled_from([*_TEXTS, 2**31, 2**63, -1, 10**30, 1e308, np.ones(256, np.int8)]),
)  # fmt: skip
_ODD_ARGUMENT = st.one_of(
    _ODD,
    st.lists(_ODD, max_size=4),
    st.lists(st.tuples(_ODD, _ODD), max_size=3),
    st.dictionaries(st.one_of(text, st.integers()), _ODD, max_size=3),
)


@given(st.sampled_from(sorted(ANSWERS)), st.lists(_ODD_ARGUMENT, max_size=5))
@settings(max_examples=100)
def test_odd_arguments_are_answered_or_refused_and_nothing_else(
    exchange: Exchange, name: str, given: list[Any]
) -> None:
    try:
        answer = exchange.engine.read("ada", exchange.snapshots["harbour"], dumps([name, given]))
    except WireError:
        return
    assert answer is not None
    assert b"seven steps north" not in answer
    assert b"kindle_lamp" not in answer


def test_huge_limits_do_not_enlarge_answers(exchange: Exchange) -> None:
    for limit in (10**6, 2**31, 2**63, 10**30):
        for name, arguments in (
            ("keywords", [["ship"], ColumnWeights(), limit, ChunkFilter()]),
            ("nearest_static", [np.ones(256, np.int8), limit, ChunkFilter()]),
            ("definitions", [["moor_ship"], limit, limit]),
            ("between", ["README.md", -limit, limit]),
            ("leading_chunks", [["README.md"], limit, ChunkFilter()]),
            ("containing", [Literal("ship"), limit, ChunkFilter(), float(limit), []]),
        ):
            answer = exchange.post(f"read/{exchange.snapshots['harbour']}", dumps([name, arguments]))
            assert answer.status in (200, 400), (name, limit, answer)
            assert len(answer.body) < 20_000
