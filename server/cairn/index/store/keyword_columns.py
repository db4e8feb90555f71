"""What the keyword index contains besides the text itself: parts of names, and operators as words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import cast

import apsw

from cairn.index.store.schema import TOKENIZER
from cairn.text.identifiers import RunCache, ascii_runs, identifier_words
from cairn.text.unspaced import spread

_PUNCTUATION = re.compile(r"[^\w\s](?: ?[^\w\s])+")
_ASCII_PUNCTUATION = re.compile(
    r"[!-/:-@\[-^`{-~\0-\x08\x0e-\x1b\x7f](?: ?[!-/:-@\[-^`{-~\0-\x08\x0e-\x1b\x7f])+"
)
"""`_PUNCTUATION` for ASCII text, with the characters listed. It takes half the time."""
_JOINED = frozenset("!=<>&|?:.+*/%^~-@$#")
"""The characters of operators of three characters. For brackets and quotes, pairs are enough."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_COMPOUND = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]")


@lru_cache(maxsize=10_000)
def split_words(name: str) -> tuple[str, ...]:
    """Return the names in a path, whole and split: `httpServer.py` → httpServer, http, server, py."""
    words: list[str] = []
    for identifier in _IDENTIFIER.findall(spread(name)):
        parts = identifier_words(identifier)
        words.append(identifier)
        if len(parts) > 1:
            words.extend(parts)
    return tuple(words)


def path_words(path: str) -> tuple[str, str]:
    folders, _, name = path.rpartition("/")
    return " ".join(split_words(name)), " ".join(split_words(folders))


def _parts_in(run: str) -> str:
    """Return the parts of the compound identifier in a run of letters and digits, or "" if it is simple."""
    return " ".join(
        " ".join(identifier_words(name)) for name in _IDENTIFIER.findall(run) if _COMPOUND.search(name)
    )


_PARTS_IN = RunCache(_parts_in, 30_000)


def compound_parts(text: str) -> Iterable[str]:
    """Yield the parts of each occurrence of a compound identifier. Simple words are in the text itself."""
    runs = ascii_runs(text) if text.isascii() else _IDENTIFIER.findall(spread(text))
    return filter(None, map(_PARTS_IN.__getitem__, runs))


def operator_words(text: str) -> list[str]:
    """Return a word for each distinct pair of punctuation characters and each operator of three characters.

    The characters of a pair may have a space between them. Because of pairs, a query for `=>` also finds
    `)=>{`. There are 2,100 different words; whole runs of punctuation made 18,000. The words are in a
    separate table without positions, which takes 2.6 % of the text's size. A column of the keyword index
    would take twice that and would influence BM25.
    """
    pattern = _ASCII_PUNCTUATION if text.isascii() else _PUNCTUATION
    return sorted(set().union(*map(_RUN_WORDS.__getitem__, set(pattern.findall(text)))))


def _run_words(run: str) -> frozenset[str]:
    joined = run.replace(" ", "")
    pairs = {joined[place : place + 2] for place in range(len(joined) - 1)}
    threes = {run[place : place + 3] for place in range(len(run) - 2)}
    found = (*pairs, *filter(_JOINED.issuperset, threes))
    return frozenset(word.encode("utf-8", "surrogatepass").hex() for word in found)


_RUN_WORDS = RunCache(_run_words, 10_000)


def stems(db: apsw.Connection, text: str) -> list[str]:
    """Return the stemmed words of a text, as the keyword index stores them. `db` may be any connection."""
    name, *arguments = TOKENIZER.split()
    data = spread(text).encode("utf-8", "surrogatepass")
    found = db.fts5_tokenizer(name, arguments)(
        data, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    return cast("list[str]", found)
