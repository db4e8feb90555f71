"""The look of callers and callees on a terminal and in a pipe."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from cairn import protocol
from cairn.agents.trace_text import head_text
from cairn.cli.answer_text import print_references, print_trace

INDEX = protocol.IndexState(1, True)


def name_at(line: int, character: int, name: str) -> protocol.Range:
    return protocol.Range(protocol.Position(line, character), protocol.Position(line, character + len(name)))


def defined(name: str, line: int, kind: str = "function", path: str = "src/port.py") -> protocol.SymbolPlace:
    return protocol.SymbolPlace(
        path=path,
        uri=f"file:///harbour/{path}",
        folder="file:///harbour",
        range=protocol.whole_lines(line, line + 5),
        selection_range=name_at(line, 4, name),
        symbol=name,
        kind=kind,
        line=f"def {name}(ships):",
    )


def reference(line: int, code: str, around: str, **fields: Any) -> protocol.FoundReference:
    enclosing = protocol.EnclosingSymbol(
        around, "function", protocol.whole_lines(1, 30), name_at(1, 4, around)
    )
    found = protocol.FoundReference(
        path="src/port.py",
        uri="file:///harbour/src/port.py",
        folder="file:///harbour",
        range=name_at(line, 4, "moor"),
        line=f"    {code}",
        enclosing=enclosing,
        symbol="moor",
        target=None,
        kind="call",
        confidence=0.9,
        via="imported",
        depth=1,
        parent=None,
    )
    return evolve(found, **fields)


def printed(
    capsys: pytest.CaptureFixture[str],
    *references: protocol.FoundReference,
    direction: str = "callers",
    **fields: Any,
) -> list[str]:
    answer = protocol.ReferencesAnswer(
        "moor", (defined("moor", 2),), references, complete=True, index=INDEX, timings={}
    )
    print_references(evolve(answer, **fields), direction)
    return capsys.readouterr().out.splitlines()


def test_callers_are_a_tree_grouped_by_function(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(
        capsys,
        reference(9, "moor(a)", "open_port"),
        reference(11, "moor(b)  # [bold]", "open_port"),
        reference(40, "moor(c)", "", enclosing=None, confidence=0.4, via="the only one of that name"),
        reference(50, "open_port()", "main", depth=2, parent=0, via="in the same file"),
    )
    assert shown == [
        "src/port.py:3  moor  function",
        "    3  def moor(ships):",
        "",
        "    src/port.py:10  open_port  0.90 imported",
        "        10  moor(a)",
        "        12  moor(b)  # [bold]",
        "        src/port.py:51  main  0.90 in the same file",
        "            51  open_port()",
        "    src/port.py:41  0.40 the only one of that name",
        "        41  moor(c)",
    ]


def test_callees_show_their_definition_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    leave = defined("leave", 20, path="src/ships.py")
    shown = printed(
        capsys,
        reference(9, "leave(a)", "moor", target=leave),
        reference(10, "print(a)", "moor", symbol="print", confidence=0.0, via=""),
        reference(11, "leave(b)", "moor", target=leave),
        direction="callees",
    )
    assert shown[3:] == [
        "    src/ships.py:21  leave  0.90 imported",
        "        10  leave(a)",
        "    print  not in the workspace",
        "        11  print(a)",
        "    src/ships.py:21  leave  0.90 imported",
        "        12  leave(b)",
    ]


def test_a_trace_is_a_tree_with_branches(capsys: pytest.CaptureFixture[str]) -> None:
    leave, sail = defined("leave", 20, path="src/ships.py"), defined("sail", 40, path="src/ships.py")
    calls = (
        reference(9, "leave(a)", "moor", target=leave, symbol="leave", within=("for a in ships", "if a")),
        reference(22, "sail(a)", "leave", target=sail, symbol="sail", depth=2, parent=0, unfollowed=1),
        reference(10, "leave(b)", "moor", target=leave, symbol="leave", kind="read", within=("else",)),
        reference(11, "sail(b)", "moor", target=sail, symbol="sail", confidence=0.6, within=("else", "try")),
    )
    answer = protocol.ReferencesAnswer(
        "moor", (defined("moor", 2), defined("moor", 7)), calls, complete=False, index=INDEX, timings={}
    )
    print_trace(answer)
    assert capsys.readouterr().out.splitlines() == [
        "src/port.py:3-7  moor(ships)",
        "also defined at src/port.py:8",
        "",
        "    10 for a in ships › if a → src/ships.py:21-25 leave(ships)",
        "      23 → 41-45 sail(ships)  (1 call)",
        "    11 else → leave  (as a value, see above)",
        "    12 ″ › try → sail  (60% sure)",
        "",
        "There are more calls; a larger -n follows them further.",
    ]
    print_trace(evolve(answer, references=(), complete=True, message="No calls lead there.", to=(leave,)))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "to src/ships.py:21-25  leave(ships)",
        "also defined at src/port.py:8",
        "No calls lead there.",
        "",
    ]


@pytest.mark.parametrize(
    ("line", "name", "head"),
    [
        ("def load( self, key: str, ) -> Item:", "Store.load", "Store.load(self, key: str) -> Item"),
        (
            "func (l load) load(key string) (Item, error) { return l.x }",
            "load",
            "load(key string) (Item, error)",
        ),
        ("export const load = (key: string): Item => {", "load", "load(key: string): Item"),
        ("fun load(key: String): Item = find(key)", "load", "load(key: String): Item"),
        ("public Item load(String key) throws E {", "Store.load", "Store.load(String key) throws E"),
        ("pub fn load(&self) -> Vec<Item> {", "load", "load(&self) -> Vec<Item>"),
        (f"def load({'long_name, ' * 20})", "load", f"load({'long_name, ' * 20}"[:109] + "…"),
    ],
)
def test_a_head_is_a_name_with_the_rest_of_its_line(line: str, name: str, head: str) -> None:
    assert head_text(evolve(defined(name, 2), line=line)) == head


def test_missing_and_omitted_references_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys)[-1] == "No callers were found."
    assert printed(capsys, direction="callees")[-1] == "No callees were found."
    unknown = printed(capsys, definitions=(), message="Nothing is called moor. Did you mean moor_ship?")
    assert unknown == ["Nothing is called moor. Did you mean moor_ship?"]
    cut = printed(capsys, reference(9, "moor(a)", "open_port"), complete=False)
    assert cut[-1] == "There are more; a larger -n shows them."
    many = tuple(defined("moor", line) for line in range(7))
    assert "… 2 more definitions of that name" in printed(capsys, definitions=many)
