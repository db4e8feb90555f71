"""What is written into the keyword index beside a text itself: parts of names, and punctuation as words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from cairn.text.identifiers import identifier_words
from cairn.text.runs import Remembered, ascii_runs

_PUNCTUATION = re.compile(r"[^\w\s](?: ?[^\w\s])+")
_ASCII_PUNCTUATION = re.compile(
    r"[!-/:-@\[-^`{-~\0-\x08\x0e-\x1b\x7f](?: ?[!-/:-@\[-^`{-~\0-\x08\x0e-\x1b\x7f])+"
)
"""The same characters of ASCII, told one by one, which takes half of the time."""
_JOINED = frozenset("!=<>&|?:.+*/%^~-@$#")
"""Characters that operators of three are made of; of brackets and quotes pairs say enough."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_COMPOUND = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]")


@lru_cache(maxsize=10_000)
def split_words(name: str) -> tuple[str, ...]:
    """The names in a path or title, whole and split: `src/httpServer.py` → src, httpServer, http, server, py."""
    words: list[str] = []
    for identifier in _IDENTIFIER.findall(name):
        parts = identifier_words(identifier)
        words.append(identifier)
        if len(parts) > 1:
            words.extend(parts)
    return tuple(words)


def path_words(path: str) -> tuple[str, str]:
    """The words of a file's name and of its folders."""
    folders, _, name = path.rpartition("/")
    return " ".join(split_words(name)), " ".join(split_words(folders))


def _parts(identifier: str) -> str:
    return " ".join(identifier_words(identifier)) if _COMPOUND.search(identifier) else ""


def _parts_in(run: str) -> str:
    """The parts of the identifier in a run of letters and digits, which may begin with digits."""
    return " ".join(filter(None, map(_parts, _IDENTIFIER.findall(run))))


_PARTS_IN = Remembered(_parts_in, 30_000)


def compound_parts(text: str) -> Iterable[str]:
    """The parts of each compound identifier, each time it occurs; simple words stand in the text itself."""
    runs = ascii_runs(text) if text.isascii() else _IDENTIFIER.findall(text)
    return filter(None, map(_PARTS_IN.__getitem__, runs))


def operator_words(text: str) -> list[str]:
    """A word for each two characters of punctuation with at most a space between them, each once.

    And one for each three that make up an operator. Pairs, not runs: so `=>` is found in `)=>{` as well, with 2,100
    different words where runs made 18,000. They take 2.6 % of the text's size in a table without positions; as a column
    of the keyword index it would be twice that, and would count in its BM25.
    """
    pattern = _ASCII_PUNCTUATION if text.isascii() else _PUNCTUATION
    return sorted(set().union(*map(_RUN_WORDS.__getitem__, set(pattern.findall(text)))))


def _run_words(run: str) -> frozenset[str]:
    joined = run.replace(" ", "")
    pairs = {joined[place : place + 2] for place in range(len(joined) - 1)}
    threes = {run[place : place + 3] for place in range(len(run) - 2)}
    found = (*pairs, *filter(_JOINED.issuperset, threes))
    return frozenset(word.encode("utf-8", "surrogatepass").hex() for word in found)


_RUN_WORDS = Remembered(_run_words, 10_000)
