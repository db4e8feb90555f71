"""`cairn/references` finds definitions by name or place, and their references level by level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import indexed

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.protocol.relation_messages import FoundReference, ReferencesAnswer

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
SCHEDULE, PORT_PATH = "src/harbour/schedule.py", "src/harbour/port.py"


@pytest.fixture(scope="module")
def engine(harbour: Path) -> Iterator[Engine]:
    """The harbour with a port, indexed."""
    (harbour / PORT_PATH).write_text(PORT, encoding="utf-8")
    with indexed(harbour) as engine:
        yield engine


def references(engine: Engine, symbol: str | None = None, **params: Any) -> ReferencesAnswer:
    answer = ask(engine, "references", {**({} if symbol is None else {"symbol": symbol}), **params})
    assert isinstance(answer, ReferencesAnswer)
    return answer


def name_of(reference: FoundReference) -> str:
    """Return the part of the line that the range covers."""
    start, end = reference.range.start, reference.range.end
    assert start.line == end.line
    return reference.line[start.character : end.character]


def test_callers_have_their_line_and_enclosing_function(engine: Engine, harbour: Path) -> None:
    answer = references(engine, "assign_berths")
    (definition,) = answer.definitions
    assert (definition.path, definition.symbol, definition.kind) == (SCHEDULE, "assign_berths", "function")
    assert definition.uri == (harbour / SCHEDULE).as_uri()
    assert definition.line == "def assign_berths(ships, berths: list[Berth]):"
    assert definition.range == protocol.whole_lines(5, 12)
    (call,) = answer.references
    assert (call.path, call.line, name_of(call)) == (
        PORT_PATH, "    assign_berths(ships, berths)", "assign_berths",
    )  # fmt: skip
    assert call.enclosing is not None
    assert (call.enclosing.symbol, call.enclosing.kind) == ("open_port", "function")
    assert (call.symbol, call.kind, call.depth, call.parent) == ("assign_berths", "call", 1, None)
    assert call.folder == harbour.as_uri()
    assert call.via
    assert 0.5 <= call.confidence <= 1
    assert (answer.complete, answer.message) == (True, "")


@pytest.mark.parametrize(
    "symbol",
    [
        "assign_berths", " assign_berths ", f"{SCHEDULE}:6", f"{SCHEDULE}:9", f"./{SCHEDULE}#L9",
        f"{SCHEDULE}:6:7", f"{PORT_PATH}:15:6", f"{SCHEDULE}:assign_berths", "schedule.py:assign_berths",
    ],
)  # fmt: skip
def test_a_definition_is_found_by_name_or_place(engine: Engine, symbol: str) -> None:
    answer = references(engine, symbol, limit=0)
    assert [place.selection_range for place in answer.definitions] == [
        protocol.Range(protocol.Position(5, 4), protocol.Position(5, 17))
    ]
    assert answer.symbol == "assign_berths"
    assert answer.references == ()


def test_a_place_may_be_an_absolute_path_or_a_position(engine: Engine, harbour: Path) -> None:
    document = {"uri": (harbour / SCHEDULE).as_uri()}
    by_path = references(engine, f"{harbour / SCHEDULE}:9")
    by_position = references(engine, textDocument=document, position={"line": 5, "character": 8})
    assert by_path.definitions == by_position.definitions
    assert by_path.references == by_position.references
    nowhere = references(engine, textDocument=document, position={"line": 1, "character": 0})
    assert (nowhere.definitions, nowhere.symbol) == ((), "")
    assert "No name" in nowhere.message


def test_an_owner_distinguishes_methods_of_one_name(engine: Engine) -> None:
    assert {place.symbol for place in references(engine, "moor_ship").definitions} == {
        "Berth.moor_ship",
        "DeepBerth.moor_ship",
    }
    for symbol in ("DeepBerth.moor_ship", f"{PORT_PATH}:moor_ship", f"{PORT_PATH}:DeepBerth::moor_ship"):
        (only,) = references(engine, symbol).definitions
        assert only.path == PORT_PATH


def test_depth_follows_each_function_once(engine: Engine) -> None:
    answer = references(engine, "assign_berths", depth=5)
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
    assert references(engine, "assign_berths", depth=1).references == answer.references[:1]


def test_a_limit_drops_the_farthest_and_says_so(engine: Engine) -> None:
    every = references(engine, "assign_berths", depth=5)
    assert every.complete
    two = references(engine, "assign_berths", depth=5, limit=2)
    assert (two.references, two.complete) == (every.references[:2], False)
    exact = references(engine, "assign_berths", depth=5, limit=len(every.references))
    assert (exact.references, exact.complete) == (every.references, True)


def test_callees_are_in_the_order_of_the_code(engine: Engine) -> None:
    answer = references(engine, "open_port", direction="callees", depth=2)
    first = [each for each in answer.references if each.depth == 1]
    assert [name_of(each) for each in first] == ["assign_berths", "close_port"]
    assert [each.target.path for each in first if each.target] == [SCHEDULE, PORT_PATH]
    assert all(each.enclosing and each.enclosing.symbol == "open_port" for each in first)
    of_assign = [each for each in answer.references if each.parent == 0]
    assert [name_of(each) for each in of_assign] == ["sorted", "sorted", "moor_ship"]
    assert [each.target and each.target.symbol for each in of_assign][:2] == [None, None]
    assert of_assign[0].symbol == "sorted"


def test_implementations_and_tests_are_found(engine: Engine) -> None:
    (deep,) = references(engine, "Berth", direction="implementations").references
    assert (deep.kind, name_of(deep)) == ("inherit", "DeepBerth")
    assert deep.enclosing is not None
    assert deep.enclosing.symbol == "DeepBerth"
    tests = references(engine, "Berth", direction="tests").references
    assert {each.path for each in tests} == {"tests/test_berths.py"}


def test_references_are_limited_to_tests_or_to_other_code(engine: Engine) -> None:
    paths = {each.path for each in references(engine, "Berth.moor_ship").references}
    of_tests = {each.path for each in references(engine, "Berth.moor_ship", tests=True).references}
    others = {each.path for each in references(engine, "Berth.moor_ship", tests=False).references}
    assert of_tests == {path for path in paths if path.startswith("tests/")}
    assert others == paths - of_tests
    assert of_tests
    assert others


def test_a_function_that_nothing_names_is_called_unused_or_public(tmp_path: Path) -> None:
    text = "def _moor():\n    pass\n\n\ndef land():\n    pass\n"
    (tmp_path / "ferry.py").write_text(text, encoding="utf-8")
    with indexed(tmp_path) as engine:
        kinds = {
            name: [each.kind.value for each in references(engine, name).notes] for name in ("_moor", "land")
        }
    assert kinds == {"_moor": ["unused"], "land": ["public"]}


def test_lines_that_are_not_resolved_are_counted(tmp_path: Path) -> None:
    (tmp_path / "ferry.py").write_text("class Ferry:\n    def get(self):\n        pass\n", encoding="utf-8")
    use = "def run(ferries):\n    for each in ferries:\n        each.boat.get()\n        print('get')\n"
    (tmp_path / "use.py").write_text(use, encoding="utf-8")
    with indexed(tmp_path) as engine:
        first = references(engine, "Ferry.get").notes[0]
    assert first.kind.value == "unresolved"
    assert first.text.startswith("1 further line contains the name, unresolved")
    assert (first.path, first.range and first.range.start.line) == ("use.py", 3)


def test_a_base_outside_of_the_folder_may_call_a_method(tmp_path: Path) -> None:
    text = "from elsewhere import Form\n\n\nclass Ferry(Form):\n    def rules(self):\n        return []\n"
    (tmp_path / "ferry.py").write_text(text, encoding="utf-8")
    (tmp_path / "words.py").write_text("# the rules\nWORDS = {'rules': 'Regeln'}\n", encoding="utf-8")
    with indexed(tmp_path) as engine:
        notes = references(engine, "rules").notes
    assert [each.kind.value for each in notes] == ["unresolved", "inherited"]
    assert notes[0].text.startswith("2 further lines contain the name, in comments, texts or documents")
    assert notes[1].text == "`Ferry` extends `Form`, which is not defined here and may call it"


def test_a_constant_has_its_uses_as_callers(tmp_path: Path) -> None:
    text = "MOST = 4\n\n\ndef full(count):\n    return count >= MOST\n"
    (tmp_path / "limits.py").write_text(text, encoding="utf-8")
    with indexed(tmp_path) as engine:
        found = references(engine, "MOST").references
    assert [(each.range.start.line, each.kind) for each in found] == [(4, "read")]


def test_unsaved_text_counts(engine: Engine, harbour: Path) -> None:
    port = harbour / PORT_PATH
    engine.document_opened(port)
    engine.document_changed(port, PORT.replace("close_port", "shut_port") + "\n\nshut_port([])  # \u2013\n")
    callers = references(engine, "shut_port").references
    assert "shut_port([])  # \u2013" in [each.line for each in callers]
    assert [each.enclosing for each in callers if each.line.startswith("shut_port")] == [None]
    assert references(engine, "close_port").definitions == ()
    engine.document_closed(port)


def test_a_place_may_be_in_an_unsaved_new_file(engine: Engine, harbour: Path) -> None:
    new = harbour / "schedule.py"  # The path of an indexed file ends with this name.
    engine.document_opened(new)
    engine.document_changed(new, "def plan_tides():\n    pass\n")
    for path in ("schedule.py", str(new)):
        (definition,) = references(engine, f"{path}:2").definitions
        assert (definition.path, definition.symbol) == ("schedule.py", "plan_tides")
    engine.document_closed(new)


def test_all_folders_are_searched(engine: Engine, harbour: Path, module_folder: Path) -> None:
    other = module_folder / "pier"
    other.mkdir()
    (other / "pier.py").write_text("def assign_berths():\n    pass\n\n\ndef start():\n    assign_berths()\n")
    with indexed(harbour, other) as both:
        answer = references(both, "assign_berths")
        assert {place.folder for place in answer.definitions} == {harbour.as_uri(), other.as_uri()}
        assert {(each.folder, each.path) for each in answer.references} == {
            (harbour.as_uri(), PORT_PATH), (other.as_uri(), "pier.py"),
        }  # fmt: skip
        (place,) = references(both, "pier.py:6").definitions
        assert place.uri == (other / "pier.py").as_uri()


@pytest.mark.parametrize(
    ("symbol", "near"),
    [("asign_berths", "assign_berths"), ("openport", "open_port"), ("zzzqqq", ""), ("ts", ""), ("moore", "")],
)
def test_an_unknown_name_gets_similar_ones(engine: Engine, symbol: str, near: str) -> None:
    answer = references(engine, symbol)
    assert (answer.definitions, answer.references, answer.symbol) == ((), (), symbol)
    assert answer.message.startswith(f"Nothing is called {symbol}.")
    assert ("Did you mean" in answer.message) == bool(near)
    assert near in answer.message


@pytest.mark.parametrize("symbol", ["hoist", "crane.hoist"])
def test_a_name_of_a_language_without_references_is_not_called_unknown(tmp_path: Path, symbol: str) -> None:
    (tmp_path / "crane.lua").write_text(
        "local crane = {}\n\nfunction crane.hoist(load)\n  return load\nend\n"
    )
    with indexed(tmp_path) as engine:
        message = references(engine, symbol).message
    assert message.startswith("hoist is defined at crane.lua:3, but uses of names are not read")


def test_a_line_outside_every_definition_says_so(engine: Engine) -> None:
    answer = references(engine, f"{PORT_PATH}:1")
    assert answer.definitions == ()
    assert answer.message == f"No function or type stands at {PORT_PATH}:1 or around it."


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
def test_bad_params_are_refused_with_their_field(engine: Engine, params: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ask(engine, "references", params)
    assert refused.value.field == field


def test_a_cancelled_request_ends(engine: Engine) -> None:
    with pytest.raises(QueryCancelledError):
        ask(engine, "references", {"symbol": "assign_berths", "depth": 5}, cancelled=lambda: True)
