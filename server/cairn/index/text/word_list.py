"""All words of the keyword index in one text, to find those that contain a part: `andlerequ` is in `handlerequest`.

Walking the words in the index itself took 1.8 s for 290,000 of them, because it passes by every occurrence. So the
indexing thread does that in pieces and stores the list, packed: 1.3 % of the text's size, and a part is found in it in
3 ms. It may be older than the index: chunks with a higher id than its `upto` are looked at one by one. Once these are many,
their words are stored as a further list, and after some such lists all is walked again: the four million words of the
Linux kernel take 7 s, those of 2,000 changed files 0.7 s.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

import apsw
from attrs import frozen

from cairn.index.store.schema import TOKENIZER

FEW_NEW = 1_000
"""Chunks newer than the vocabulary that may be looked at one by one, 10 to 20 µs each."""
_TERMS_AT_ONCE = 2_000
"""Words walked in one step: 13 ms."""
_CHUNKS_AT_ONCE = 100
"""Chunks whose words are read in one step: 3 ms."""
_MOST_LISTS = 16
"""Each is looked through for every part that is asked for."""
_MUCH_NEW = 0.25
"""Share of chunks from which all words are walked, rather than those of the new chunks read."""

_SUFFIXES = (
    "ational", "tional", "ional", "ization", "isation", "ation", "ator", "alism", "iveness", "fulness", "ousness",
    "aliti", "ality", "iviti", "ivity", "abiliti", "ability", "ibiliti", "ibility", "biliti", "bility", "iliti",
    "ility", "icate", "ative", "alize", "iciti", "icity", "ical", "ful", "ness", "ance", "ence", "anci", "ancy",
    "enci", "ency", "able", "ible", "ably", "ibly", "at", "abl", "ibl", "iz", "abli", "ement", "ment", "ent", "ant",
    "entli", "ently", "ousli", "ously", "izer", "ize", "ism", "ate", "iti", "ity", "ous", "ive", "ion", "al", "er",
    "ic", "ou", "li", "ly", "e", "es", "s", "eed", "ed", "d", "ing", "y", "i",
)  # fmt: skip
"""What Porter's stemmer takes off a word, piece by piece: `conflating` loses `ing`, then `at`."""
_LONGEST_CUT = 20
"""Letters: `ibilities`, `izations` are 9."""
_ENDINGS = frozenset({"", "e", "i", "l", "le"})
"""What it may put in the place of that: `abl` of `ability`."""
_FEWEST_LETTERS = 3
"""A part of fewer is in too many words."""


def stable_part(word: str) -> str:
    """The beginning of `word`, part of a longer one, that stays in the stem whatever stands after it."""
    ends = range(max(0, len(word) - _LONGEST_CUT), len(word))
    kept = next((start for start in ends if _may_be_cut(word[start:])), len(word))
    # Of two equal consonants it leaves one: `hop` of `hopping`.
    return word[: kept - 1] if kept > 1 and word[kept - 1] == word[kept - 2] else word[:kept]


@lru_cache(maxsize=10_000)
def _may_be_cut(end: str) -> bool:
    """Whether the stemmer might take off `end` with what stands behind it."""
    return any(
        suffix.startswith(end) or (end.startswith(suffix) and _may_be_cut(end[len(suffix) :]))
        for suffix in _SUFFIXES
    )


@frozen
class Words:
    """The words of the chunks between two ids, and some that are gone; each between newlines."""

    upto: int
    """The higher id, which belongs to them."""
    text: bytes
    """UTF-8, whose order of bytes the words are in. As a string it would take two or four bytes a letter for the sake of a
    few words: 146 MB instead of 73 for four million words."""
    size: int = 0
    """Bytes that it takes in the index."""

    def containing(self, stable: str) -> Iterator[str]:
        """The words that contain it, in their order."""
        wanted = _encoded(stable)
        place = self.text.find(wanted)
        while place >= 0:
            start = self.text.rindex(b"\n", 0, place) + 1
            end = self.text.index(b"\n", start)
            yield self.text[start:end].decode("utf-8", "replace")
            place = self.text.find(wanted, end)

    def beginning_with(self, stable: str) -> Iterator[str]:
        """The words that begin with it, in their order, found by halves."""
        wanted = _encoded(stable)
        low, high = 0, len(self.text)
        while low < high:  # both at a newline, or at the end
            start = self.text.rfind(b"\n", low, (low + high) // 2 + 1)
            end = self.text.find(b"\n", start + 1)
            if end < 0:  # the last newline, behind which there is nothing
                high = start
            elif self.text[start + 1 : end] < wanted:
                low = end
            else:
                high = start
        start = low + 1
        while self.text.startswith(wanted, start):
            end = self.text.index(b"\n", start)
            yield self.text[start:end].decode("utf-8", "replace")
            start = end + 1


@frozen
class WordList:
    """The words of all chunks whose id is not above `upto`."""

    lists: tuple[Words, ...] = ()
    """Those of the oldest chunks first; a word may stand in several."""

    @property
    def upto(self) -> int:
        """The highest id of a chunk whose words are here, -1 without any."""
        return self.lists[-1].upto if self.lists else -1

    def terms_with(self, part: str, begins: bool, limit: int) -> list[str] | None:
        """The stems of all words that contain `part`, or with `begins` begin with it, and maybe of some others.

        None where they would be more than `limit`, or cannot be told.
        """
        stable = stable_part(part)
        if not self.lists or len(stable) < _FEWEST_LETTERS:
            return None
        found: dict[str, None] = {}
        for words in self.lists:
            for term in words.beginning_with(stable) if begins else words.containing(stable):
                if _may_contain(term, part, stable, begins):
                    found[term] = None
                if len(found) > limit:
                    return None
        return list(found)


def _encoded(part: str) -> bytes:
    return part.encode("utf-8", "surrogatepass")


def _may_contain(term: str, part: str, stable: str, begins: bool) -> bool:
    """Whether `term`, which contains `stable`, may be the stem of a word that contains `part`."""
    place = 0 if begins else term.find(stable)
    while place >= 0:
        here = term[place:]
        shared = sum(1 for _ in itertools.takewhile(bool, map(str.__eq__, here, part)))
        if shared == len(part) or here[shared:] in _ENDINGS:
            return True
        place = -1 if begins else term.find(stable, place + 1)
    return False


def newest_chunk(db: apsw.Connection) -> int:
    """The highest id that a chunk ever had."""
    return int(db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").get or 0)


def read_word_list(db: apsw.Connection, known: WordList) -> WordList:
    """The stored vocabulary, or `known` where that is it; empty where it is missing."""
    stored = db.execute("SELECT upto, length(words) FROM vocabulary ORDER BY upto").fetchall()
    kept = {(words.upto, words.size): words for words in known.lists}
    if stored == list(kept):
        return known
    read = "SELECT words FROM vocabulary WHERE upto = ?"
    lists: list[Words] = []
    for upto, size in cast("list[tuple[int, int]]", stored):
        words = kept.get((upto, size))
        if words is None:
            text = zlib.decompress(cast(bytes, db.execute(read, (upto,)).get or zlib.compress(b"")))
            words = Words(upto, text, size)
        lists.append(words)
    return WordList(tuple(lists))


def is_of_use(db: apsw.Connection, known: WordList) -> bool:
    """Whether it has nearly all words; in the few chunks that are newer each must be looked at."""
    return newest_chunk(db) - known.upto <= 2 * FEW_NEW


class WordListIntake:
    """Keeps the stored vocabulary new enough, a piece at a time, through the writing connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._walk: Iterator[None] | None = None

    @property
    def is_due(self) -> bool:
        """Whether so much is new that the stored vocabulary is of no use."""
        return self._walk is not None or newest_chunk(self._db) - max(self._uptos(), default=0) > FEW_NEW

    def step(self) -> None:
        """Do a piece of what is due."""
        self._walk = self._walk or self._collect()
        if next(self._walk, self) is self:
            self._walk = None

    def _uptos(self) -> list[int]:
        """The `upto` of each stored list, the lowest first."""
        return [int(str(upto)) for (upto,) in self._db.execute("SELECT upto FROM vocabulary ORDER BY upto")]

    def _collect(self) -> Iterator[None]:
        newest, uptos = newest_chunk(self._db), self._uptos()
        chunks = int(self._db.execute("SELECT count(*) FROM chunks").get or 0)
        is_walked = (
            not uptos or len(uptos) >= _MOST_LISTS or newest - uptos[0] > max(FEW_NEW, _MUCH_NEW * chunks)
        )
        # Packed as it comes: all words at once took 520 MB for a million chunks, and a save waited while they were packed.
        packer, packed = zlib.compressobj(), []
        for text in self._walked() if is_walked else self._new(uptos[-1], newest):
            packed.append(packer.compress(text))
            yield
        packed.append(packer.flush())
        with self._db:
            if is_walked:
                self._db.execute("DELETE FROM vocabulary")
            self._db.execute("INSERT INTO vocabulary(upto, words) VALUES (?, ?)", (newest, b"".join(packed)))

    def _walked(self) -> Iterator[bytes]:
        """All words of the index, a piece of the list at a time."""
        yield b"\n"
        last = ""
        # From the last word on each time: no statement stays open between two steps.
        following = "SELECT term FROM words WHERE term > ? LIMIT ?"
        while terms := self._db.execute(following, (last, _TERMS_AT_ONCE)).fetchall():
            words = [str(row[0]) for row in terms]
            last = words[-1]
            yield _encoded("\n".join([*words, ""]))

    def _new(self, above: int, upto: int) -> Iterator[bytes]:
        """The words of these chunks' texts: nothing until all are read, then the list."""
        words: set[str] = set()
        following = "SELECT id, text FROM chunks WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        name, *arguments = TOKENIZER.split()
        tokenize = self._db.fts5_tokenizer(name, arguments)
        while rows := self._db.execute(following, (above, upto, _CHUNKS_AT_ONCE)).fetchall():
            for _, packed in rows:
                data = zlib.decompress(cast(bytes, packed))
                found = tokenize(
                    data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
                )
                words.update(cast("list[str]", found))
            above = int(str(rows[-1][0]))
            yield b""
        yield b"".join([b"\n", *(word + b"\n" for word in sorted(map(_encoded, words)))])
