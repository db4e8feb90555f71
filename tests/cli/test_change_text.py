"""The look of what a change touches on a terminal."""

from __future__ import annotations

import pytest
from attrs import evolve
from tests.change_answers import CHANGED, NOTHING

from cairn.cli.change_text import print_changes, print_prompt
from cairn.cli.output import display


def test_stale_places_come_before_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    print_changes(CHANGED)
    assert (
        capsys.readouterr().out
        == """\
1 file changed since 1a2b3c4d: 2 definitions (1 new signature, 1 changed).

Still use the old definition
  src/schedule.py
    15  berth.moor(ship)  assign: calls Berth.moor

Changed
  src/berths.py
    12-16  Berth.moor  its signature changed
        - def moor(self, ship):
        + def moor(self, ship, at):
    20-31  Berth.leave  its body changed

Depend on it
  src/schedule.py
    25  berth.leave()  clear: calls Berth.leave; 60% sure

Tests to run
  tests/test_berths.py
    4  test_moor  calls Berth.moor

  pytest tests/test_berths.py::test_moor
  cd web && npx vitest run berths.test.ts

Usually change with it, and did not
  docs/berths.md
    3  `moor` takes a ship.  names Berth.moor

No test reaches
  src/berths.py
    20  Berth.leave

The history is shallow.

A prompt for a reviewer, of 1,200 tokens: --prompt prints it.
"""
    )


def test_stale_places_have_a_warning_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "color", "always")
    print_changes(CHANGED)
    assert "\x1b[1;33mStill use the old definition\x1b[0m" in capsys.readouterr().out


def test_a_sentence_says_that_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    print_changes(NOTHING)
    assert capsys.readouterr().out == "Nothing changed since 1a2b3c4d.\n"


def test_prompt_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_prompt(CHANGED)
    print_prompt(NOTHING)
    printed = capsys.readouterr()
    assert printed.out == "# Review\n"
    assert printed.err == "cairn: Nothing changed since 1a2b3c4d.\n"


def test_counts_include_what_the_limit_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_changes(evolve(CHANGED, left_out={"changed": 60, "unreached": 3}))
    shown = capsys.readouterr().out
    assert shown.startswith("1 file changed since 1a2b3c4d: 62 definitions.\n")
    assert "… 60 more: -n 62 shows them" in shown
    assert "… 3 more: -n 4 shows them" in shown


def test_the_places_of_a_file_are_together(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = CHANGED.tests[0], evolve(CHANGED.tests[0], path="tests/test_port.py", uri="file:///port.py")
    print_changes(evolve(CHANGED, tests=(one, other, evolve(one, symbol="test_leave"))))
    shown = capsys.readouterr().out
    assert "test_moor  calls Berth.moor\n    4  test_leave" in shown


def test_files_are_in_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    in_tests = evolve(CHANGED.dependents[1], path="tests/test_berths.py")
    companion = evolve(CHANGED.companions[0], path="src/schedule.py")
    dependents, companions = (CHANGED.dependents[0], in_tests), (companion,)
    print_changes(evolve(CHANGED, dependents=dependents, companions=companions))
    shown = capsys.readouterr().out
    assert shown.count("src/schedule.py") == shown.count("tests/test_berths.py\n") == 1
    assert "Depend on it" not in shown
    assert "Usually change with it" not in shown
