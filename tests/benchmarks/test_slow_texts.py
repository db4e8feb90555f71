"""Texts that once took minutes are read in linear time, as `benchmarks/slow_texts.py` measures it."""

from __future__ import annotations

from functools import partial

import pytest
import slow_texts
from slow_texts import readers, used_seconds

SIZE = 20_000
LIMIT_SECONDS = 2.0
"""The processor time for a text of 20,000 characters. Each took less than 0.3 s when this was written."""
BLANKS = " " * SIZE


def repeated(unit: str) -> str:
    return (unit * SIZE)[:SIZE]


SLOW = [
    ("inline markup", repeated("`")),
    ("inline markup", f"[a]({BLANKS}"),
    ("inline markup", repeated("_a ") + repeated("a* ")),
    ("prose passages", repeated("[^")),
    ("prose passages", f"A {repeated('`')}{repeated('`')} b."),
    ("prose passages of Markdown", repeated("A *b*. ")),
    ("sentences", f"{repeated('!')} A b."),
    ("statement", f"{'a(' * 5_000}{')' * 5_000}"),
    ("verbatim", f"[a]({BLANKS}"),
    ("query", f"Warum ist {repeated('a')}"),
    ("query", f"Warum ist {repeated('.')}"),
    ("query", "Warum ist a\n" + "\n" * SIZE),
    ("query", repeated("::")),
    ("query", f"what is {repeated('.')}x"),
    ("report", f"The parser fails\n# a{' ' * 9_000}b\n# c\n"),
    ("report", f'The parser fails\na{" " * 9_000}b\nFile "a.py", line 1, in f\nValueError: a b\n'),
    ("trace", "\n" * 9_000 + 'File "a.py", line 1, in f\n'),
    ("code passages", repeated("a = ")),
    ("prose passages of Markdown", repeated("<p ")),
    ("prose passages of Markdown", repeated("> \n>")),
    ("sentences", repeated("a.b_")),
    ("ignore file", repeated("[a")),
    ("JSON with comments", repeated('\\" ')),
    ("JSON with comments", repeated("/*")),
    ("manifest package.json", repeated("[")),
    ("imports, python", f"from{BLANKS}x"),
    ("imports, lua", f"local{BLANKS}x"),
    ("imports, rust", f"pub use{BLANKS}x"),
    ("imports, solidity", repeated("\nimport a")),
]
CHUNKED = [
    ("a.py", f"from{BLANKS}a import b\n"),
    ("a.ex", f"alias A.{{B{BLANKS}C}}\n"),
    ("a.go", f"package a\nimport (\n// {repeated('a')}\n)\n"),
    ("a.js", f'import {{a}} from "{repeated("/*")}";\n'),
    ("a.md", f"---\ntitle: a{BLANKS}b\n---\nText.\n"),
    ("a.md", f'<a name="a">{BLANKS}b\n# A\n'),
    ("a.svelte", repeated("{{\n")),
]


@pytest.mark.parametrize(("reader", "text"), SLOW)
def test_reader_takes_linear_time(reader: str, text: str) -> None:
    assert used_seconds(partial(readers()[reader], text), 2 * LIMIT_SECONDS) < LIMIT_SECONDS


@pytest.mark.parametrize(("path", "text"), CHUNKED)
def test_chunks_take_linear_time(path: str, text: str) -> None:
    assert used_seconds(partial(slow_texts.chunks_of(path), text), 2 * LIMIT_SECONDS) < LIMIT_SECONDS


def test_pattern_makes_texts_that_are_slow_for_it() -> None:
    import re

    pattern = re.compile(r"(a+)+b")
    texts = slow_texts.texts_of_pattern(pattern, 22)
    assert any(used_seconds(partial(pattern.search, text), 1) > 0.05 for text in texts)
