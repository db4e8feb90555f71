"""Read words, versions and languages from file paths, for ranking to compare with a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from cairn.text.words import stem, stems

_BARRELS = frozenset({"index", "init", "mod", "lib", "main", "__init__", "__main__"})
"""The file stems that say nothing about a file; such a file takes the name of its folder."""
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_LANGUAGE = re.compile(
    r"(ar|az|be|bg|bn|ca|cs|da|de|el|en|es|et|fa|fi|fr|he|hi|hu|hy|id|it|ja|ka|kk|ko|lt|lv|mk|ms|nl|no|pl|pt|ro|ru|sk|sl"
    r"|sq|sr|sv|th|tr|uk|ur|uz|vi|zh)(?:[-_][a-z]{2,4})?"
)
_TRANSLATED_README = re.compile(rf"readme[._-](?!en\b){_LANGUAGE.pattern}\.\w+")
_RELEASE_NOTES = re.compile(
    r"(?:^|/)(?:change_?logs?|changes|history|news|release[-_ ]?notes|releases)(?:\.\w+)?\Z"
    r"|(?:^|/)(?:change_?logs?|changes|news(?:fragments)?|releasenotes|whatsnew|\.changeset|changelog\.d)/"
)
_FORMER = re.compile(
    r"versioned[_-]docs|(?:version|ver|release|v)?[-_.]?\d+\.(?:\d+|x)(?:\.\w+)*|legacy|old|archived?|deprecated|previous"
)
_VERSION = re.compile(r"v(\d+)")
_CACHED_NAMES, _CACHED_FOLDERS = 10_000, 5_000
"""The maximum numbers of cached paths of files and of folders. Successive queries compare mostly the same few
hundred files."""


@lru_cache(maxsize=_CACHED_NAMES)
def name_stems(path: str) -> tuple[str, ...]:
    """Return the stems of the words in a file's name. If the name says nothing, the folder's name is used."""
    return stems(_name(path))


@lru_cache(maxsize=_CACHED_NAMES)
def joined_name(path: str) -> str:
    """Return the file's name as one lower-case word: `thread-pool.c` → threadpool."""
    return _SEPARATORS.sub("", _name(path).lower())


@lru_cache(maxsize=_CACHED_FOLDERS)
def folder_stems(folders: str) -> frozenset[str]:
    """Return the stems of the words in the folder names of a path, and of each folder name as one word."""
    return frozenset(
        word
        for folder in folders.split("/")
        for word in (*stems(folder), stem(_SEPARATORS.sub("", folder.lower())))
        if folder
    )


@lru_cache(maxsize=_CACHED_FOLDERS)
def versions(folders: str) -> tuple[tuple[str, int], ...]:
    """Return the version folders in a path of folders: the path above each one, and its version number."""
    return tuple((above, int(number)) for above, number in _folders_like(_VERSION, folders))


@lru_cache(maxsize=_CACHED_FOLDERS)
def languages(folders: str) -> tuple[tuple[str, str], ...]:
    """Return the folders in a path that are named after a language: the path above each, and the code."""
    return tuple(_folders_like(_LANGUAGE, folders))


@lru_cache(maxsize=_CACHED_NAMES)
def is_translated_readme(path: str) -> bool:
    """Return whether the file is a README not in English: `README_KO.md`, `README.zh-CN.md`."""
    return bool(_TRANSLATED_README.fullmatch(path.rpartition("/")[2].lower()))


@lru_cache(maxsize=_CACHED_NAMES)
def is_release_notes(path: str) -> bool:
    return bool(_RELEASE_NOTES.search(path.lower()))


def former(paths: Iterable[str], beside: str) -> frozenset[str]:
    """Return those of the paths that are in a folder of a former version of the code or documents, in which
    `beside` is not: `legacy`, `versioned_docs/version-9.x`, or `v1` where there is `v2` or the same file
    without the folder."""
    every = frozenset(paths)
    latest: dict[str, int] = {}
    for path in {*every, beside}:
        for above, number in versions(path.rpartition("/")[0]):
            latest[above] = max(number, latest.get(above, 0))
    own = set(beside.lower().split("/")[:-1])

    def is_former(path: str) -> bool:
        folders = path.split("/")[:-1]
        if any(_FORMER.fullmatch(folder.lower()) and folder.lower() not in own for folder in folders):
            return True
        for above, number in versions("/".join(folders)):
            rest = path[len(above) :].lstrip("/").partition("/")[2]
            without = f"{above}/{rest}" if above else rest
            if f"v{number}" not in own and (number < latest[above] or without in every):
                return True
        return False

    return frozenset(filter(is_former, every))


def translations(path: str, others: Iterable[str]) -> list[str]:
    """Return those of the `others` that have the same path but for a language, those in English or without a
    language first."""
    plain, own = without_language(path)
    found = [(other, *without_language(other)) for other in others]
    alike = [(code not in ("", "en"), other) for other, rest, code in found if rest == plain and code != own]
    return [other for _, other in sorted(alike)]


def without_language(path: str) -> tuple[str, str]:
    """Return the path without the folder or suffix that names a language, and the language."""
    *folders, name = path.lower().split("/")
    for place, folder in enumerate(folders):
        if match := _LANGUAGE.fullmatch(folder):
            return "/".join([*folders[:place], *folders[place + 1 :], name]), match[1]
    stem, _, suffix = name.rpartition(".")
    if match := re.fullmatch(rf"(?P<stem>.+)[._-]{_LANGUAGE.pattern}", stem):
        return "/".join([*folders, f"{match['stem']}.{suffix}"]), match[2]
    return "/".join([*folders, name]), ""


def _folders_like(pattern: re.Pattern[str], path: str) -> Iterator[tuple[str, str]]:
    folders = path.split("/")
    for place, folder in enumerate(folders):
        if match := pattern.fullmatch(folder.lower()):
            yield "/".join(folders[:place]), match[1]


def _name(path: str) -> str:
    *folders, name = path.split("/")
    file_stem = name.partition(".")[0] or name
    return folders[-1] if file_stem.lower() in _BARRELS and folders else file_stem
