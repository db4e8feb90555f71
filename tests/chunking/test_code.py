"""Code is cut into described chunks, in every language with a grammar."""

import pytest
from tests.chunking.samples import CLASSES, LargeClass, Sample, read_samples

from cairn.chunking.chunker import chunk_text
from cairn.chunking.definition_place import definition_lines
from cairn.chunking.model import Chunk
from cairn.chunking.outline import MAXIMUM, MINIMUM
from cairn.protocol.search_messages import ChunkType

_LANGUAGES = read_samples("definitions.txt")


@pytest.mark.parametrize("sample", _LANGUAGES.values(), ids=_LANGUAGES)
def test_definitions_are_found_and_described(sample: Sample) -> None:
    (chunk,) = chunk_text(sample.path, sample.text)
    assert chunk.defines == sample.names("defines")
    assert (chunk.title, chunk.symbol_kind) == (sample.fields["title"], sample.fields["kind"])
    assert (chunk.signature, chunk.comment) == (sample.fields["signature"], sample.fields.get("comment", ""))
    assert chunk.signature in " ".join(chunk.text.split())


@pytest.mark.parametrize("large", CLASSES.values(), ids=CLASSES)
def test_large_class_is_cut_at_its_members(large: LargeClass) -> None:
    chunks = {chunk.symbol: chunk for chunk in chunk_text(large.path, large.text())}
    sink = chunks["sink"]
    assert sink.title in ("Ship.sink", "Ship::sink")
    assert (sink.parent, sink.header_path, sink.comment) == ("Ship", "Ship > sink", "Says sink.")
    # The chunk has the comment, the decorators and the whole body.
    assert large.methods(20)[-1] in sink.text


@pytest.mark.parametrize("large", CLASSES.values(), ids=CLASSES)
def test_giant_function_keeps_its_name_in_every_part(large: LargeClass) -> None:
    chunks = [
        chunk for chunk in chunk_text(large.path, large.text(120)) if chunk.header_path == "Ship > dock"
    ]
    assert len(chunks) > 2
    assert {chunk.symbol for chunk in chunks} == {"dock"}
    assert [chunk.defines for chunk in chunks] == [("dock",), *[()] * (len(chunks) - 1)]
    assert all(len(chunk.text) <= MAXIMUM + 250 for chunk in chunks)
    assert all(chunk.text.startswith(large.line) and not chunk.signature for chunk in chunks[1:])


def test_small_neighbours_share_a_chunk() -> None:
    text = "".join(f"def step_{index}(value):\n    return value + {index}\n\n\n" for index in range(100))
    chunks = chunk_text("steps.py", text)
    assert all(MINIMUM <= len(chunk.text) <= MAXIMUM for chunk in chunks[:-1])
    assert [name for chunk in chunks for name in chunk.defines] == [f"step_{index}" for index in range(100)]
    assert chunks[0].symbol == "step_0"


def test_type_names_a_chunk_before_the_functions_around_it() -> None:
    text = "def build():\n    return Ship()\n\n\nclass Ship:\n    pass\n\n\nLIMIT = 3\n"
    assert chunk_text("ships.py", text)[0].symbol == "Ship"


def test_imports_become_a_chunk_named_after_the_file() -> None:
    imports = "".join(f"from harbour.part_{index} import thing_{index}\n" for index in range(12))
    function = f"def moor():\n    return {list(range(40))}\n"
    text = f'"""Ships of the port."""\n\n{imports}\nLIMIT = 3\n\n\n{function}'
    preamble, moor = chunk_text("src/harbour/ships.py", text)
    assert (preamble.title, preamble.symbol, preamble.defines) == ("ships", "", ("LIMIT",))
    assert preamble.comment == "Ships of the port."
    assert moor.symbol == "moor"


def test_long_comment_becomes_a_chunk_named_as_its_definition() -> None:
    comment = "".join(f"/// Line {index} of what there is to say about ships.\n" for index in range(25))
    body = "    remember(position);\n" * 40
    doc, function = chunk_text("ship.rs", f"use a;\n\n{comment}pub fn sail() {{\n{body}}}\n")[-2:]
    assert (doc.title, function.title) == ("sail", "sail")
    assert doc.defines == ()
    assert doc.text.endswith("about ships.\n")
    assert function.text.startswith("pub fn sail()")
    assert function.comment.startswith("Line 0 of what")


_BELOW_COMMENTS = {
    "function.c": ("/*", " * ", " */", "int moor(int n)\n{\n    return n;\n}"),
    "line.c": ("//", "// ", "//", "int moor(int n) { return n; }"),
    "constant.c": ("/*", " * ", " */", "static const int moor = 4;"),
    "macro.c": ("/*", " * ", " */", "#define moor(n) ((n) + 1)"),
    "Method.java": ("    /**", "     * ", "     */", "    @Override\n    public int moor() {\n    }"),
    "Field.java": ("    /**", "     * ", "     */", "    public static final int moor = 3;"),
    "decorated.py": ("#", "# ", "#", "@cache\n@once(1)\ndef moor(n):\n    return n"),
    "constant.py": ("#", "# ", "#", "moor = {1: 2}"),
    "type.py": ("#", "# ", "#", "class moor:\n    x = 1"),
    "function.rs": ("///", "/// ", "///", "#[inline]\npub fn moor(n: i32) -> i32 {\n    n\n}"),
    "constant.rs": ("///", "/// ", "///", "pub const moor: i32 = 3;"),
    "function.go": ("//", "// ", "//", "func moor(n int) int {\n\treturn n\n}"),
    "function.js": ("/**", " * ", " */", "export function moor(n) {\n  return n;\n}"),
    "type.ts": ("/**", " * ", " */", "export type moor = string | number;"),
    "function.php": ("/**", " * ", " */", "function moor($n) {\n    return $n;\n}"),
    "function.kt": ("/**", " * ", " */", "fun moor(n: Int) = n"),
    "function.sh": ("#", "# ", "#", "moor() {\n    echo 1\n}"),
    "function.lua": ("--", "-- ", "--", "function moor(n)\n  return n\nend"),
    "mixin.scss": ("//", "// ", "//", "@mixin moor($n) {\n  color: red;\n}"),
}
_BEFORE = {".java": "class Quay {\n    int k;\n\n", ".php": "<?php\n\n"}


@pytest.mark.parametrize("length", [30, 100, 500])
@pytest.mark.parametrize("path", _BELOW_COMMENTS)
def test_a_long_comment_does_not_define_what_is_below_it(path: str, length: int) -> None:
    opens, mark, closes, definition = _BELOW_COMMENTS[path]
    comment = "".join(
        f"{mark}Line {line} of what there is to say of how to moor.\n" for line in range(length)
    )
    above = f"{_BEFORE.get(path[path.index('.') :], '')}{opens}\n{comment}{closes}\n"
    chunks = chunk_text(path, f"{above}{definition}\n")
    (defining,) = [chunk for chunk in chunks if "moor" in chunk.defines]
    assert definition in defining.text
    assert definition_lines(defining, "moor")[0] >= above.count("\n")
    assert all(chunk.symbol != "moor" and not chunk.signature.count("moor") for chunk in chunks[:-1])
    if length > 30:
        assert defining.text.startswith(definition)
        assert chunks[-2].title.endswith("moor")


def test_nested_functions_of_a_long_function_are_found() -> None:
    inner = "".join(
        f"  function step{index}(value) {{\n{'    work(value);' * 20}\n    return value;\n  }}\n\n"
        for index in range(8)
    )
    chunks = chunk_text("factory.js", f"(function () {{\n  'use strict';\n\n{inner}}})();\n")
    assert {name for chunk in chunks for name in chunk.defines} == {f"step{index}" for index in range(8)}


def test_tests_have_titles_and_no_symbols() -> None:
    body = "    expect(1).toBe(1);\n" * 25
    cases = "".join(f"  it('does thing {index}', () => {{\n{body}  }});\n" for index in range(4))
    chunks = chunk_text("router.test.js", f"describe('router', () => {{\n{cases}}});\n")
    assert "router > does thing 2" in [chunk.header_path for chunk in chunks]
    assert all(not chunk.symbol and not chunk.defines for chunk in chunks)


def test_definitions_under_conditions_count() -> None:
    guarded = "try:\n    import fast\nexcept ImportError:\n    def slow(): ...\n"
    conditional = "if TYPE_CHECKING:\n    class Only: ...\n"
    assert chunk_text("a.py", f"{guarded}\n{conditional}")[0].defines == ("slow", "Only")


def test_broken_code_keeps_readable_definitions() -> None:
    text = "def whole():\n    return 1\n\n\ndef broken():\n    x = = 2\n    return (\n\n\ndef later(): ...\n"
    names = [name for chunk in chunk_text("a.py", text) for name in chunk.defines]
    assert "whole" in names
    assert "later" in names


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_other_line_ends_change_nothing_but_the_text(end: str) -> None:
    text = CLASSES["typescript"].text()
    chunks = chunk_text("a.ts", text)
    others = chunk_text("a.ts", text.replace("\n", end))

    def places(chunks: list[Chunk]) -> list[tuple[str, str, int, int]]:
        return [(chunk.title, chunk.signature, chunk.start_line, chunk.end_line) for chunk in chunks]

    if end == "\r":
        assert places(others) == places(chunks)
    assert [chunk.title for chunk in others] == [chunk.title for chunk in chunks]


@pytest.mark.parametrize(
    ("path", "text", "chunk_type", "language"),
    [
        ("a.py", "x = 1\n", ChunkType.CODE, "python"),
        ("run.sh", "echo\n", ChunkType.CODE, "bash"),
        ("Makefile", "all:\n\techo\n", ChunkType.CMD, "make"),
        ("ship.proto", "message Ship {}\n", ChunkType.API, "proto"),
        ("ship.graphql", "type Ship { name: String }\n", ChunkType.API, "graphql"),
        ("main.tf", 'variable "x" {}\n', ChunkType.CONFIG, "hcl"),
        ("Dockerfile", "FROM scratch\n", ChunkType.CONFIG, "dockerfile"),
        ("a.yaml", "port: 80\n", ChunkType.CONFIG, "yaml"),
        ("a.yaml", "openapi: 3.1.0\n", ChunkType.API, "yaml"),
        ("api/openapi.json", "{}\n", ChunkType.API, "json"),
        ("a.json", '{"port": 80}\n', ChunkType.CONFIG, "json"),
        ("notes.txt", "words\n", ChunkType.PROSE, "text"),
        ("noextension", "words\n", ChunkType.PROSE, ""),
        ("ship.nim", "proc sail() = discard\n", ChunkType.CODE, "nim"),
        ("ship.h", "class Ship {};\n", ChunkType.CODE, "cpp"),
    ],
)
def test_files_have_a_type_and_a_language(path: str, text: str, chunk_type: ChunkType, language: str) -> None:
    (chunk,) = chunk_text(path, text)
    assert (chunk.type, chunk.language) == (chunk_type, language)


def test_groovy_doc_comment_hides_no_definition() -> None:
    text = "/** Moors. */\nclass Ship {\n  def sail() { 1 }\n}\nclass Boat {\n  def row() { 1 }\n}\n"
    (chunk,) = chunk_text("Ship.groovy", text)
    assert chunk.defines == ("Ship", "sail", "Boat", "row")
    assert chunk.comment == "Moors."


# A comment mark and a definition. Some grammars include the line's end in a comment.
_COMMENTED = [
    ("ships.rs", "///", "pub fn moor() {}"),
    ("ships.rs", "//", "pub fn moor() {}"),
    ("ships.clj", ";;", "(defn moor [ship] ship)"),
    ("ships.zig", "///", "pub fn moor() void {}"),
    ("ships.go", "//", "func Moor() {}"),
    ("ships.cs", "///", "class Moor { }"),
    ("ships.swift", "///", "func moor() { }"),
    ("ships.dart", "///", "void moor() {}"),
    ("ships.c", "//", "int moor(void) { return 1; }"),
    ("ships.rb", "#", "def moor\nend"),
    ("ships.sh", "#", "moor() {\n  true\n}"),
    ("ships.lua", "---", "function moor() end"),
    ("ships.hs", "--", "moor :: Int\nmoor = 1"),
    ("ships.erl", "%%", "moor() -> ok."),
    ("ships.sql", "--", "CREATE TABLE moor (id int);"),
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("path", "mark", "definition"), _COMMENTED)
def test_comment_lines_form_paragraphs_between_empty_lines(
    path: str, mark: str, definition: str, line_end: str
) -> None:
    comment = [f"{mark} Moors a ship", f"{mark} at a berth.", mark, f"{mark} Slowly."]
    text = "\n".join([*comment, definition, ""]).replace("\n", line_end)
    (chunk,) = chunk_text(path, text)
    assert chunk.comment == "Moors a ship\nat a berth.\n\nSlowly."


@pytest.mark.parametrize(("path", "mark"), [("ships.rs", "//!"), ("ships.clj", ";;"), ("ships.go", "//")])
def test_header_keeps_text_after_licence_and_blank_line(path: str, mark: str) -> None:
    licence = f"{mark} Copyright 2010 The Authors.\n{mark} All rights reserved.\n"
    (chunk,) = chunk_text(path, f"{licence}\n{mark} Ships\n{mark} of the port.\n")
    assert chunk.comment == "Ships\nof the port."
