"""`cairn/references`: which definitions are meant, what refers to them level by level, and what is shown of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask

from cairn import protocol
from cairn.engine.completeness import index_state
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.protocol.references import FoundReference, ReferencesAnswer
from cairn.settings.tree import EmbeddingSettings

PORT = '''"""The port as a whole."""

from harbour.berths import Berth
from harbour.schedule import assign_berths


class DeepBerth(Berth):
    """A berth for ships that lie deep."""

    def moor_ship(self, ship):
        super().moor_ship(ship)


def open_port(ships, berths):
    assign_berths(ships, berths)
    return close_port(ships)


def close_port(ships):
    if ships:
        return close_port(ships[1:])
    return open_port([], [DeepBerth(9.5)])
'''
SCHEDULE = "src/harbour/schedule.py"
ASSIGN = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 17}}


def opened(*folders: Path) -> Engine:
    engine = Engine({"index": {"watch": False}}, host=Host(EmbeddingSettings()))
    for folder in folders:
        engine.add_folder(folder)
    deadline = time.monotonic() + 120
    while index_state(engine.folders).remaining:
        assert time.monotonic() < deadline, status_of(engine)
        time.sleep(0.02)
    return engine


@pytest.fixture
def engine(workspace: Path, bare_data_dir: Path) -> Iterator[Engine]:
    """Over the harbour with a port, indexed."""
    (workspace / "src/harbour/port.py").write_text(PORT, encoding="utf-8")
    engine = opened(workspace)
    yield engine
    engine.stop()


def asked(engine: Engine, symbol: str | None = None, **params: Any) -> ReferencesAnswer:
    answer = ask(engine, "references", {**({} if symbol is None else {"symbol": symbol}), **params})
    assert isinstance(answer, ReferencesAnswer)
    return answer


def named(reference: FoundReference) -> str:
    """The part of its line that its range is about."""
    start, end = reference.range.start, reference.range.end
    assert start.line == end.line
    return reference.line[start.character : end.character]


def test_callers_have_their_line_and_the_function_around_it(engine: Engine, workspace: Path) -> None:
    answer = asked(engine, "assign_berths")
    (definition,) = answer.definitions
    assert (definition.path, definition.symbol, definition.kind) == (SCHEDULE, "assign_berths", "function")
    assert definition.uri == (workspace / SCHEDULE).as_uri()
    assert definition.line == "def assign_berths(ships, berths: list[Berth]):"
    assert definition.range == protocol.whole_lines(5, 12)
    (call,) = answer.references
    assert (call.path, call.line, named(call)) == (
        "src/harbour/port.py",
        "    assign_berths(ships, berths)",
        "assign_berths",
    )
    assert call.enclosing is not None
    assert (call.enclosing.symbol, call.enclosing.kind) == ("open_port", "function")
    assert (call.symbol, call.kind, call.depth, call.parent) == ("assign_berths", "call", 1, None)
    assert call.folder == workspace.as_uri()
    assert call.via
    assert 0.5 <= call.confidence <= 1
    assert answer.complete
    assert answer.message == ""


@pytest.mark.parametrize(
    "symbol",
    [
        "assign_berths",
        " assign_berths ",
        f"{SCHEDULE}:6",
        f"{SCHEDULE}:9",
        f"./{SCHEDULE}#L9",
        f"{SCHEDULE}:6:7",
        "src/harbour/port.py:15:6",
    ],
)
def test_a_definition_is_named_or_found_by_a_place(engine: Engine, symbol: str) -> None:
    answer = asked(engine, symbol, limit=0)
    assert [place.selection_range for place in answer.definitions] == [
        protocol.Range(protocol.Position(5, 4), protocol.Position(5, 17))
    ]
    assert answer.symbol == "assign_berths"
    assert answer.references == ()


def test_a_place_may_be_an_absolute_path_or_a_position_in_a_document(engine: Engine, workspace: Path) -> None:
    schedule = workspace / SCHEDULE
    by_path = asked(engine, f"{schedule}:9")
    position = {"line": 5, "character": 8}
    by_position = asked(engine, textDocument={"uri": schedule.as_uri()}, position=position)
    assert by_path.definitions == by_position.definitions
    assert by_path.references == by_position.references
    nowhere = asked(engine, textDocument={"uri": schedule.as_uri()}, position={"line": 1, "character": 0})
    assert (nowhere.definitions, nowhere.symbol) == ((), "")
    assert "No name" in nowhere.message


def test_an_owner_tells_methods_of_one_name_apart(engine: Engine) -> None:
    assert {place.symbol for place in asked(engine, "moor_ship").definitions} == {
        "Berth.moor_ship",
        "DeepBerth.moor_ship",
    }
    (only,) = asked(engine, "DeepBerth.moor_ship").definitions
    assert only.path == "src/harbour/port.py"


def test_depth_follows_each_function_once_and_ends(engine: Engine) -> None:
    answer = asked(engine, "assign_berths", depth=5)
    found = [
        (each.enclosing.symbol, each.symbol, each.depth, each.parent)
        for each in answer.references
        if each.enclosing
    ]
    assert found[0] == ("open_port", "assign_berths", 1, None)
    # `close_port` calls both `open_port` and itself, and `open_port` calls it.
    assert found[1] == ("close_port", "open_port", 2, 0)
    assert sorted(found[2:]) == [("close_port", "close_port", 3, 1), ("open_port", "close_port", 3, 1)]
    assert len(found) == len(answer.references)
    assert asked(engine, "assign_berths", depth=1).references == answer.references[:1]


def test_a_limit_leaves_out_the_farthest_and_says_so(engine: Engine) -> None:
    every = asked(engine, "assign_berths", depth=5)
    assert every.complete
    two = asked(engine, "assign_berths", depth=5, limit=2)
    assert (two.references, two.complete) == (every.references[:2], False)
    exact = asked(engine, "assign_berths", depth=5, limit=len(every.references))
    assert (exact.references, exact.complete) == (every.references, True)


def test_callees_come_in_the_order_of_the_code_with_what_they_lead_to(engine: Engine) -> None:
    answer = asked(engine, "open_port", direction="callees", depth=2)
    first = [each for each in answer.references if each.depth == 1]
    assert [named(each) for each in first] == ["assign_berths", "close_port"]
    assert [each.target.path for each in first if each.target] == [SCHEDULE, "src/harbour/port.py"]
    assert all(each.enclosing and each.enclosing.symbol == "open_port" for each in first)
    of_assign = [each for each in answer.references if each.parent == 0]
    assert [named(each) for each in of_assign] == ["sorted", "sorted", "moor_ship"]
    assert [each.target and each.target.symbol for each in of_assign][:2] == [None, None]
    assert of_assign[0].symbol == "sorted"


def test_implementations_and_tests_are_found(engine: Engine) -> None:
    (deep,) = asked(engine, "Berth", direction="implementations").references
    assert (deep.kind, named(deep)) == ("inherit", "DeepBerth")
    assert deep.enclosing is not None
    assert deep.enclosing.symbol == "DeepBerth"
    tests = asked(engine, "Berth", direction="tests").references
    assert {each.path for each in tests} == {"tests/test_berths.py"}


def test_unsaved_text_counts(engine: Engine, workspace: Path) -> None:
    port = workspace / "src/harbour/port.py"
    engine.document_opened(port)
    engine.document_changed(port, PORT.replace("close_port", "shut_port") + "\n\nshut_port([])  # \u2013\n")
    callers = asked(engine, "shut_port").references
    assert "shut_port([])  # \u2013" in [each.line for each in callers]
    assert [each.enclosing for each in callers if each.line.startswith("shut_port")] == [None]
    assert asked(engine, "close_port").definitions == ()


def test_all_folders_are_looked_in(workspace: Path, tmp_path: Path, bare_data_dir: Path) -> None:
    other = tmp_path / "pier"
    other.mkdir()
    (other / "pier.py").write_text("def assign_berths():\n    pass\n\n\ndef start():\n    assign_berths()\n")
    engine = opened(workspace, other)
    try:
        answer = asked(engine, "assign_berths")
        assert {place.folder for place in answer.definitions} == {workspace.as_uri(), other.as_uri()}
        assert [each.folder for each in answer.references] == [other.as_uri()]
        (place,) = asked(engine, "pier.py:6").definitions
        assert place.uri == (other / "pier.py").as_uri()
    finally:
        engine.stop()


@pytest.mark.parametrize(
    ("symbol", "near"), [("asign_berths", "assign_berths"), ("openport", "open_port"), ("zzzqqq", "")]
)
def test_an_unknown_name_gets_those_that_are_near(engine: Engine, symbol: str, near: str) -> None:
    answer = asked(engine, symbol)
    assert (answer.definitions, answer.references, answer.symbol) == ((), (), symbol)
    assert answer.message.startswith(f"Nothing is called {symbol}.")
    assert ("Did you mean" in answer.message) == bool(near)
    assert near in answer.message


def test_a_line_outside_of_every_definition_says_so(engine: Engine) -> None:
    answer = asked(engine, "src/harbour/port.py:1")
    assert answer.definitions == ()
    assert answer.message == "No function or type stands at src/harbour/port.py:1 or around it."


PLACE = {"textDocument": {"uri": "file:///x.py"}, "position": {"line": 0, "character": 0}}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "symbol"),
        ({"symbol": "  "}, "symbol"),
        ({"symbol": "x", **PLACE}, "symbol"),
        ({"textDocument": PLACE["textDocument"]}, "position"),
        ({"position": PLACE["position"]}, "textDocument"),
        ({**PLACE, "position": {"line": -1, "character": 0}}, "position"),
        (PLACE, "textDocument.uri"),
        ({"symbol": "no/such.py:3"}, "symbol"),
        ({"symbol": "../outside.py:3"}, "symbol"),
        ({"symbol": f"{SCHEDULE}:0"}, "symbol"),
        ({"symbol": f"{SCHEDULE}:9999"}, "symbol"),
        ({"symbol": "x", "depth": 0}, "depth"),
        ({"symbol": "x", "depth": 6}, "depth"),
        ({"symbol": "x", "limit": 1_001}, "limit"),
        ({"symbol": "x", "direction": "sideways"}, "direction"),
    ],
)
def test_bad_params_are_refused_by_name(engine: Engine, params: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ask(engine, "references", params)
    assert refused.value.field == field


def test_a_cancelled_request_is_broken_off(engine: Engine) -> None:
    with pytest.raises(QueryCancelledError):
        ask(engine, "references", {"symbol": "assign_berths", "depth": 5}, cancelled=lambda: True)
