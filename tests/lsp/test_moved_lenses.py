"""While unsaved text is being read, the last lenses move with their definitions."""

from __future__ import annotations

import pytest

from cairn.engine.lenses import Lens
from cairn.lsp.lenses import moved_lenses
from cairn.protocol import ContextSection

BEFORE = """import os

def one():
    pass

def two():
    pass

def three():
    pass
"""
LINES = {"one": 2, "two": 5, "three": 8}


def lens(name: str, line: int) -> Lens:
    return Lens((name, 0), line, 0, 4, ContextSection.CALLERS)


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (BEFORE, LINES),
        ("# one\n# two\n" + BEFORE, {"one": 4, "two": 7, "three": 10}),
        (BEFORE.replace("import os\n\n", ""), {"one": 0, "two": 3, "three": 6}),
        (BEFORE.replace("pass\n\ndef two", "pass\n    pass\n\ndef two"), {"one": 2, "two": 6, "three": 9}),
        (BEFORE.replace("def two():", "def two(a"), LINES),
        (BEFORE.replace("def two():\n    pass\n\n", ""), {"one": 2, "three": 5}),
        (
            BEFORE.replace("import os", "import re\nimport os") + "\n\ntail\n",
            {"one": 3, "two": 6, "three": 9},
        ),
        (BEFORE.replace("\n", "\r\n"), LINES),
        ("", {}),
    ],
)
def test_lenses_move_with_their_lines(after: str, lines: dict[str, int]) -> None:
    shown = [lens(name, line) for name, line in LINES.items()]
    assert {each.definition[0]: each.line for each in moved_lenses(shown, BEFORE, after)} == lines


def test_definitions_of_one_text_keep_their_order() -> None:
    before = "class A:\n    def f(self):\n        pass\nclass B:\n    def f(self):\n        pass\n"
    after = "top\n" + before.replace("pass", "...") + "end\n"
    shown = [lens("A.f", 1), lens("B.f", 4)]
    assert [each.line for each in moved_lenses(shown, before, after)] == [2, 5]
