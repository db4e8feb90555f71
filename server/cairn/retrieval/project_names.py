"""Recognise the names of the indexed project in a question.

Whoever asks "how does vitest retry a test" in vitest's own repository names the project, but every path, README
and import there has this word: it chooses files that are about the project as a whole, or are called like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath

from cairn.errors import CairnError
from cairn.index.queries.files import introducing_files
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.deadline import never
from cairn.retrieval.introductions import name_key, project_of, subject_of
from cairn.retrieval.typing_errors import is_common
from cairn.retrieval.wording import read_words

_MOST_WORDS = 3
"""The maximum number of words of a name, such as "Spring Boot"."""
_FEWEST_TERMS = 2
"""The minimum number of other words that make a question. "zod object" and "the Flask class" mean definitions."""
_GENERIC = frozenset(
    "api app backend cli client code core demo doc docs frontend home lib main monorepo package packages "
    "project readme repo repository root server service src test tests tmp web website workspace".split()
)
"""Names of folders and packages that also name a part of any project."""
_ORGANISED = re.compile(r'^\s*"name"\s*:\s*"@?([^"\n/]+)(?:/([^"\n]+))?"', re.MULTILINE)
_WORD = re.compile(r"(?<![\w@./:\\#-])[^\W_][\w.-]*[^\W_](?![\w/:\\#(\[-]|\.\w)")
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”|`[^`]*`|(?<!\w)\'[^\'\n]*\'(?!\w)')
_KIND = (
    r"(?:class|struct|trait|interface|enum|type|function|method|constructor|decorator|macro|module|package|crate"
    r"|folder|directory|file|instance)s?"
)
_IS_PART = re.compile(rf"(?:'s?)?\s+{_KIND}\b", re.IGNORECASE)
_PART_IS = re.compile(rf"\b{_KIND}\s+\Z", re.IGNORECASE)
_DETERMINED = re.compile(r"\b(?:an?|the|each|every|this|that|some|any|no|all|one|my|your|its)\s+\Z", re.IGNORECASE)
_JOINED = re.compile(r"(?:\b(?:in|of|with|within|inside|for|by)\s+)?\Z", re.IGNORECASE)


def without_project_name(text: str, vocabulary: IndexVocabulary | None) -> str:
    """Return a question about a single index without the name of its project.

    The name stays where it may mean a part: in quotes and paths, beside "class" or "package", in a question of
    few other words, and in a question for an overview. A common English word stays after an article.
    """
    names = _names_in(vocabulary) if vocabulary and "\n" not in text.strip() else frozenset()
    if not names or name_key(subject_of(text)) in names:
        return text
    kept, end = [], 0
    for start, stop in _mentions(text, names):
        joined = _JOINED.search(text, end, start)
        kept.append(text[end : joined.start() if joined else start])
        end = stop
    rest = " ".join("".join([*kept, text[end:]]).split()).strip(" ,")
    return rest if kept and len(read_words(rest).terms) >= _FEWEST_TERMS else text


def _mentions(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges in `text` that name the project, each with a possessive ending."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    words, place = list(_WORD.finditer(text)), 0
    while place < len(words):
        found = _longest(text, words[place : place + _MOST_WORDS], names)
        if found is None:
            place += 1
            continue
        start, stop, count = found
        place += count
        if any(first <= start < last for first, last in quoted):
            continue
        if _IS_PART.match(text, stop) or _PART_IS.search(text[:start]):
            continue
        if _DETERMINED.search(text[:start]) and is_common(text[start:stop].lower()):
            continue
        possessive = re.compile(r"['’]s?\b").match(text, stop)
        yield start, possessive.end() if possessive else stop


def _longest(
    text: str, words: list[re.Match[str]], names: frozenset[str]
) -> tuple[int, int, int] | None:
    """Return the range of the longest name at the beginning of `words`, and its number of words."""
    for count in range(len(words), 0, -1):
        start, stop = words[0].start(), words[count - 1].end()
        if text[start:stop].count(" ") == count - 1 and name_key(text[start:stop]) in names:
            return start, stop, count
    return None


def _names_in(vocabulary: IndexVocabulary) -> frozenset[str]:
    # The name of one of several projects chooses its folder.
    if len(vocabulary.readers) != 1:
        return frozenset()
    (reader,) = vocabulary.readers
    try:
        return reader.cached("project names", partial(_names_of, reader.saved, vocabulary.main_collection))
    except CairnError:  # the search itself reports the error
        return frozenset()


def _names_of(reader: IndexReader, collection: str) -> frozenset[str]:
    """Return the keys of the project's names: of its folder, its manifests and its README."""
    names = [PurePath(reader.root).name, project_of(collection)]
    for path in introducing_files(reader, ("package.json",), 1, never):
        first = next(iter(reader.page(path) if "/" not in path else ()), None)
        if first and path.endswith("package.json"):
            names += [name for found in _ORGANISED.findall(first.chunk.text)[:1] for name in found]
        elif first:
            names.append(first.chunk.header_path.partition(" > ")[0])
    keys = (name_key(name) for name in names if len(name.split()) <= _MOST_WORDS)
    return frozenset(key for key in keys if len(key) > 1 and key not in _GENERIC)
