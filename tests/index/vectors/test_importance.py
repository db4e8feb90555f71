"""Chunks that users are likely to search first get their vectors first."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.index.vectors.vector_intake import by_importance
from cairn.index.vectors.vector_store import Waiting
from cairn.workspace.collections import FileKind, file_kind

NOW = time.time_ns()
LONG_AGO = NOW - 10 * 24 * 3600 * 10**9


def waiting(*paths: str, edited: tuple[str, ...] = ()) -> list[Waiting]:
    return [
        Waiting(number, path, file_kind(path), NOW if path in edited else LONG_AGO)
        for number, path in enumerate(paths)
    ]


def order(chunks: list[Waiting], open_paths: tuple[str, ...] = ()) -> list[str]:
    by_id = {chunk.chunk_id: chunk.path for chunk in chunks}
    return [by_id[each] for each in by_importance(chunks, open_paths)]


def test_classes_of_files_come_in_order() -> None:
    expected = [
        "src/deep/down/open.py",
        "src/edited.py",
        "src/main.py",
        "docs/guide.md",
        "src/parser.py",
        "setup.cfg",
        "examples/first.py",
        "tests/test_parser.py",
    ]
    chunks = waiting(*expected[::-1], edited=("src/edited.py",))
    assert order(chunks, ("src/deep/down/open.py",)) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("README.md", "docs/guide.md"),
        ("pkg/__init__.py", "pkg/parser.py"),
        ("src/lib.rs", "src/a.rs"),
        ("web/index.ts", "web/about.ts"),
        ("b.py", "a/a.py"),
        ("src/z.py", "tests/main.py"),
    ],
)
def test_entry_points_and_shallow_files_come_first(first: str, second: str) -> None:
    assert order(waiting(second, first)) == [first, second]


def test_chunks_of_a_file_keep_their_order() -> None:
    chunks = [Waiting(number, "a.py", "source", LONG_AGO) for number in (3, 1, 2)]
    assert by_importance(chunks, ()) == [1, 2, 3]


def test_recent_edits_do_not_count_after_a_checkout() -> None:
    paths = ("src/z.py", "docs/guide.md", "src/old.py")
    assert order(waiting(*paths, edited=("src/z.py",)))[0] == "src/z.py"
    assert order(waiting(*paths, edited=("src/z.py", "src/old.py")))[0] == "docs/guide.md"


NAMES = st.text("aZ/. é\x00", max_size=20)
CHUNKS = st.builds(Waiting, st.integers(), NAMES, st.sampled_from(FileKind), st.integers(-1, 2**62))


@settings(max_examples=30)
@given(st.lists(CHUNKS, max_size=20, unique_by=lambda chunk: chunk.chunk_id))
def test_every_chunk_is_kept(chunks: list[Waiting]) -> None:
    assert sorted(by_importance(chunks, ("a",))) == sorted(chunk.chunk_id for chunk in chunks)
