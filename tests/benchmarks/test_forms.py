"""Terminals and pipes show the same facts of an answer, and the comparison notices where they do not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from forms import compact_references, differences, terminal_references

from cairn.cli.output import display
from cairn.engine.engine import Engine
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files

PORT = '''"""The port: calls of many functions in turn, overrides, imports, and tests in one file."""

from harbour.berths import Berth
from harbour.schedule import assign_berths


class DeepBerth(Berth):
    """A berth for ships that lie deep."""

    def moor_ship(self, ship):
        super().moor_ship(ship)
        return log(ship) or log(self)


def log(ship):
    print(ship); print(ship); return ship


def open_port(ships, berths):
    log(ships)
    assign_berths(ships, berths)
    log(berths)
    print(now(), sorted(ships))
    assign_berths(ships, berths)
    log(now())
    close_port(ships)
    for ship in ships:
        log(ship)
        log(ship.name); log(ship.length)
    return unknown(ships).moor_ship(ships)


def now():
    return log(0)


def close_port(ships):
    table = {"at night": lambda: [log(ship) for ship in ships]}
    log(ships)
    return close_port(ships[1:]) if ships else open_port([], [DeepBerth(9.5)])


LOGGED = [log(1), log(2)]
'''
TESTS = "from harbour.port import log, now\n\n\n" + "".join(
    f"def test_log_{n}():\n    assert log({n})\n\n\n" for n in range(9)
)
COMMANDS = ("callers", "callees", "uses", "implementations", "tests")
NAMES = (
    "log",
    "open_port",
    "close_port",
    "moor_ship",
    "Berth",
    "DeepBerth.moor_ship",
    "now",
    "assign_berths",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"src/harbour/port.py": PORT, "tests/test_port.py": TESTS}
    return write_files(tmp_path_factory.mktemp("forms") / "harbour", {**HARBOUR, **files})


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(folder.parent / "data")))
        patch.setattr(display, "color", "never")
        engine = Engine({"index": {"watch": False}, "search": {"legDeadlineMs": 60_000}})
        engine.add_folder(folder)
        waiting = threading.Event()
        while not engine.progress().complete:
            waiting.wait(0.02)
        yield engine
        engine.stop()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", [(), ("--depth", "3", "--max-tokens", "150")])
def test_references_are_the_same_in_both_forms(
    engine: Engine, folder: Path, command: str, options: tuple[str, ...]
) -> None:
    count = 0
    for name in NAMES:
        found, facts = differences(engine, folder, command, name, *options)
        count += len(facts.facts)
        assert not found, found
    assert count >= {"implementations": 2}.get(command, 10)


@pytest.mark.parametrize("question", ["where are ships assigned to berths", "log", '"berth is taken"'])
@pytest.mark.parametrize("command", ["search", "discover"])
def test_results_are_the_same_in_both_forms(
    engine: Engine, folder: Path, command: str, question: str
) -> None:
    found, facts = differences(engine, folder, command, question)
    assert not found, found
    assert facts.facts
    assert facts.lines or command == "discover"


COMPACT = """src/a.py:1-9  a (function)  def a():
- src/a.py:2 → src/b.py:4-6  b (function): b()  (40% sure: the only member of that name)
  also at 3, 5
also calls, not defined here: print (src/a.py:4, 6), len (src/c d.py:1)"""
TERMINAL = """src/a.py:1  a  function
    1  def a():

    src/b.py:4  b  0.40 the only member of that name
        2  b()
        3  b()
        5  b()
    print  not in the workspace
        4  print()
        6  print()
    len  called in src/c d.py, not in the workspace
        1  len()"""


def test_facts_are_read_from_both_texts() -> None:
    compact = compact_references(COMPACT, "callees").facts
    assert compact == terminal_references(TERMINAL, "callees").facts
    assert ("src/a.py", 5, "src/b.py", "b", "", "", 40) in compact
    assert ("src/c d.py", 1, "", "len", "", "", None) in compact
    assert len(compact) == 6
    folded = compact_references(COMPACT.replace("3, 5", "3, 5, 7"), "callees").facts
    assert folded - compact == {("src/a.py", 7, "src/b.py", "b", "", "", 40)}
