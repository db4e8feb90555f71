"""What the symbol table of a file says, language by language, and that packing keeps all of it."""

from __future__ import annotations

import pytest
from attrs import frozen

from cairn.chunking import chunker
from cairn.chunking.chunker import chunk_file
from cairn.chunking.references.model import ReferenceKind, SymbolTable
from cairn.chunking.references.packing import PackedTable, pack


@frozen
class Source:
    """A file in which `moor` of the type `Harbour` calls `tie_rope` once."""

    path: str
    text: str
    imports: tuple[str, ...] = ()
    """Names that it imports."""
    inherits: tuple[str, ...] = ()
    caller: str = "moor"
    owner: str = "Harbour"
    called: str = "tie_rope"


SOURCES = {
    "python": Source(
        "harbour.py",
        "from ropes import tying as tie, knots\n\n\nclass Harbour(Base):\n    def moor(self, ship):\n"
        "        self.ship = ship\n        return tie_rope(ship)\n",
        imports=("tie", "knots"),
        inherits=("Base",),
    ),
    "javascript": Source(
        "harbour.js",
        'const { knots } = require("./ropes")\n\nclass Harbour extends Base {\n  moor(ship) {\n'
        "    return tie_rope(ship)\n  }\n}\n",
        imports=("knots",),
        inherits=("Base",),
    ),
    "typescript": Source(
        "harbour.ts",
        'import knots, { Rope as R } from "./ropes"\n\nexport class Harbour extends Base implements Port {\n'
        "  moor(ship: Ship): Rope {\n    return tie_rope(ship)\n  }\n}\n",
        imports=("knots", "R"),
        inherits=("Base", "Port"),
    ),
    "tsx": Source(
        "harbour.tsx",
        'import { knots } from "./ropes"\n\nclass Harbour extends Base {\n  moor(ship: Ship) {\n'
        "    return <Pier rope={tie_rope(ship)} />\n  }\n}\n",
        imports=("knots",),
        inherits=("Base",),
    ),
    "go": Source(
        "harbour.go",
        'package port\n\nimport "example.org/ropes"\n\ntype Harbour struct{ Base }\n\n'
        "func (h *Harbour) moor(ship Ship) Rope {\n\treturn tie_rope(ship)\n}\n",
        imports=("ropes",),
        inherits=("Base",),
    ),
    "rust": Source(
        "harbour.rs",
        "use crate::ropes::knots;\n\nstruct Harbour;\n\nimpl Port for Harbour {\n    fn moor(&self, ship: Ship) -> Rope {\n"
        "        tie_rope(ship)\n    }\n}\n",
        imports=("knots",),
        inherits=("Port",),
    ),
    "java": Source(
        "Harbour.java",
        "package port;\n\nimport ropes.Knots;\n\nclass Harbour extends Base implements Port {\n"
        "    Rope moor(Ship ship) {\n        return tie_rope(ship);\n    }\n}\n",
        imports=("Knots",),
        inherits=("Base", "Port"),
    ),
    "kotlin": Source(
        "Harbour.kt",
        "package port\n\nimport ropes.Knots\n\nclass Harbour : Base(), Port {\n    fun moor(ship: Ship): Rope {\n"
        "        return tie_rope(ship)\n    }\n}\n",
        imports=("Knots",),
        inherits=("Base", "Port"),
    ),
    "c": Source(
        "harbour.c",
        '#include "ropes.h"\n\nstruct rope *moor(struct ship *ship) {\n    return tie_rope(ship);\n}\n',
        owner="",
    ),
    "cpp": Source(
        "harbour.cpp",
        '#include "ropes.h"\n\nclass Harbour : public Base {\n    Rope moor(Ship ship) {\n'
        "        return tie_rope(ship);\n    }\n};\n",
        inherits=("Base",),
    ),
    "csharp": Source(
        "Harbour.cs",
        "using Ropes;\n\nnamespace Port;\n\nclass Harbour : Base {\n    Rope moor(Ship ship) {\n"
        "        return tie_rope(ship);\n    }\n}\n",
        inherits=("Base",),
    ),
    "ruby": Source(
        "harbour.rb",
        "require 'ropes'\n\nclass Harbour < Base\n  def moor(ship)\n    tie_rope(ship)\n  end\nend\n",
        inherits=("Base",),
    ),
    "php": Source(
        "Harbour.php",
        "<?php\nnamespace Port;\n\nuse Ropes\\Knots;\n\nclass Harbour extends Base {\n    function moor($ship) {\n"
        "        return tie_rope($ship);\n    }\n}\n",
        imports=("Knots",),
        inherits=("Base",),
    ),
    "scala": Source(
        "Harbour.scala",
        "package port\n\nimport ropes.Knots\n\nclass Harbour extends Base {\n  def moor(ship: Ship): Rope = {\n"
        "    tie_rope(ship)\n  }\n}\n",
        imports=("Knots",),
        inherits=("Base",),
    ),
    "swift": Source(
        "Harbour.swift",
        "class Harbour: Base {\n    func moor(ship: Ship) -> Rope {\n        return tie_rope(ship)\n    }\n}\n",
        inherits=("Base",),
    ),
    "elixir": Source(
        "harbour.ex",
        "defmodule Harbour do\n  alias Ropes.Knots\n\n  def moor(ship) do\n    tie_rope(ship)\n  end\nend\n",
        imports=("Knots",),
    ),
}


def table_of(source: Source) -> SymbolTable:
    _, table = chunk_file(source.path, source.text)
    assert table is not None
    return table


@pytest.mark.parametrize("language", SOURCES)
def test_a_table_tells_what_is_defined_and_what_it_calls(language: str) -> None:
    source = SOURCES[language]
    table = table_of(source)
    assert table.language == language
    (caller,) = [number for number, each in enumerate(table.definitions) if each.name == source.caller]
    assert table.definitions[caller].owner == source.owner
    (call,) = [each for each in table.references if each.name == source.called]
    assert (call.kind, call.enclosing) == (ReferenceKind.CALL, caller)
    lines = source.text.splitlines()
    assert lines[call.line][call.character :].startswith(source.called)
    assert {each.name for each in table.imports} >= set(source.imports)
    heirs = {each.name for each in table.references if each.kind is ReferenceKind.INHERIT}
    assert heirs == set(source.inherits)


@pytest.mark.parametrize("language", SOURCES)
def test_packing_keeps_everything(language: str) -> None:
    table = table_of(SOURCES[language])
    packed = PackedTable(pack(table))
    assert (packed.language, packed.namespace) == (table.language, table.namespace)
    assert tuple(packed.definition(number) for number in range(packed.count)) == table.definitions
    for name in {each.name for each in table.references}:
        assert packed.references_to(name) == [each for each in table.references if each.name == name]
    for name in {each.name for each in table.variables}:
        assert packed.variables(name) == [each for each in table.variables if each.name == name]
    assert packed.imports == table.imports


def test_characters_are_counted_as_editors_count_them() -> None:
    table = table_of(Source("harbour.py", 'def moor():\n    "⚓🚢"; tie_rope()\n'))
    (call,) = [each for each in table.references if each.name == "tie_rope"]
    assert call.character == 4 + len('"⚓🚢"; ') + 1  # the ship is two units of UTF-16


def test_what_a_function_returns_at_its_end_is_noted_where_no_type_is_written() -> None:
    table = table_of(
        Source("harbour.py", "class Harbour:\n    def moored(self):\n        return self.ships.first()\n")
    )
    assert table.definitions[1].type == "self.ships.first()"


def test_a_name_that_is_local_to_a_function_refers_to_nothing_else() -> None:
    table = table_of(
        Source("harbour.py", "def moor(rope):\n    knot = rope\n    return knot\n\n\nprint(knot)\n")
    )
    assert [each.line for each in table.references if each.name == "knot"] == [5]


@pytest.mark.parametrize(
    "broken", ["def moor(:\n  tie_rope(\nclass : pass\n", "class Harbour(:\n    def moor(self\n"]
)
def test_a_text_with_syntax_errors_has_a_table_all_the_same(broken: str) -> None:
    chunks, table = chunk_file("harbour.py", broken)
    assert "".join(chunk.text for chunk in chunks) == broken
    assert table is not None


def test_of_a_chain_of_thousands_of_calls_the_beginning_is_read() -> None:
    text = "ships" + ".then(() => {\n  moor(1)\n})" * 3_000 + "\n"
    chunks, table = chunk_file("harbour.js", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert table is not None
    assert 0 < sum(each.name == "moor" for each in table.references) < 3_000


def test_where_names_cannot_be_read_the_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(chunker, "symbols_of", broken)
    chunks, table = chunk_file("harbour.py", "def moor():\n    pass\n")
    assert [chunk.symbol for chunk in chunks] == ["moor"]
    assert table is None
