"""Finds chunks that contain a text verbatim: operators, messages with punctuation, parts of names.

The keyword index proposes chunks, and the text of each is searched. The first proposals contain the literal's
words as whole words and its operators (`cairn.index.store.keyword_columns`). The next contain its first or
last word as a part of a longer word, which is found in the stored word list (`cairn.index.reader.word_list`).
A literal with neither words nor operators, such as `%s` or `{ }`, is searched for in chunk after chunk until
the deadline. What proposes chunks differs between kinds of index (`Proposer`).

Three kinds of text are not found: text that spans two chunks; text in another case whose letters have several
counterparts (`ß` for `SS`); and, in a large index, rare text in chunks that are not proposed.
"""

from __future__ import annotations

import itertools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import ClassVar, NamedTuple

import apsw
from attrs import evolve, field, frozen

from cairn.errors import OutOfTimeError
from cairn.index.reader.word_list import WordList
from cairn.index.store.deadline import Deadline
from cairn.index.store.keyword_columns import operator_words
from cairn.text.unspaced import certain_part, is_unspaced, spread

EXACT, OTHER_CASE, INSIDE, INSIDE_OTHER_CASE = 1.0, 0.9, 0.8, 0.7
"""The scores of an occurrence: as a whole word, as a whole word in another case, inside a longer word, and
inside a longer word in another case."""

_MOST_COUNTED = 50
"""The maximum number of occurrences to count in a chunk. More occurrences would not change the order."""


@frozen
class Literal:
    text: str
    case: bool = False
    word: bool = False
    folded: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "folded", self.text.casefold())


@frozen
class TextHit:
    chunk_id: int
    score: float
    line: int
    """The 0-based line in the file of the literal's first occurrence with the highest score."""
    occurrences: int


@frozen
class ExactMatches:
    hits: tuple[TextHit, ...] = ()
    cut: bool = False


def best_first(hits: Iterable[TextHit], cut: bool) -> ExactMatches:
    order = sorted(hits, key=lambda hit: (-hit.score, -hit.occurrences, hit.chunk_id))
    return ExactMatches(tuple(order), cut)


def look(literal: Literal, text: str, chunk_id: int, start_line: int) -> TextHit | None:
    """Return how the chunk's text contains the literal; None if it does not."""
    places = list(_places(text, literal.text, literal.word))
    found = [(EXACT if whole else INSIDE, text, place) for place, whole in places]
    if not literal.case and not any(whole for _, whole in places):
        folded = text.casefold()
        places = list(_places(folded, literal.folded, literal.word))
        found += [(OTHER_CASE if whole else INSIDE_OTHER_CASE, folded, place) for place, whole in places]
    if not found:
        return None
    score, within, place = max(found, key=itemgetter(0))
    return TextHit(chunk_id, score, start_line + within.count("\n", 0, place), len(places))


def _places(text: str, wanted: str, word: bool) -> Iterator[tuple[int, bool]]:
    """Yield where `wanted` occurs and whether it is a whole word there. With `word`, others are left out."""
    place = text.find(wanted)
    for _ in range(_MOST_COUNTED):
        if place < 0:
            return
        end = place + len(wanted)
        whole = not (place and _in_word(text[place - 1]) and _in_word(wanted[0]))
        whole = whole and not (end < len(text) and _in_word(text[end]) and _in_word(wanted[-1]))
        if whole or not word:
            yield place, whole
        place = text.find(wanted, place + 1)


def _in_word(character: str) -> bool:
    """Whether a character joins others to a word. Words of scripts without spaces begin and end anywhere."""
    return (character.isalnum() or character == "_") and not is_unspaced(character)


# --- search -------------------------------------------------------------------------------------------

_MOST_WORDS = 24
"""The maximum number of words of a long literal by which chunks are proposed. A result always contains the
whole literal."""
_MOST_TERMS = 1_000
"""The maximum number of terms that contain a part of a word. A part in more terms is not selective."""
_MOST_MORE = 400
"""The maximum number of chunks to search for the literal inside longer words, if other chunks contain it as
whole words. This takes 8 ms."""


class Word(NamedTuple):
    """A word of the literal in the form of the keyword index, and its byte range in the literal."""

    start: int
    end: int
    text: str


@frozen
class Wanted:
    """What a proposed chunk must contain."""

    data: bytes
    """The literal in UTF-8, with words of scripts without spaces as pairs (`cairn.text.unspaced`)."""
    words: Sequence[Word]
    """Neighbouring words of `data`."""
    operators: Sequence[str]
    parts: Sequence[Sequence[str]] = ()
    """For each word that may be a part of a longer word, the terms of such longer words."""


class Proposer(ABC):
    """Proposes chunks of one index, and reads their texts. It proposes only chunks that pass a filter."""

    batches: ClassVar[Sequence[int]]
    """The number of chunks to read in the first, second and further queries."""

    @abstractmethod
    def with_all(self, wanted: Wanted) -> Iterable[int]:
        """Return chunks that may contain all that is wanted."""

    @abstractmethod
    def every(self) -> Iterable[int]: ...

    def newer_than(self, known: WordList) -> Iterable[int]:
        """Return the chunks that may have words which the list lacks."""
        return ()

    @abstractmethod
    def word_list(self) -> WordList: ...

    @abstractmethod
    def packed_texts(self, ids: Sequence[int]) -> Iterable[tuple[int, int, bytes]]:
        """Yield the id, the first line and the compressed text of each of these chunks."""


def find(
    db: apsw.Connection,
    proposer: Proposer,
    literal: Literal,
    limit: int,
    deadline: Deadline,
    first: Iterable[int] = (),
) -> ExactMatches:
    """Return all chunks in `first` that contain the literal, and up to `limit` others. `db` tokenizes. If the
    time of `deadline` is over, return the chunks found so far, with `cut` set. Raises apsw.InterruptError on
    cancellation."""
    hits: dict[int, TextHit] = {}
    cut = False
    if not literal.text or literal.text.isspace():
        return ExactMatches()
    try:
        tried = set(first)
        hits.update((hit.chunk_id, hit) for hit in _verified(proposer, literal, sorted(tried), deadline))
        more = limit + len(hits)
        for stage, proposed in enumerate(_proposals(db, proposer, literal)):
            untried = _untried(proposed, tried)
            looked_at = itertools.islice(untried, _MOST_MORE) if stage and hits else untried
            for hit in _verified(proposer, literal, looked_at, deadline):
                if len(hits) >= more:
                    return best_first(hits.values(), cut=True)
                hits[hit.chunk_id] = hit
            cut = cut or next(untried, None) is not None
    except apsw.InterruptError:
        if deadline.cancelled():
            raise
        cut = True
    except OutOfTimeError:
        cut = True
    return best_first(hits.values(), cut)


def propose(db: apsw.Connection, proposer: Proposer, literals: Iterable[Literal]) -> list[int]:
    """Return, in order, the chunks that may contain one of the literals in any case; every other chunk surely
    does not. Without literals, and for blank ones, return all chunks. `db` tokenizes."""
    proposed: set[int] = set()
    for literal in list(literals) or [Literal("")]:
        if not literal.text.strip():
            return sorted(set(proposer.every()))
        proposed.update(itertools.chain.from_iterable(_proposals(db, proposer, literal)))
    return sorted(proposed)


def _untried(proposed: Iterable[int], tried: set[int]) -> Iterator[int]:
    for chunk in proposed:
        if chunk not in tried:
            tried.add(chunk)
            yield chunk


def _proposals(db: apsw.Connection, proposer: Proposer, literal: Literal) -> Iterator[Iterable[int]]:
    """Yield ids of chunks that may contain the literal, first by its whole words. Ids may repeat."""
    if literal.text != (certain := certain_part(literal.text)):
        yield from (
            _proposals(db, proposer, evolve(literal, text=certain)) if certain.strip() else [proposer.every()]
        )
        return
    data = spread(literal.text.replace("\0", " ")).encode("utf-8", "surrogatepass")
    tokenize = db.fts5_tokenizer("unicode61", ["remove_diacritics", "2", "tokenchars", "_"])
    words = [Word(*word) for word in tokenize(data, apsw.FTS5_TOKENIZE_QUERY, None)]
    operators = operator_words(literal.text)[:_MOST_WORDS]
    if words or operators:
        yield proposer.with_all(Wanted(data, words[:_MOST_WORDS], operators))
    if operators and not words:
        return
    opens = bool(words) and _is_open(words[0], data[: words[0].start], literal.word)
    closes = bool(words) and _is_open(words[-1], data[words[-1].end :], literal.word)
    if words and not (opens or closes):
        return
    inner = words[opens : len(words) - closes][:_MOST_WORDS]
    # Each entry is a word that may be part of a longer word, and whether the longer word begins with it.
    edges = [(words[0].text, False)] if opens else []
    if closes and (len(words) > 1 or not opens):
        edges.append((words[-1].text, True))
    known = proposer.word_list() if edges else WordList()
    terms_of_edges = (known.terms_with(word, begins, _MOST_TERMS) for word, begins in edges)
    parts = [terms for terms in terms_of_edges if terms is not None]
    if not (inner or operators or parts):
        yield proposer.every()
        return
    if parts:
        yield proposer.newer_than(known)
    yield proposer.with_all(Wanted(data, inner, operators, parts))


def _is_open(word: Word, beyond: bytes, is_whole: bool) -> bool:
    """Whether the literal's first or last word may be part of a longer one, given the bytes beyond it in the
    literal. `is_whole` says that words with spaces around them are not."""
    if is_unspaced(word.text):
        return len(word.text) == 1  # It is part of a pair in a run of several letters, and a pair is whole.
    # Only an ASCII character that is not part of words surely ends a word. Other marks may join letters, and
    # which marks exist depends on the version of Unicode.
    return not (is_whole or any(byte < 128 for byte in beyond))


def _verified(
    proposer: Proposer, literal: Literal, ids: Iterable[int], deadline: Deadline
) -> Iterator[TextHit]:
    """Yield the chunks that contain the literal. Raises apsw.InterruptError soon after `deadline` is true."""
    needle = literal.folded.encode("utf-8", "surrogatepass")
    is_ascii = needle.isascii()
    sizes = itertools.chain(proposer.batches, itertools.repeat(proposer.batches[-1]))
    waiting = iter(ids)
    while batch := list(itertools.islice(waiting, next(sizes))):
        for chunk_id, start_line, packed in proposer.packed_texts(batch):
            data = zlib.decompress(packed)
            # Comparing bytes excludes most chunks cheaply. Letters outside ASCII may fold to ASCII.
            if is_ascii and data.isascii() and needle not in data.lower():
                continue
            text = data.decode("utf-8", "surrogatepass")
            if (hit := look(literal, text, chunk_id, start_line)) is not None:
                yield hit
        if deadline():
            raise apsw.InterruptError
