"""Leave the name of the indexed project out of a question.

In vitest's own repository, "how does vitest retry a test" names the project. Every path, README and import
there has this word, so it only prefers files that are about the whole project or are called like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePath

from cairn.errors import CairnError
from cairn.index.queries.files import introducing_files
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.store.deadline import never
from cairn.retrieval.introductions import asks_about_whole, name_key, project_of
from cairn.retrieval.mentions import QUOTES
from cairn.retrieval.wording import is_common, read_words
from cairn.text.words import is_stopword

_MOST_WORDS = 3
"""The maximum number of words of a name, such as "Spring Boot"."""
_FEWEST_TERMS = 2
"""The minimum number of other words in a question. "zod object" and "the Flask class" mean definitions."""
_GENERIC = frozenset(
    "api app backend cli client code core demo doc docs frontend home lib main monorepo package packages "
    "project readme repo repository root server service src test tests tmp web website workspace".split()
)
"""Names of folders and packages that also name a part of any project."""

_NAME = re.compile(r'^\s*"name"\s*:\s*"@?([^"\n/]+)(?:/([^"\n]+))?"', re.MULTILINE)
"""Matches the name in a package.json, and its organisation."""
_WORD = re.compile(r"(?<![\w@./:\\#-])[^\W_][\w.-]*[^\W_](?![\w/:\\#(\[-]|\.\w)")
"""Matches a word that is neither in a path nor in a qualified name."""
_VERSION = re.compile(r"\s+v?\d", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’]s?\b)?")
_PREPOSITION = re.compile(r"(?:\b(?:in|of|with|within|inside|for|by)\s+)?\Z", re.IGNORECASE)
_ARTICLE = re.compile(
    r"\b(?:an?|the|each|every|this|that|some|any|no|all|one|my|your|its)\s+\Z", re.IGNORECASE
)
_END_POINT = re.compile(r"\b(?:to|from|into|between)\s+\Z", re.IGNORECASE)
"""Matches before an end of a conversion: "JSON Schema to Zod", "migrate from Jest to Vitest"."""
_FOLDER = r"(?:package|crate|folder|directory)\b"
_KIND = (
    r"(?:class|struct|trait|interface|enum|type|function|method|constructor|decorator|macro|module|file)\b"
    rf"|{_FOLDER}"
)
_BEFORE = re.compile(rf"\b(?:{_KIND})\s+\Z", re.IGNORECASE)
_FOLDER_AFTER = re.compile(rf"\s+{_FOLDER}", re.IGNORECASE)
_KIND_AFTER = re.compile(rf"\s+(?:{_KIND})\s*(?P<next>\w*)", re.IGNORECASE)


def without_project_name(text: str, vocabulary: IndexVocabulary | None) -> str:
    """Return a question of one line about a single index without the name of its project.

    The name stays where it may mean a part: in quotes and paths, beside "class" or "package", and in a
    question of few other words. It also stays before a version and in a question about the whole project, and
    a common English word stays after an article.
    """
    names = _names_in(vocabulary) if vocabulary and "\n" not in text.strip() else frozenset()
    if not names or asks_about_whole(text):
        return text
    kept, end = [], 0
    for start, stop in _mentions(text, names):
        if (preposition := _PREPOSITION.search(text, end, start)) is not None:
            start = preposition.start()
        kept.append(text[end:start])
        end = stop
    rest = " ".join("".join([*kept, text[end:]]).split()).strip(" ,")
    return rest if kept and len(read_words(rest).terms) >= _FEWEST_TERMS else text


def _mentions(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges in `text` that name the whole project, with possessive endings."""
    quoted = [match.span() for match in QUOTES.finditer(text)]
    words, place = list(_WORD.finditer(text)), 0
    while place < len(words):
        count = _words_of_name(text, words[place : place + _MOST_WORDS], names)
        start, stop = words[place].start(), words[place + max(count, 1) - 1].end()
        place += max(count, 1)
        is_quoted = any(first <= start < last for first, last in quoted)
        if not count or is_quoted or _VERSION.match(text, stop) or _is_part(text, start, stop):
            continue
        possessive = _POSSESSIVE.match(text, stop)
        yield start, possessive.end() if possessive else stop


def _words_of_name(text: str, words: Sequence[re.Match[str]], names: frozenset[str]) -> int:
    """Return how many of `words` are the longest name at their beginning, 0 for none."""
    for count in range(len(words), 0, -1):
        spelled = text[words[0].start() : words[count - 1].end()]
        if spelled.count(" ") == count - 1 and name_key(spelled) in names:
            return count
    return 0


def _is_part(text: str, start: int, stop: int) -> bool:
    """Return whether a name means a definition or folder ("the Flask class"), or is a common word."""
    before = text[:start]
    if _FOLDER_AFTER.match(text, stop) or _BEFORE.search(before) or _END_POINT.search(before):
        return True
    kind, has_article = _KIND_AFTER.match(text, stop), _ARTICLE.search(before) is not None
    if has_article and is_common(text[start:stop].lower()):
        return True
    # "Flask class" is a definition where the phrase ends, but "flask type hints" are hints of the project.
    return kind is not None and (has_article or not kind["next"] or is_stopword(kind["next"]))


def _names_in(vocabulary: IndexVocabulary) -> frozenset[str]:
    # The name of one of several projects chooses its folder.
    if len(vocabulary.readers) != 1:
        return frozenset()
    try:
        return vocabulary.readers[0].cached("project names", partial(_names_of, vocabulary))
    except CairnError:  # the search itself reports the error
        return frozenset()


def _names_of(vocabulary: IndexVocabulary) -> frozenset[str]:
    """Return the keys of the project's names: of its folder, its manifests and its README."""
    reader = vocabulary.readers[0].saved
    names = [PurePath(reader.root).name, project_of(vocabulary.main_collection)]
    for path in introducing_files(reader, ("package.json",), 1, never):
        first = next(iter(reader.page(path) if "/" not in path else ()), None)
        if first and path.endswith("package.json"):
            names += [name for found in _NAME.findall(first.chunk.text)[:1] for name in found]
        elif first and not is_common((title := first.chunk.header_path.partition(" > ")[0]).lower()):
            names.append(title)
    keys = (name_key(name) for name in names if len(name.split()) <= _MOST_WORDS)
    return frozenset(key for key in keys if len(key) > 1 and key not in _GENERIC)
