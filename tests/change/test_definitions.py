"""The definitions that a change touches, and what happened to each."""

from __future__ import annotations

import pytest

from cairn.change.definitions import touched_definitions
from cairn.change.touched import Touched, line_after, line_before
from cairn.protocol.change_messages import ChangeKind
from tests.change.changes import file_change

BEFORE = '''\
"""Berths."""

LENGTH = 40


class Berth:
    """A place for a ship."""

    depth: int = 7

    def __init__(self, name):
        self.name = name

    # Ships of any length.
    def admit(self, ship):
        """Admit a ship."""
        if ship.length > LENGTH:
            raise ValueError("too long")
        self.ship = ship
        return ship

    @property
    def free(self):
        return not self.ship


def assign(ships, berths):
    """Assign berths."""
    def nearest(ship):
        return min(berths, key=lambda each: each.depth - ship.depth)

    return {ship: nearest(ship) for ship in ships}
'''


def kinds(*files: tuple[str, str | None, str | None]) -> list[tuple[str, str]]:
    return [(each.kind.value, name_of(each)) for each in touched(*files)]


def touched(*files: tuple[str, str | None, str | None]) -> list[Touched]:
    return touched_definitions([file_change(*each) for each in files])


def name_of(each: Touched) -> str:
    shown = each.after or each.before
    return shown.qualified if shown else ""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("def admit(self, ship):", "def admit(self, ship, pilot):", [("signature", "Berth.admit")]),
        ("def admit(self, ship):", "def admit(self, ship) -> Ship:", [("signature", "Berth.admit")]),
        ('ValueError("too long")', 'TypeError("too long")', [("body", "Berth.admit")]),
        ("# Ships of any length.", "# Ships of most lengths.", [("comment", "Berth.admit")]),
        ('"""Admit a ship."""', '"""Admit a ship, or raise."""', [("comment", "Berth.admit")]),
        ("        return ship\n", "        return  ship\n", [("comment", "Berth.admit")]),
        ("    @property\n", "    @cached_property\n", [("body", "Berth.free")]),
        ("LENGTH = 40", "LENGTH = 50", [("body", "LENGTH")]),
        ("depth: int = 7", "depth: float = 7", [("signature", "Berth.depth")]),
        ("class Berth:", "class Berth(Place):", [("signature", "Berth")]),
        ('"""A place for a ship."""', '"""A place."""', [("comment", "Berth")]),
        ("each.depth - ship", "each.depth + ship", [("body", "assign")]),
        ('"""Berths."""', '"""Berths of a harbour."""', [("lines", "")]),
        ("LENGTH = 40\n", "LENGTH = 40\nprint(LENGTH)\n", [("lines", "")]),
        ("def assign(", "def allot(", [("renamed", "allot")]),
        ("class Berth:", "class Mooring:", [("renamed", "Mooring")]),
    ],
)
def test_each_kind_of_change_is_recognised(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert BEFORE.count(old) == 1
    assert kinds(("berths.py", BEFORE, BEFORE.replace(old, new))) == expected


def test_a_removed_class_is_one_entry_with_its_members() -> None:
    start, end = BEFORE.index("class Berth"), BEFORE.index("def assign")
    (found,) = touched(("berths.py", BEFORE, BEFORE[:start] + BEFORE[end:]))
    assert (found.kind, found.name, found.after) == (ChangeKind.REMOVED, "Berth", None)
    assert [each.name for each in found.members] == ["depth", "__init__", "admit", "free"]


def test_a_new_file_lists_its_outermost_definitions() -> None:
    assert kinds(("berths.py", None, BEFORE)) == [
        ("added", "LENGTH"),
        ("added", "Berth"),
        ("added", "assign"),
    ]


def test_a_function_that_went_to_another_file_was_moved() -> None:
    start = BEFORE.index("def assign")
    found = touched(("berths.py", BEFORE, BEFORE[:start]), ("plans.py", None, BEFORE[start:]))
    (moved,) = (each for each in found if each.kind is ChangeKind.MOVED)
    assert (moved.name, moved.path, moved.reason) == ("assign", "plans.py", "moved from berths.py")
    assert moved.before is not None
    assert moved.before.path == "berths.py"


def test_a_renamed_file_keeps_its_definitions_and_says_where_it_came_from() -> None:
    change = file_change("ports.py", BEFORE, BEFORE.replace("= 40", "= 50"), came_from="berths.py")
    found = touched_definitions([change])
    assert [(each.kind.value, name_of(each)) for each in found] == [("moved", ""), ("body", "LENGTH")]
    assert found[0].reason == "the file was moved from berths.py"
    assert {each.name for each in found[0].members} == {"LENGTH", "Berth", "assign"}


def test_overloads_are_paired_by_their_lines() -> None:
    before = "class A {\n  int f(int a) { return a; }\n  int f(long a) { return 2; }\n}\n"
    after = "class A {\n  int f(long a) { return 2; }\n}\n"
    (found,) = touched(("A.java", before, after))
    assert found.kind is ChangeKind.REMOVED
    assert found.before is not None
    assert found.before.line == 1


def test_a_namespace_that_other_files_have_is_not_removed() -> None:
    text = "module Port\n  class Crane\n    def lift\n      1\n    end\n  end\nend\n"
    found = touched_definitions([file_change("crane.rb", text, None)], lambda place: place.name == "Port")
    assert [(each.kind.value, name_of(each)) for each in found] == [("removed", "Port.Crane")]


def test_removed_definitions_come_first() -> None:
    after = BEFORE.replace("LENGTH = 40", "LENGTH = 50").replace(
        "def admit(self, ship)", "def admit(self, s)"
    )
    start, end = after.index("    @property"), after.index("def assign")
    found = kinds(("berths.py", BEFORE, after[:start] + after[end:]))
    assert [kind for kind, _ in found] == ["removed", "signature", "body"]


def test_new_name_of_a_type_is_not_a_new_signature_of_its_users() -> None:
    before = (
        "package tides\n\ntype Tide struct {\n\tHeight int\n\tHour   int\n}\n\n"
        "func Low(tide Tide, other ...Tide) Tide {\n\treturn tide\n}\n"
    )
    found = kinds(("tides.go", before, before.replace("Tide", "Flood")))
    assert found == [("renamed", "Flood"), ("body", "Low")]


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("a.go", "package a\n\nfunc F(a int) int { return a }\n",
         "package a\n\nfunc F(a int, b int) int { return a }\n", ("signature", "F")),
        ("a.go", "package a\n\nfunc F(a int) int {\n\treturn a\n}\n",
         "package a\n\nfunc F(a int) int {\n\treturn 2 * a\n}\n", ("body", "F")),
        ("a.ts", "export const f = (a: number) => {\n  return a;\n};\n",
         "export const f = (a: string) => {\n  return a;\n};\n", ("signature", "f")),
        ("a.ts", "export const f = (a: number) => {\n  return a;\n};\n",
         "export const f = (a: number) => {\n  return -a;\n};\n", ("body", "f")),
        ("a.rs", "pub fn f(a: u8) -> u8 {\n    a\n}\n", "pub fn f(a: u8) -> u16 {\n    a\n}\n",
         ("signature", "f")),
        ("a.c", "int f(int a)\n{\n  return a;\n}\n", "int f(int a)\n{\n  /* the same */\n  return a;\n}\n",
         ("comment", "f")),
        ("a.rb", "def f(a)\n  a\nend\n", "def f(a, b)\n  a\nend\n", ("signature", "f")),
        ("a.php", "<?php\nfunction f($a) {\n  return $a;\n}\n", "<?php\nfunction f($a) {\n  return 1;\n}\n",
         ("body", "f")),
        ("a.cs", "class A {\n  int F(int a) => a;\n}\n", "class A {\n  int F(int a) => -a;\n}\n",
         ("body", "A.F")),
        ("a.ex", "defmodule A do\n  def f(a) do\n    a\n  end\nend\n",
         "defmodule A do\n  def f(a, b) do\n    a\n  end\nend\n", ("signature", "A.f")),
        ("a.kt", "fun f(a: Int): Int {\n    return a\n}\n", "fun f(a: Int): Int {\n    return -a\n}\n",
         ("body", "f")),
    ],
)  # fmt: skip
def test_heads_and_bodies_are_distinguished(
    path: str, before: str, after: str, expected: tuple[str, str]
) -> None:
    assert kinds((path, before, after)) == [expected]


def test_files_without_definitions_are_one_entry() -> None:
    (found,) = touched(("notes.md", "# Berths\n\nOld.\n", "# Berths\n\nNew.\n"))
    assert (found.kind, found.hunks, found.reason) == (
        ChangeKind.LINES, (0,), "lines outside of definitions changed",
    )  # fmt: skip


def test_lines_are_mapped_across_the_change() -> None:
    file = file_change("a.txt", "a\nb\nc\nd\n", "a\nX\nY\nc\nd\nZ\n")
    assert [line_after(file, line) for line in range(4)] == [0, None, 3, 4]
    assert [line_before(file, line) for line in range(6)] == [0, None, None, 2, 3, None]
