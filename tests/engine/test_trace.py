"""A trace shows what runs from a definition on, in order, and the ways from one definition to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import indexed
from tests.harbour import write_files

from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.protocol.relation_messages import FoundReference, ReferencesAnswer

FILES = {
    "port/day.py": '''from port.ships import Ferry, Ship, Tanker
from port.cranes import unload, weigh
from port.log import logger
from port.rules import RULES


def run_day(ships, is_open):
    logger.info("the day begins")
    if not is_open:
        raise PortClosedError()
    for ship in ships:
        weigh(ship)
        admit(ship)
    at_night(close)


class PortClosedError(Exception):
    pass


def at_night(work):
    return work()


def admit(ship):
    """Admit a ship."""
    try:
        ship.is_known or weigh(ship)
    except KeyError:
        apply_rules(ship)
    if isinstance(ship, Ferry):
        ship.leave_port()
    elif isinstance(ship, Tanker):
        ship.leave_port()


def apply_rules(ship):
    for rule in RULES.values():
        rule(ship)


def close():
    sweep() if open else sweep(), sweep()
    run_day([], True)
    sweep()


def open_shift(crew):
    def work():
        admit(crew)

    def rest():
        admit(crew)

    return work


FIRST = {"other": lambda: SECOND, "work": sweep}
SECOND = {"other": FIRST, "work": FIRST}


def run_shifts():
    SECOND["work"]()
    FIRST["work"]()


def sweep():
    """Sweep the quay."""
    first = 1
    second = 2
    return first + second
''',
    "port/cranes.py": '''def weigh(
    ship,
    unit="t",  # tons
) -> float:
    """Weigh a ship."""
    total = sum(each.mass for each in ship.loads)
    total += ship.mass
    return unload(total, unit)


def unload(load, unit):
    """Unload a ship."""
    result = load, unit
    result = result[0]
    return result
''',
    "port/ships.py": '''class Ship:
    def leave_port(self):
        raise NotImplementedError


class Ferry(Ship):
    def leave_port(self):
        return self.open_doors()

    def open_doors(self):
        """Open the doors."""
        doors = 2
        return doors + doors


class Tanker(Ship):
    def leave_port(self):
        return self.seal()

    def seal(self):
        """Seal the tanks."""
        tanks = 4
        return tanks + tanks


def sail(ship: Ship):
    ship.leave_port()
''',
    "port/log.py": '''class Logger:
    def info(self, text):
        """Write a line."""
        line = text
        line = line.strip()
        print(line)


logger = Logger()
''',
    "port/rules.py": '''def needs_pilot(ship):
    """Say whether the ship needs a pilot."""
    return find_pilot(ship)


def find_pilot(ship):
    """Find a pilot."""
    pilots = [ship]
    pilots.sort()
    return pilots


RULES = {"pilot": needs_pilot}
''',
    "tests/test_day.py": """from port.day import run_day
from tests.tools import make_ships


def test_day():
    run_day(make_ships(), True)
""",
    "tests/tools.py": '''def make_ships():
    """Make ships."""
    ships = []
    ships.append(1)
    return ships
''',
}


@pytest.fixture(scope="module")
def engine(module_folder: Path) -> Iterator[Engine]:
    with indexed(write_files(module_folder / "port", FILES)) as engine:
        yield engine


def trace(engine: Engine, symbol: str, to: str | None = None, **params: Any) -> ReferencesAnswer:
    asked = {"symbol": symbol, "direction": "trace", **({} if to is None else {"to": to}), **params}
    answer = ask(engine, "references", asked)
    assert isinstance(answer, ReferencesAnswer)
    return answer


def tree(answer: ReferencesAnswer) -> list[str]:
    """Return a line for each call: `  12 if open → name`, indented by its level."""
    return [_line(each) for each in answer.references]


def _line(each: FoundReference) -> str:
    assert each.target is not None
    branches = "".join(f" {branch}" for branch in each.within)
    mark = {"read": "~", "inherit": "^"}.get(each.kind, "")
    place = f"{each.range.start.line + 1}{branches}"
    return f"{'  ' * (each.depth - 1)}{place} → {mark}{each.target.symbol}"


def test_calls_are_in_order_below_the_function_that_makes_them(engine: Engine) -> None:
    answer = trace(engine, "run_day")
    assert tree(answer) == [
        "10 if not is_open raise → PortClosedError",
        "12 for ship in ships → weigh",
        "  8 → unload",
        "13 for ship in ships → admit",
        "  28 try → weigh",
        "  30 except KeyError → apply_rules",
        "    38 → ~RULES",
        "      13 → ~needs_pilot",
        "        3 → find_pilot",
        "  32 if isinstance(ship, Ferry) → Ferry.leave_port",
        "    8 → Ferry.open_doors",
        "  34 else if isinstance(ship, Tanker) → Tanker.leave_port",
        "    18 → Tanker.seal",
        "14 → at_night",
        "14 → ~close",
        "  43 if open → sweep",
        "  43 else → sweep",
        "  43 → sweep",
        "  44 → run_day",
        "  45 → sweep",
    ]
    assert answer.complete
    parents = [each.parent for each in answer.references]
    assert parents[:6] == [None, None, 1, None, 3, 3]


def test_inner_functions_run_where_they_are_mentioned(engine: Engine) -> None:
    assert tree(trace(engine, "open_shift", "admit")) == ["53 → admit"]
    shift = trace(engine, "open_shift")
    assert [line for line in tree(shift) if line.endswith(("work", "admit"))] == [
        "53 → admit",
        "55 → ~open_shift.work",
        "  50 → admit",
    ]


def test_values_that_name_each_other_end(engine: Engine) -> None:
    assert tree(trace(engine, "run_shifts")) == ["64 → ~FIRST", "  58 → ~sweep"]


def test_heads_over_several_lines_are_joined(engine: Engine) -> None:
    (weigh, *_) = (each.target for each in trace(engine, "run_day").references if each.symbol == "weigh")
    assert weigh is not None
    assert weigh.line == 'def weigh( ship, unit="t", ) -> float:'
    assert weigh.selection_range.start.line == 0


def test_a_low_limit_follows_the_functions_that_say_most(engine: Engine) -> None:
    answer = trace(engine, "run_day", limit=12)
    assert len(answer.references) <= 12
    assert not answer.complete
    assert [each.symbol for each in answer.references if each.depth == 1] == [
        "PortClosedError", "weigh", "admit", "at_night", "close",
    ]  # fmt: skip
    followed = {
        answer.references[each.parent].symbol for each in answer.references if each.parent is not None
    }
    assert "admit" in followed
    (close,) = (each for each in answer.references if each.symbol == "close")
    assert close.unfollowed == (0 if "close" in followed else 5)


def test_depth_limits_the_levels(engine: Engine) -> None:
    answer = trace(engine, "run_day", depth=1)
    assert {each.depth for each in answer.references} == {1}
    assert not answer.complete
    assert [each.unfollowed for each in answer.references] == [0, 1, 4, 0, 5]


def test_an_abstract_method_leads_to_its_overrides(engine: Engine) -> None:
    assert tree(trace(engine, "sail"))[:3] == [
        "27 → Ship.leave_port",
        "  7 → ^Ferry.leave_port",
        "    8 → Ferry.open_doors",
    ]


def test_tests_are_left_out_unless_the_trace_begins_there(engine: Engine) -> None:
    assert "  4 → make_ships" not in tree(trace(engine, "run_day"))
    assert tree(trace(engine, "test_day"))[:2] == [
        "6 → run_day",
        "  12 for ship in ships → weigh",
    ]
    assert "6 → make_ships" in tree(trace(engine, "test_day"))


def test_a_trace_with_an_end_shows_only_the_way_there(engine: Engine) -> None:
    answer = trace(engine, "run_day", "find_pilot")
    assert tree(answer) == [
        "13 for ship in ships → admit",
        "  30 except KeyError → apply_rules",
        "    38 → ~RULES",
        "      13 → ~needs_pilot",
        "        3 → find_pilot",
    ]
    assert [each.symbol for each in answer.to] == ["find_pilot"]
    assert (answer.message, answer.complete) == ("", True)
    by_line = trace(engine, "port/day.py:12", "port/rules.py:8")
    assert by_line.references == answer.references


def test_several_shortest_ways_are_counted(engine: Engine) -> None:
    answer = trace(engine, "admit", "leave_port")
    assert [each.symbol for each in answer.references] == ["Ferry.leave_port", "Tanker.leave_port"]
    assert answer.message == "2 ways of 1 call lead there; no way is shorter."


def test_a_missing_way_says_what_was_searched(engine: Engine) -> None:
    answer = trace(engine, "weigh", "find_pilot")
    assert answer.references == ()
    assert answer.message == (
        "No calls lead from weigh to find_pilot. All 1 definition that it reaches were searched."
        " Callers of find_pilot: needs_pilot."
    )
    near = trace(engine, "close", "sail").message
    assert "Callers of sail: none are known. In its file are reached: Ferry.leave_port" in near


def test_unknown_names_get_the_usual_errors(engine: Engine) -> None:
    assert "Did you mean run_day?" in trace(engine, "run_dya").message
    unknown = trace(engine, "run_day", "aply_rules")
    assert unknown.message.startswith("Nothing is called aply_rules. Did you mean apply_rules")
    assert (unknown.references, unknown.to) == ((), ())
    for params in ({"to": "port/day.py:999"}, {"to": "x", "direction": "callers"}):
        with pytest.raises(InvalidRequestError) as refused:
            trace(engine, "run_day", **params)
        assert refused.value.field == "to"


@pytest.mark.parametrize(("direction", "depth"), [("callers", 6), ("trace", 11)])
def test_the_depth_has_limits(engine: Engine, direction: str, depth: int) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        trace(engine, "run_day", direction=direction, depth=depth)
    assert refused.value.field == "depth"


def test_unsaved_text_is_traced(engine: Engine, module_folder: Path) -> None:
    path = module_folder / "port" / "port/day.py"
    engine.document_opened(path)
    engine.document_changed(path, "\n\n" + FILES["port/day.py"].replace("if not is_open:", "while is_open:"))
    assert tree(trace(engine, "run_day"))[0] == "12 while is_open raise → PortClosedError"
    engine.document_closed(path)


@pytest.mark.parametrize("to", [None, "find_pilot"])
def test_a_cancelled_trace_ends(engine: Engine, to: str | None) -> None:
    with pytest.raises(QueryCancelledError):
        ask(
            engine,
            "references",
            {"symbol": "run_day", "direction": "trace", "to": to},
            cancelled=lambda: True,
        )


GO = """package port

type rule interface{ Check(ship string) bool }

type pilotRule struct{}

func (p pilotRule) Check(ship string) bool {
	return find(ship)
}

func find(ship string) bool {
	a := ship
	b := a
	return a == b
}

func admit(rules []rule, ship string) {
	for _, r := range rules {
		go func() { r.Check(ship) }()
	}
}
"""


def test_types_that_satisfy_an_interface_of_go_are_followed(tmp_path: Path) -> None:
    with indexed(write_files(tmp_path, {"port.go": GO, "go.mod": "module port\n"})) as engine:
        assert tree(trace(engine, "admit")) == [
            "19 for _, r := range rules go → rule.Check",
            "  7 → ^pilotRule.Check",
            "    8 → find",
        ]
