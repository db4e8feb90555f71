"""Code inside files of other languages has symbols with the lines of the whole file."""

from __future__ import annotations

import time

import pytest

from cairn.chunking.chunker import chunk_file
from cairn.chunking.references.symbol_table import TEMPLATE, ReferenceKind, SymbolTable

SYMBOLS = {
    "Ferry.razor": (
        '@page "/ferries"\n@inject Rope Rope\n<p/>\n@code {\n  int Count { get; set; }\n'
        '  void Moor() {\n    Tie("}");\n  }\n}\n',
        ["Ferry class 1-9", "Rope field 2-3", "Count property 5-5", "Moor method 6-8"],
    ),
    "a.cshtml": ("<p/>\n@functions {\n  void Moor() { }\n}\n<p/>\n", ["A class 1-5", "Moor method 3-3"]),
    "Ferry.vue": (
        "<script>\nexport const rope = 1\n</script>\n<script setup>\nfunction moor() {}\n</script>\n",
        ["Ferry module 1-7", "rope constant 2-2", "moor function 5-5"],
    ),
    "a.html": (
        "{% block content %}\n{% macro moor(a) -%}\n{%- endmacro %}\n{% endblock %}\n"
        "<script>\nfunction tie() {}\n</script>\n",
        ["content block 1-4", "moor macro 2-3", "tie function 6-6"],
    ),
    "a.twig": ("{% block body %}\n{% endblock %}\n", ["body block 1-2"]),
    "a.html.erb": ("<p/>\n<% def moor(x) %>\n<b/>\n<% end %>\n", ["moor method 2-4"]),
    "a.blade.php": (
        "@section('body')\n@php\nfunction moor() {}\n@endphp\n@endsection\n",
        ["body block 1-5", "moor function 3-3"],
    ),
}


def table_of(path: str, text: str) -> SymbolTable:
    _, table = chunk_file(path, text)
    assert table is not None
    return table


@pytest.mark.parametrize("path", SYMBOLS)
def test_islands_have_symbols_with_lines(path: str) -> None:
    text, expected = SYMBOLS[path]
    table = table_of(path, text)
    found = [f"{each.name} {each.kind} {each.start_line + 1}-{each.end_line}" for each in table.definitions]
    assert found == expected
    lines = text.split("\n")
    for each in table.definitions:
        if each.kind not in ("class", "module"):
            assert lines[each.line][each.character :].startswith(each.name)


def test_a_method_of_a_component_names_its_chunk() -> None:
    text = "<p/>\n" * 300 + "@code {\n  void Moor()\n  {\n" + "    Tie(1);\n" * 60 + "  }\n}\n"
    chunks, _ = chunk_file("Ferry.razor", text)
    (chunk,) = [each for each in chunks if "Moor" in each.defines]
    assert (chunk.symbol, chunk.symbol_kind, chunk.parent) == ("Moor", "method", "Ferry")
    assert chunk.signature == "void Moor()"
    assert "".join(each.text for each in chunks) == text


def test_characters_of_islands_are_utf16_units() -> None:
    text = '<script setup>\nfunction moor() {}\n</script>\n<p>⚓🚢</p><b @click="moor"/>\n'
    (call,) = [each for each in table_of("A.vue", text).references if each.kind is ReferenceKind.CALL]
    assert (call.line, call.character) == (3, len('<p>⚓🚢</p><b @click="') + 1)
    assert call.receiver == TEMPLATE


def test_comments_and_data_are_no_islands() -> None:
    text = '<!-- <p @click="moor()"/> -->\n<script type="application/json">{"a": tie()}</script>\n<p/>\n'
    assert not table_of("A.vue", text).references


@pytest.mark.parametrize(
    "unit", ["@code{", "{{ ", "<script ", "{% macro a(", "<% ", "@a(", "<!-- ", '@a="', "@inject A b\n"]
)
@pytest.mark.parametrize("path", ["a.razor", "a.html", "a.vue", "a.erb", "a.j2", "a.blade.php"])
def test_broken_markup_is_read_in_linear_time(path: str, unit: str) -> None:
    started = time.process_time()
    chunk_file(path, unit * (100_000 // len(unit)))
    assert time.process_time() - started < 4
