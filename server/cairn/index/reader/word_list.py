"""All words of the keyword index in one text, to find the words that contain a part, such as `andlerequ` in
`handlerequest`.

Walking the words in the index itself took 1.8 s for 290,000 of them, because it passes every occurrence. So
the indexing thread walks them step by step and stores the packed list. The packed list takes 1.3 % of the
size of all chunks' texts, and finding a part takes 3 ms. The list may be older than the index: chunks with an
id above its `upto` are read one by one. Once there are many, the thread stores their words as a further list
(0.7 s for 2,000 changed files), and after some such lists it walks all words again (7 s for the four million
words of the Linux kernel).
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
from cairn.text.unspaced import is_unspaced, spread

FEW_NEW = 1_000
"""The number of chunks newer than the list that a query may read one by one, at 10 to 20 µs each."""
_TERMS_AT_ONCE = 2_000
"""The number of words to walk in one step, 13 ms."""
_CHUNKS_AT_ONCE = 100
"""The number of chunks to read in one step, 3 ms."""
_MOST_LISTS = 16
"""The maximum number of lists to keep; each query searches all of them."""
_MUCH_NEW = 0.25
"""The share of new chunks from which all words are walked again, instead of reading the new chunks."""

_SUFFIXES = (
    "ational", "tional", "ional", "ization", "isation", "ation", "ator", "alism", "iveness", "fulness",
    "ousness", "aliti", "ality", "iviti", "ivity", "abiliti", "ability", "ibiliti", "ibility", "biliti",
    "bility", "iliti", "ility", "icate", "ative", "alize", "iciti", "icity", "ical", "ful", "ness", "ance",
    "ence", "anci", "ancy", "enci", "ency", "able", "ible", "ably", "ibly", "at", "abl", "ibl", "iz", "abli",
    "ement", "ment", "ent", "ant", "entli", "ently", "ousli", "ously", "izer", "ize", "ism", "ate", "iti",
    "ity", "ous", "ive", "ion", "al", "er", "ic", "ou", "li", "ly", "e", "es", "s", "eed", "ed", "d", "ing",
    "y", "i",
)  # fmt: skip
"""The endings that Porter's stemmer removes one after another: `conflating` loses `ing`, then `at`."""
_LONGEST_CUT = 20
"""An upper bound of the number of letters that the stemmer removes from a word; `ibilities` has 9."""
_ENDINGS = frozenset({"", "e", "i", "l", "le"})
"""The endings that the stemmer may put in place of others: it replaces `abiliti` by `able`."""
_FEWEST_LETTERS = 3
"""The minimum number of letters of a part. Shorter parts are in too many words."""


def stable_part(word: str) -> str:
    """Return the beginning of `word` that remains in the stem of every longer word which contains `word`."""
    ends = range(max(0, len(word) - _LONGEST_CUT), len(word))
    kept = next((start for start in ends if _may_be_cut(word[start:])), len(word))
    # The stemmer reduces a double consonant to one: `hopping` becomes `hop`.
    return word[: kept - 1] if kept > 1 and word[kept - 1] == word[kept - 2] else word[:kept]


@lru_cache(maxsize=10_000)
def _may_be_cut(end: str) -> bool:
    """Whether the stemmer might remove `end` together with what follows it."""
    return any(
        suffix.startswith(end) or (end.startswith(suffix) and _may_be_cut(end[len(suffix) :]))
        for suffix in _SUFFIXES
    )


@frozen
class Words:
    """The words of the chunks between two ids, with newlines around each. Some may no longer exist."""

    upto: int
    text: bytes
    """The words in UTF-8, in bytewise order. Four million take 73 MB, where a string would take 146 MB."""
    size: int = 0
    """The packed size in bytes."""

    def containing(self, stable: str) -> Iterator[str]:
        wanted = _encoded(stable)
        place = self.text.find(wanted)
        while place >= 0:
            start = self.text.rindex(b"\n", 0, place) + 1
            end = self.text.index(b"\n", start)
            yield self.text[start:end].decode("utf-8", "replace")
            place = self.text.find(wanted, end)

    def beginning_with(self, stable: str) -> Iterator[str]:
        """Yield the words that begin with `stable`, in order. They are found by binary search."""
        wanted = _encoded(stable)
        low, high = 0, len(self.text)
        while low < high:  # Each is the offset of a newline or the end.
            start = self.text.rfind(b"\n", low, (low + high) // 2 + 1)
            end = self.text.find(b"\n", start + 1)
            if end < 0:  # `start` is the last newline
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
    """The words of all chunks up to the id `upto`."""

    lists: tuple[Words, ...] = ()
    """The lists of words, the list of the oldest chunks first. Several lists may contain the same word."""

    @property
    def upto(self) -> int:
        """The highest chunk id that the list covers; -1 for an empty list."""
        return self.lists[-1].upto if self.lists else -1

    def terms_with(self, part: str, begins: bool, limit: int) -> list[str] | None:
        """Return the stems of all words that contain `part`, or with `begins`, that begin with it; other
        stems may be among them. Return None for more than `limit` stems, and for a part that the list cannot
        find."""
        stable = stable_part(part)
        # A single letter of a script without spaces is in few enough pairs of letters.
        if not self.lists or (len(stable) < _FEWEST_LETTERS and not is_unspaced(stable)):
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
    return int(db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").get or 0)


def read_word_list(db: apsw.Connection, known: WordList) -> WordList:
    """Return the stored word list, an empty one if none is stored. The lists of `known` are reused."""
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
    """Whether the list covers all chunks but a few new ones, which a query can read one by one."""
    return newest_chunk(db) - known.upto <= 2 * FEW_NEW


class WordListIntake:
    """Keeps the stored word list up to date, step by step, through the writing connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._walk: Iterator[None] | None = None

    @property
    def is_due(self) -> bool:
        """Whether too many chunks are new for the stored list to be useful."""
        return self._walk is not None or newest_chunk(self._db) - max(self._uptos(), default=0) > FEW_NEW

    def step(self) -> None:
        self._walk = self._walk or self._collect()
        if next(self._walk, self) is self:
            self._walk = None

    def _uptos(self) -> list[int]:
        return [int(str(upto)) for (upto,) in self._db.execute("SELECT upto FROM vocabulary ORDER BY upto")]

    def _collect(self) -> Iterator[None]:
        newest, uptos = newest_chunk(self._db), self._uptos()
        chunks = int(self._db.execute("SELECT count(*) FROM chunks").get or 0)
        is_walked = (
            not uptos or len(uptos) >= _MOST_LISTS or newest - uptos[0] > max(FEW_NEW, _MUCH_NEW * chunks)
        )
        # Packing all words at once would take 520 MB for a million chunks, and block saves meanwhile.
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
        """Yield a list of all words of the index, piece by piece."""
        yield b"\n"
        last = ""
        # Each step starts after the last word, so that no statement stays open between steps.
        following = "SELECT term FROM words WHERE term > ? LIMIT ?"
        while terms := self._db.execute(following, (last, _TERMS_AT_ONCE)).fetchall():
            words = [str(row[0]) for row in terms]
            last = words[-1]
            yield _encoded("\n".join([*words, ""]))

    def _new(self, above: int, upto: int) -> Iterator[bytes]:
        """Yield empty pieces while reading the chunks in `(above, upto]`, then the list of their words."""
        words: set[str] = set()
        following = "SELECT id, text FROM chunks WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        name, *arguments = TOKENIZER.split()
        tokenize = self._db.fts5_tokenizer(name, arguments)
        while rows := self._db.execute(following, (above, upto, _CHUNKS_AT_ONCE)).fetchall():
            for _, packed in rows:
                data = zlib.decompress(cast(bytes, packed))
                if not data.isascii():
                    data = _encoded(spread(data.decode("utf-8", "surrogatepass")))
                found = tokenize(
                    data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
                )
                words.update(cast("list[str]", found))
            above = int(str(rows[-1][0]))
            yield b""
        yield b"".join([b"\n", *(word + b"\n" for word in sorted(map(_encoded, words)))])
