"""Where in a chunk a name is defined, beside what it is called after."""

from __future__ import annotations

import pytest

from cairn.chunking.chunker import chunk_text
from cairn.chunking.definition_place import definition_lines


@pytest.mark.parametrize(
    ("path", "text", "name", "line"),
    [
        (
            "a.py",
            "class Berth:\n    def free(self, ship):\n        return ship\n\n    ship = None\n",
            "ship",
            "    ship = None",
        ),
        (
            "a.go",
            "package a\n\nconst (\n\t// Limit bounds it.\n\tLimit = 3\n\tOther = 4\n)\n",
            "Limit",
            "\tLimit = 3",
        ),
        (
            "A.java",
            "class A {\n    /** The name of it. */\n    void go() { go(name); }\n    private String name;\n}\n",
            "name",
            "    private String name;",
        ),
        (
            "a.js",
            "/**\n * Proxy to param.\n */\napp.all = function all() {}\napp.param = function param() {}\n",
            "param",
            "app.param = function param() {}",
        ),
        (
            "a.h",
            "/* LIMIT bounds it. */\n#define LIMIT 3\nint bounded(int n);\n#define OTHER LIMIT\n",
            "LIMIT",
            "#define LIMIT 3",
        ),
        (
            "a.ex",
            "defmodule A do\n  def go(a), do: a |> check?()\n  defp check?(a), do: a\nend\n",
            "check?",
            "  defp check?(a), do: a",
        ),
    ],
)
def test_a_definition_is_found_among_the_lines_that_name_it(
    path: str, text: str, name: str, line: str
) -> None:
    chunk = next(chunk for chunk in chunk_text(path, text) if name in chunk.defines)
    assert text.splitlines()[definition_lines(chunk, name)[0]] == line
