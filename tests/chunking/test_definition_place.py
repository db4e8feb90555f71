"""A chunk's definitions other than its main one are found by their lines."""

from __future__ import annotations

import pytest

from cairn.chunking.chunker import chunk_text
from cairn.chunking.definition_place import definition_lines


@pytest.mark.parametrize(
    ("path", "name", "line", "text"),
    [
        ("a.py", "ship", 4, "class Berth:\n    def free(self, ship):\n        return ship\n\n    ship = None\n"),  # noqa: E501
        ("a.go", "Limit", 4, "package a\n\nconst (\n\t// Limit bounds it.\n\tLimit = 3\n\tOther = 4\n)\n"),
        ("A.java", "name", 3, "class A {\n    /** The name of it. */\n    void go() { go(name); }\n    private String name;\n}\n"),  # noqa: E501
        ("a.js", "param", 4, "/**\n * Proxy to param.\n */\napp.all = function all() {}\napp.param = function param() {}\n"),  # noqa: E501
        ("a.h", "LIMIT", 1, "/* LIMIT bounds it. */\n#define LIMIT 3\nint bounded(int n);\n#define OTHER LIMIT\n"),  # noqa: E501
        ("a.ex", "check?", 2, "defmodule A do\n  def go(a), do: a |> check?()\n  defp check?(a), do: a\nend\n"),  # noqa: E501
    ],
)  # fmt: skip
def test_definition_line_is_found_among_lines_with_its_name(
    path: str, name: str, line: int, text: str
) -> None:
    chunk = next(chunk for chunk in chunk_text(path, text) if name in chunk.defines)
    assert definition_lines(chunk, name)[0] == line
