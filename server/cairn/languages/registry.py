"""Finds the language modules, and the language of a file by its name, its first line or its text."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import lru_cache

from cairn import languages
from cairn.languages.language import Category, Language
from cairn.languages.syntax import Syntax
from cairn.text.nearest import nearest


def _defined() -> Iterator[Language]:
    for module in pkgutil.iter_modules(languages.__path__):
        for value in vars(importlib.import_module(f"{languages.__name__}.{module.name}")).values():
            if isinstance(value, Language):
                yield value


LANGUAGES = {each.name: each for each in _defined()}
_UNKNOWN = Language("")

_BY_FILE = {file: each.name for each in LANGUAGES.values() for file in each.files}
_BY_ENDING = {ending: each.name for each in LANGUAGES.values() for ending in each.endings}
_BY_INTERPRETER = {program: each.name for each in LANGUAGES.values() for program in each.interpreters}
# Names that people write after a fence, in addition to languages and endings.
_BY_ALIAS = {alias: each.name for each in LANGUAGES.values() for alias in each.aliases}
_EARLY = [(each.early_pattern, each.name) for each in LANGUAGES.values() if each.early_pattern]
_LATE = [(each.pattern, each.name) for each in LANGUAGES.values() if each.pattern]

PROSE_LANGUAGES = frozenset(n for n, each in LANGUAGES.items() if each.category is Category.PROSE)
CONFIG_LANGUAGES = frozenset(n for n, each in LANGUAGES.items() if each.category is Category.CONFIG)
KNOWN_LANGUAGES = frozenset(LANGUAGES)
CODE_EXTENSIONS = frozenset(
    ending for ending, name in _BY_ENDING.items() if name not in CONFIG_LANGUAGES | {"text"}
)
"""The last parts of names, without the dot, of files of code or marked-up prose."""

# The number of characters that decide the language. A licence and an include guard may come before the first
# clue.
_PROBE = 20_000
_SHEBANG_LIMIT = 200
_FENCE_WORD = re.compile(r"\{?\s*\.?([A-Za-z0-9_+#.-]+)")
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\w+=\S+\s+)*)?(?:\S*/)?([\w.+-]+)")


def facts_of(name: str) -> Language:
    """Return the language of that name; one without any facts if it is unknown."""
    return LANGUAGES.get(name, _UNKNOWN)


_GENERAL = Syntax()


def syntax_of(name: str) -> Syntax:
    """Return the syntax of a language, or an empty one for use with `generic_rule`."""
    return facts_of(name).syntax or _GENERAL


@lru_cache(maxsize=256)
def detect_language(path: str, first_line: str = "") -> str:
    """Return the language of the file at `path` (with `/` or `\\`), "" if unknown. If the name does not
    decide, a `#!` in the optional `first_line` does."""
    lower = re.split(r"[/\\]", path)[-1].lower()
    if early := _BY_FILE.get(lower) or _by_pattern(_EARLY, lower):
        return early
    # The longest known ending wins: `x.blade.php` before `x.php`.
    parts = lower.split(".")
    for index in range(1, len(parts)):
        if found := _BY_ENDING.get(".".join(parts[index:])):
            return found
    if found := _by_pattern(_LATE, lower):
        return found
    if shebang := _SHEBANG.match(first_line[:_SHEBANG_LIMIT]):
        return _BY_INTERPRETER.get(re.sub(r"[\d.]+$", "", shebang.group(1).lower()), "")
    return ""


def _by_pattern(patterns: list[tuple[str, str]], name: str) -> str:
    return next((found for pattern, found in patterns if re.fullmatch(pattern, name)), "")


def language_of(path: str, text: str) -> str:
    """Return the language of a file; the text decides between languages that share an ending."""
    found = detect_language(path, re.split(r"[\r\n]", text[:200], maxsplit=1)[0])
    decide = facts_of(found).by_text
    return decide(path, text[:_PROBE]) if decide is not None else found


def language_of_fence(info: str) -> str:
    """Return the language in a fence's info string: `js {1,3}` → `javascript`. Unknown names stay."""
    match = _FENCE_WORD.match(info.strip())
    if not match:
        return ""
    word = match.group(1).lower()
    return _BY_ALIAS.get(word) or _BY_ENDING.get(word) or word


def category(name: str) -> Category:
    """Return the language's category. It is code unless it is prose or configuration."""
    return facts_of(name).category


def prose_language(path: str) -> str:
    """Return the prose language of the document at `path`. Cells of notebooks and unknown files have the most
    common one, Markdown."""
    found = detect_language(path)
    return found if found in PROSE_LANGUAGES else "markdown"


def nearest_language(name: str) -> str:
    """Return the known language most similar to `name`, "" if none is similar: `pyton` → `python`."""
    return nearest(name.lower(), sorted(KNOWN_LANGUAGES))
