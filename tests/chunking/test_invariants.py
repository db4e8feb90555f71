"""Chunks cover any text in any language, however broken."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk

_PATHS = """
    a.py a.js a.ts a.tsx a.go a.rs A.java a.kt a.c a.h a.cpp a.cs a.rb a.php a.swift a.scala a.ex a.lua
    a.sh A.hs a.dart a.zig a.m a.pl a.R a.jl a.ml a.erl a.clj a.nix a.sql a.proto a.graphql a.tf a.css
    a.scss a.html a.vue a.svelte a.astro a.ps1 a.f90 Makefile CMakeLists.txt a.sol a.vim a.md a.rst a.adoc
    a.org a.tex a.typ a.txt a.json a.yaml a.toml a.ini a.xml a.csv Dockerfile a.nim a.unknown README
    a.razor a.cshtml a.erb a.j2 a.blade.php
""".split()
"""One file name for each way of cutting and for the grammars with the largest tables."""
_FRAGMENTS = (
    "\n", "\r", "\r\n", "\n\n\n", "\x0b", "\x0c", "\u2028", "\x85", "\0", "\t", "    ", "\ufeff", "\ud800",
    "é漢🎉", "```\n", "```python\n", "~~~\n", "    ```\n", "# a\n", "## b\n", "---\n", "===\n", "- item\n",
    "| a | b |\n", ".. code::\n\n    x\n", "::\n\n    x\n", "----\n", "#+begin_src\n", "<!--\n", "-->\n",
    "<script>\n", "</script>\n", "def f(a):\n", "    return 1\n", "class A {\n", "class B:\n", "@decorated\n",
    "function f() {\n", "fn a() {}\n", "impl A for B {\n", "}\n", "end\n", "x = 1;\n", "const y = () => {\n",
    "/* c\n", "*/\n", "// c\n", "-- c\n", '"""', "'", '"', "(", "[", "{", "#ifdef A\n", "#endif\n",
    "@code {\n", "{% block a %}\n", "{% macro a(b) %}", "{% endblock %}", "<% def a %>", "{{ a(", "@a(1)\n",
    "defmodule A do\n", "a:\n  b: 1\n", "[s]\n", "word " * 60, "x" * 3000,
)  # fmt: skip
_TEXTS = st.one_of(
    st.lists(st.sampled_from(_FRAGMENTS), max_size=60).map("".join),
    st.lists(st.sampled_from(_FRAGMENTS), min_size=2, max_size=12).map(lambda parts: "".join(parts) * 40),
    st.text(max_size=300),
)


def _check(path: str, text: str, chunks: list[Chunk]) -> None:
    assert "".join(chunk.text for chunk in chunks) == (text if text.strip() else "")
    line = 0
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.start_line == line
        assert chunk.text.strip()
        is_last = position + 1 == len(chunks)
        line_ends = len(re.findall(r"\r\n|\r|\n", chunk.text))
        assert chunk.end_line - line - is_last <= line_ends <= chunk.end_line - line
        # A chunk ends with a line end, and the \r and \n of one line end are not separated.
        assert is_last or chunk.text[-1] in "\r\n"
        assert not (chunk.text.startswith("\n") and position and chunks[position - 1].text.endswith("\r"))
        assert len(chunk.signature) <= 300
        assert len(chunk.comment) <= 600
        assert composite_text(path, "source", chunk).strip()
        assert chunk.content_hash
        line = chunk.end_line


@settings(max_examples=600)
@given(st.sampled_from(_PATHS), _TEXTS)
@example("a.R", "\n\n\n\n\n----\n" + "x" * 3000 + "<script>\n")
@example("a.go", "x" * 3000 + "---\n\x85")
def test_chunks_cover_all_lines_in_order(path: str, text: str) -> None:
    chunks = chunk_text(path, text)
    _check(path, text, chunks)
    assert chunk_text(path, text) == chunks


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n\t", "\x0b\u2028"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert [path for path in _PATHS if chunk_text(path, text)] == []


def test_one_line_without_an_end_is_one_chunk() -> None:
    for path in _PATHS:
        (chunk,) = chunk_text(path, "one line")
        assert (chunk.start_line, chunk.end_line, chunk.text) == (0, 1, "one line"), path


@pytest.mark.parametrize(
    "path", ["a.py", "a.js", "a.c", "a.rs", "A.java", "a.rb", "a.md", "a.json", "a.html"]
)
@pytest.mark.parametrize(
    "text",
    [
        "(\n" * 20_000,
        "{\n" * 20_000,
        "- a\n" * 20_000,
        "x" * 200_000,
        "".join(" " * i + "a\n" for i in range(400)),
    ],
    ids=["parentheses", "braces", "list", "one line", "staircase"],
)
def test_deep_and_long_texts_are_chunked(path: str, text: str) -> None:
    _check(path, text, chunk_text(path, text))


@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.adoc", "a.org", "a.toml", "a.py", "a.h", "a.nim"])
@pytest.mark.parametrize(
    "line",
    [
        "# a{0}b",
        "{0}x```",
        "[{0}",
        "* a{0}b",
        "class {1}: pass",
        "# {2}",
        "/* {0}x */",
        "def{0}",
        "{1}\n====",
    ],
)
def test_long_lines_take_little_time(path: str, line: str) -> None:
    # A pattern that tries such a line in many ways would take minutes.
    text = line.format(" " * 50_000, "A" * 50_000, "![" * 25_000) + "\n"
    started = time.process_time()
    _check(path, text, chunk_text(path, text))
    assert time.process_time() - started < 5


def test_threads_do_not_share_parsers() -> None:
    text = "class A:\n" + "".join(
        f"    def method_{index}(self):\n        return {index}\n\n" for index in range(300)
    )
    expected = chunk_text("a.py", text)
    with ThreadPoolExecutor(4) as pool:
        assert all(chunks == expected for chunks in pool.map(lambda _: chunk_text("a.py", text), range(16)))
