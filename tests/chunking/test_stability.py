"""An edit changes only the chunks around it, so that other vectors and citations stay valid."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.chunking.chunker import chunk_text
from cairn.chunking.outline import MINIMUM


def _python(name: str, rows: int) -> str:
    body = "".join(f"    value = {name}_{row}(value)\n" for row in range(rows))
    return f"def {name}(value):\n{body}\n\n"


def _rust(name: str, rows: int) -> str:
    return f"fn {name}(v: i32) {{\n" + "".join(f"    {name}_{row}(v);\n" for row in range(rows)) + "}\n\n"


def _typescript(name: str, rows: int) -> str:
    body = "".join(f"  {name}_{row}(v);\n" for row in range(rows))
    return f"export function {name}(v) {{\n{body}}}\n\n"


def _section(name: str, rows: int) -> str:
    sentences = "".join(f"What {name} says in sentence number {row}.\n" for row in range(rows))
    return f"## {name}\n\n{sentences}\n"


_WRITERS = {"a.py": _python, "a.rs": _rust, "a.ts": _typescript, "a.md": _section}
_by_language = pytest.mark.parametrize(("path", "write"), _WRITERS.items(), ids=_WRITERS)


def _texts(path: str, parts: list[str]) -> set[str]:
    return {chunk.text for chunk in chunk_text(path, "".join(parts))}


@_by_language
@settings(max_examples=40)
@given(rows=st.lists(st.integers(60, 200), min_size=3, max_size=12), data=st.data())
def test_edit_in_one_definition_keeps_other_chunks(
    path: str, write: Callable[[str, int], str], rows: list[int], data: st.DataObject
) -> None:
    parts = [write(f"part{index}", count) for index, count in enumerate(rows)]
    assert min(map(len, parts)) > MINIMUM
    edited = data.draw(st.integers(0, len(parts) - 1))
    lines = parts[edited].splitlines(keepends=True)
    at = data.draw(st.integers(2, len(lines) - 3))
    change = data.draw(st.sampled_from([[], [lines[at], lines[at]], [lines[at].replace("part", "other")]]))
    changed = "".join([*lines[:at], *change, *lines[at + 1 :]])
    before, after = _texts(path, parts), _texts(path, [*parts[:edited], changed, *parts[edited + 1 :]])
    for index, part in enumerate(parts):
        if index != edited:
            own = {chunk for chunk in before if f"part{index}_0(" in chunk or f"part{index}(" in chunk}
            assert own <= after, part


@_by_language
@settings(max_examples=40)
@given(rows=st.lists(st.integers(60, 200), min_size=2, max_size=10), more=st.integers(1, 200))
def test_new_first_definition_keeps_the_chunks_below(
    path: str, write: Callable[[str, int], str], rows: list[int], more: int
) -> None:
    parts = [write(f"part{index}", count) for index, count in enumerate(rows)]
    # A short first definition at most shares the chunk of the next one.
    assert _texts(path, parts[1:]) - _texts(path, [parts[1]]) <= _texts(path, [write("added", more), *parts])


@_by_language
def test_most_shared_chunks_survive_an_edit(path: str, write: Callable[[str, int], str]) -> None:
    # Definitions are short and long: cuts after an edit may move until they meet the earlier ones. In 628
    # real files with an edit of one line, 96 to 98 % of the other chunks were unchanged on average, all at
    # the median.
    dice = random.Random(7)
    shares = []
    for _ in range(15):
        parts = [write(f"part{index}", dice.choice((1, 3, 8, 20, 60, 150))) for index in range(40)]
        lines = "".join(parts).splitlines(keepends=True)
        at = dice.randrange(len(lines))
        chunks = chunk_text(path, "".join(parts))
        after = _texts(path, [*lines[:at], lines[at], *lines[at:]])
        elsewhere = [chunk for chunk in chunks if not chunk.start_line <= at < chunk.end_line]
        shares.append(sum(chunk.text in after for chunk in elsewhere) / len(elsewhere))
    assert sum(shares) / len(shares) > 0.9
