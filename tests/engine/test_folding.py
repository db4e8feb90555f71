"""Which lines of a file are folded in long ranges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.engine.file_outline import outline_of_text
from cairn.engine.folding import folds

DOC = "".join(f"/// line {number}\n" for number in range(9))
NOTE = "".join(f"    // reason {number}\n" for number in range(9))
IMPORTS = "".join(f"use port::berth{number};\n" for number in range(5))
TESTS = f"mod tests {{\n{''.join(f'    fn test_{n}() {{}}{chr(10)}' for n in range(12))}}}\n"
DOCSTRING = 'def moor():\n    """Moor.\n' + "    More.\n" * 8 + '    """\n    return 1\n'


@pytest.mark.parametrize(
    ("path", "text", "folded"),
    [
        pytest.param("a.rs", f"{DOC}fn moor() {{}}\n", [(2, 9, "comment")], id="the rest of a doc comment"),
        pytest.param("a.go", f"x := 1\n{NOTE}func moor() {{}}\n", [(3, 10, "comment")], id="a comment on it"),
        pytest.param("a.rs", f"fn moor() {{\n{NOTE}    go();\n}}\n", [], id="no reason within a function"),
        pytest.param("a.rs", f"// licence\n{IMPORTS}fn moor() {{}}\n", [(1, 6, "imports")], id="imports"),
        pytest.param("a.rs", f"fn moor() {{}}\n{TESTS}", [(2, 15, "tests")], id="a module of tests"),
        pytest.param("a.py", DOCSTRING, [(3, 10, "comment")], id="the rest of a docstring"),
        pytest.param("a.py", "# a\n" * 9, [(2, 9, "comment")], id="a comment alone"),
        pytest.param("a.py", 'x = """a\n' + "b\n" * 20 + '"""\n', [], id="no string"),
    ],
)
def test_what_a_reader_can_do_without_is_folded(path: str, text: str, folded: list[Any]) -> None:
    found = folds(text.split("\n")[:-1], outline_of_text(path, text))
    assert [(each.start, each.end, each.what) for each in found] == folded


@given(st.lists(st.sampled_from(["", "# a", "/// b", '"""', "import os", "    x = 1", "'''c", "/** d */"])))
def test_folds_are_within_any_text_and_do_not_overlap(lines: list[str]) -> None:
    last = 0
    for each in folds(lines, ()):
        assert last <= each.start < each.end <= len(lines)
        last = each.end
