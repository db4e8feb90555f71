"""Symbol tables have the names of a file in every language, and packing keeps all of them."""

from __future__ import annotations

import pytest
from tests.chunking.samples import Sample, read_samples

from cairn.chunking import chunker
from cairn.chunking.chunker import chunk_file
from cairn.chunking.references.packed_table import PackedTable, pack
from cairn.chunking.references.symbol_table import ReferenceKind, SymbolTable

SAMPLES = read_samples("references.txt")
"""In each file, `moor` (mostly of the type `Harbour`) calls `tie_rope` once."""


def table_of(path: str, text: str) -> SymbolTable:
    _, table = chunk_file(path, text)
    assert table is not None
    return table


@pytest.mark.parametrize("language", SAMPLES)
def test_table_has_definitions_calls_imports_and_supertypes(language: str) -> None:
    sample = SAMPLES[language]
    table = table_of(sample.path, sample.text)
    assert table.language == language
    (caller,) = [number for number, each in enumerate(table.definitions) if each.name == "moor"]
    assert table.definitions[caller].owner == sample.fields.get("owner", "")
    (call,) = [each for each in table.references if each.name == "tie_rope"]
    assert (call.kind, call.enclosing) == (ReferenceKind.CALL, caller)
    assert sample.text.splitlines()[call.line][call.character :].startswith("tie_rope")
    assert {each.name for each in table.imports} >= set(sample.names("imports"))
    supertypes = {each.name for each in table.references if each.kind is ReferenceKind.INHERIT}
    assert supertypes == set(sample.names("inherits"))


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_packing_keeps_everything(sample: Sample) -> None:
    table = table_of(sample.path, sample.text)
    packed = PackedTable(pack(table))
    assert (packed.language, packed.namespace) == (table.language, table.namespace)
    assert tuple(packed.definition(number) for number in range(packed.count)) == table.definitions
    for name in {each.name for each in table.references}:
        assert packed.references_to(name) == [each for each in table.references if each.name == name]
    for name in {each.name for each in table.variables}:
        assert packed.variables(name) == [each for each in table.variables if each.name == name]
    assert packed.imports == table.imports


def test_characters_are_utf16_units() -> None:
    table = table_of("harbour.py", 'def moor():\n    "⚓🚢"; tie_rope()\n')
    (call,) = [each for each in table.references if each.name == "tie_rope"]
    assert call.character == 4 + len('"⚓🚢"; ') + 1  # the ship takes two units of UTF-16


def test_untyped_function_has_the_type_of_its_last_value() -> None:
    table = table_of(
        "harbour.py", "class Harbour:\n    def moored(self):\n        return self.ships.first()\n"
    )
    assert table.definitions[1].type == "self.ships.first()"


def test_the_end_of_an_element_is_not_a_use_of_its_component() -> None:
    table = table_of("a.tsx", "import { Pier } from './pier'\nexport const A = () => <Pier>x</Pier>\n")
    uses = [each.kind for each in table.references if each.name == "Pier"]
    assert uses == [ReferenceKind.IMPORT, ReferenceKind.CALL]


def test_local_name_is_not_a_reference() -> None:
    table = table_of("harbour.py", "def moor(rope):\n    knot = rope\n    return knot\n\n\nprint(knot)\n")
    assert [each.line for each in table.references if each.name == "knot"] == [5]


@pytest.mark.parametrize(
    "broken", ["def moor(:\n  tie_rope(\nclass : pass\n", "class Harbour(:\n    def moor(self\n"]
)
def test_text_with_syntax_errors_has_a_table(broken: str) -> None:
    chunks, table = chunk_file("harbour.py", broken)
    assert "".join(chunk.text for chunk in chunks) == broken
    assert table is not None


def test_long_chain_of_calls_is_read_in_part() -> None:
    text = "ships" + ".then(() => {\n  moor(1)\n})" * 3_000 + "\n"
    chunks, table = chunk_file("harbour.js", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert table is not None
    assert 0 < sum(each.name == "moor" for each in table.references) < 3_000


def test_unreadable_names_do_not_lose_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(chunker, "symbols_of", broken)
    chunks, table = chunk_file("harbour.py", "def moor():\n    pass\n")
    assert [chunk.symbol for chunk in chunks] == ["moor"]
    assert table is None


def test_function_set_on_an_object_is_not_mistaken_for_a_call_in_its_body() -> None:
    text = "internals.drain = async function (request) {\n    await Streams.drain(request);\n};\n"
    table = table_of("route.js", text)
    assert [(each.name, each.line, each.character) for each in table.definitions] == [("drain", 0, 10)]
    (call,) = [each for each in table.references if each.kind is ReferenceKind.CALL]
    assert (call.name, call.line, call.receiver) == ("drain", 1, "Streams")
