"""The words of a path, as they are compared with a question."""

from __future__ import annotations

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
        ("index.js", {"index"}),  # no folder that could name it
        ("Makefile", {"makefil"}),
        (".gitignore", {"gitignor"}),
        ("a.b/c.d.e", {"c"}),
    ],
)
def test_a_file_is_named_by_its_name_or_by_its_folder_where_that_says_nothing(
    path: str, words: set[str]
) -> None:
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
def test_a_name_as_one_word(path: str, name: str) -> None:
    assert joined_name(path) == name


def test_folders_are_named_by_their_words_and_as_one_word() -> None:
    assert folder_stems("thread-pool/jsonProviders/a.py") >= {
        "thread",
        "pool",
        "threadpool",
        "json",
        "provid",
    }
    assert folder_stems("sessions.py") == frozenset()
    assert "a" not in folder_stems("src/a.py")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/v3/a.py", (("src", 3),)),
        ("V10/a.py", (("", 10),)),
        ("api/v1/lib/v2/a.py", (("api", 1), ("api/v1/lib", 2))),
        ("src/v3.py", ()),
        ("src/v3beta/a.py", ()),
        ("src/av3/a.py", ()),
    ],
)
def test_folders_that_are_versions(path: str, found: tuple[tuple[str, int], ...]) -> None:
    assert versions(path) == found


@given(path=st.lists(st.text(max_size=12), min_size=1, max_size=4).map("/".join))
def test_any_path_has_names(path: str) -> None:
    assert all(name_stems(path))
    assert all(number >= 0 and path.startswith(above) for above, number in versions(path))
    assert joined_name(path) == joined_name(path).lower()
    assert "" not in folder_stems(path) or not path.isascii() or "/" in path


@pytest.mark.parametrize("name", ["README_KO.md", "README.zh-CN.md", "readme-ja.rst"])
def test_a_readme_names_the_language_that_it_is_translated_to(name: str) -> None:
    assert is_translated_readme(f"docs/{name}")


@pytest.mark.parametrize("name", ["README.md", "README_EN.md", "README-dev.md", "KO.md", "README.en-US.md"])
def test_other_readmes_are_no_translations(name: str) -> None:
    assert not is_translated_readme(name)


@pytest.mark.parametrize(
    "path", ["CHANGELOG.md", "docs/release-notes.md", "docs/whatsnew/3.md", "History.txt"]
)
def test_release_notes_are_told_by_their_names(path: str) -> None:
    assert is_release_notes(path)


@pytest.mark.parametrize("path", ["src/changes.py/a.py", "docs/releasing.md", "newspaper.md"])
def test_other_files_are_no_release_notes(path: str) -> None:
    assert not is_release_notes(path)
