"""Paths are read as words, versions and languages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.file_names import (
    folder_stems,
    is_release_notes,
    is_translated_readme,
    joined_name,
    name_stems,
    versions,
)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("src/sessions.py", {"session"}),
        ("src/ThreadPool.test.ts", {"thread", "pool"}),
        ("src/add_url-rule.js", {"add", "url", "rule"}),
        ("src/json/__init__.py", {"json"}),
        ("src/json/index.ts", {"json"}),
        ("src/json/mod.rs", {"json"}),
        ("src/Index.vue", {"src"}),
        ("index.js", {"index"}),  # there is no folder to name it
        ("Makefile", {"makefil"}),
        (".gitignore", {"gitignor"}),
        ("a.b/c.d.e", {"c"}),
    ],
)
def test_a_generic_file_name_is_replaced_by_its_folder(path: str, words: set[str]) -> None:
    assert set(name_stems(path)) == words


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/thread-pool.c", "threadpool"),
        ("src/ThreadPool.cs", "threadpool"),
        ("src/thread_pool/__init__.py", "threadpool"),
        ("docs/日本.md", ""),
    ],
)
def test_a_name_is_joined_to_one_word(path: str, name: str) -> None:
    assert joined_name(path) == name


def test_folder_stems_are_words_and_joined_names() -> None:
    stems = folder_stems("thread-pool/jsonProviders")
    assert stems >= {"thread", "pool", "threadpool", "json", "provid"}
    assert folder_stems("") == frozenset()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/v3", (("src", 3),)),
        ("V10", (("", 10),)),
        ("api/v1/lib/v2", (("api", 1), ("api/v1/lib", 2))),
        ("src/v3beta", ()),
        ("src/av3", ()),
    ],
)
def test_version_folders_are_recognised(path: str, found: tuple[tuple[str, int], ...]) -> None:
    assert versions(path) == found


@given(path=st.lists(st.text(max_size=12), min_size=1, max_size=4).map("/".join))
def test_any_path_has_names(path: str) -> None:
    assert all(name_stems(path))
    assert all(number >= 0 and path.startswith(above) for above, number in versions(path))
    assert joined_name(path) == joined_name(path).lower()
    assert folder_stems(path) or not re.search("[a-z0-9]", path.lower())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/README_KO.md", True),
        ("docs/README.zh-CN.md", True),
        ("docs/readme-ja.rst", True),
        ("README.md", False),
        ("README_EN.md", False),
        ("README-dev.md", False),
        ("KO.md", False),
        ("README.en-US.md", False),
    ],
)
def test_a_translated_readme_names_its_language(path: str, expected: bool) -> None:
    assert is_translated_readme(path) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("CHANGELOG.md", True),
        ("docs/release-notes.md", True),
        ("docs/whatsnew/3.md", True),
        ("History.txt", True),
        ("src/changes.py/a.py", False),
        ("docs/releasing.md", False),
        ("newspaper.md", False),
    ],
)
def test_release_notes_are_recognised_by_name(path: str, expected: bool) -> None:
    assert is_release_notes(path) is expected
