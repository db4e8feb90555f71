"""How alike the names of two files are, apart from marks of tests."""

from __future__ import annotations

from functools import lru_cache

from cairn.index.queries.relations import file_stem
from cairn.text.identifiers import words_in
from cairn.text.words import stem

stem_of = lru_cache(50_000)(file_stem)
_MARKS = frozenset({"test", "spec", "unittest", "it"})
_NAMED_BY_FOLDER = frozenset({"__init__", "__main__", "index", "mod", "lib"})
_PLAIN = frozenset({"src", "lib", "main", "app", "unit", "java", "kotlin", "test", "spec", "__tests__"})


@lru_cache(50_000)
def name_words(path: str) -> frozenset[str]:
    """Return the stems of the words of a file's name up to the first dot, without marks of tests; of a file
    such as `index.ts`, those of its folder."""
    folder, _, name = path.rpartition("/")
    shown = name.partition(".")[0]
    return words_of_name(folder.rpartition("/")[2] if shown in _NAMED_BY_FOLDER else shown)


@lru_cache(50_000)
def words_of_name(name: str) -> frozenset[str]:
    """Return the stems of the words of a name, without marks of tests."""
    return frozenset(map(stem, words_in(name))) - _MARKS


def is_same_name(path: str, other: str) -> bool:
    """Whether two files have one name, apart from marks of tests and suffixes."""
    return bool(stem_of(path)) and stem_of(path) == stem_of(other)


@lru_cache(50_000)
def path_words(path: str) -> frozenset[str]:
    """Return the stems of all words of a path, without marks of tests and folders that every project has."""
    folders = (stem(word) for folder in path.split("/")[:-1] for word in words_in(folder))
    return name_words(path).union(folders) - _PLAIN


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common words, 0 to 1."""
    return len(one & other) / len(one | other) if one and other else 0.0
