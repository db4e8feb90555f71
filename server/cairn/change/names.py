"""How alike the names of two files are, apart from marks of tests."""

from __future__ import annotations

from functools import lru_cache

from cairn.index.queries.relations import file_stem
from cairn.text.identifiers import words_in
from cairn.text.words import stem

_MARKS = frozenset({"test", "spec", "unittest", "it"})
_PLAIN = frozenset({"src", "lib", "main", "app", "unit", "java", "kotlin", "test", "spec", "__tests__"})


@lru_cache(50_000)
def name_words(path: str) -> frozenset[str]:
    """Return the stems of the words of a file's name up to the first dot, without marks of tests; of a file
    that is named by its folder, those of the folder."""
    folder, _, name = path.rpartition("/")
    shown = name.partition(".")[0]
    if not file_stem(path):
        shown = folder.rpartition("/")[2]
    return frozenset(map(stem, words_in(shown))) - _MARKS


@lru_cache(50_000)
def path_words(path: str) -> frozenset[str]:
    """Return the stems of all words of a path, without marks of tests and folders that every project has."""
    folders = (stem(word) for folder in path.split("/")[:-1] for word in words_in(folder))
    return name_words(path).union(folders) - _PLAIN


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common words, 0 to 1."""
    return len(one & other) / len(one | other) if one and other else 0.0
