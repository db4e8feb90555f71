"""A literal to search for verbatim, and how a chunk's text contains it."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple, cast

import apsw
from attrs import field, frozen

from cairn.index.reader.word_list import WordList
from cairn.index.store.deadline import Deadline
from cairn.index.store.keyword_columns import operator_words

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
    return character.isalnum() or character == "_"


_MOST_WORDS = 24
"""The maximum number of words of a long literal by which chunks are proposed. A result always contains the
whole literal."""
_MOST_TERMS = 1_000
"""The maximum number of terms that contain a part of a word. A part in more terms is not selective."""
_MOST_IDS = 20_000
"""One of several conditions is skipped if it proposes this number of chunks or more."""
_FEW = 200
"""The number of chunks up to which reading their texts is faster than evaluating another condition."""
_MOST_MORE = 400
"""The maximum number of chunks to search for the literal inside longer words, if other chunks contain it as
whole words. This takes 8 ms."""
_BATCHES = (32, 64, 128, 256)
"""The number of chunks to read in the first, second and further queries. A chunk takes 10 to 20 µs, a query
0.1 ms."""

Passes = tuple[str, list[str]]
"""An SQL condition for chunks that pass, with `{}` in place of the column of their ids, and its values."""


def find(
    db: apsw.Connection,
    literal: Literal,
    limit: int,
    passes: Passes,
    deadline: Deadline,
    word_list: Callable[[], WordList],
    first: Iterable[int] = (),
) -> ExactMatches:
    """Return all chunks in `first` that contain the literal, and up to `limit` others. `deadline` must be the
    connection's progress handler. If its time is over, return the chunks found so far, with `cut` set. Raises
    apsw.InterruptError on cancellation."""
    hits: dict[int, TextHit] = {}
    cut = False
    if not literal.text or literal.text.isspace():
        return ExactMatches()
    try:
        tried = set(first)
        hits.update((hit.chunk_id, hit) for hit in _verified(db, literal, sorted(tried), deadline))
        more = limit + len(hits)
        for stage, proposed in enumerate(_proposals(db, literal, passes, word_list)):
            untried = _untried(proposed, tried)
            looked_at = itertools.islice(untried, _MOST_MORE) if stage and hits else untried
            for hit in _verified(db, literal, looked_at, deadline):
                if len(hits) >= more:
                    return best_first(hits.values(), cut=True)
                hits[hit.chunk_id] = hit
            cut = cut or next(untried, None) is not None
    except apsw.InterruptError:
        if deadline.cancelled():
            raise
        cut = True
    return best_first(hits.values(), cut)


def _untried(proposed: Iterable[int], tried: set[int]) -> Iterator[int]:
    for chunk in proposed:
        if chunk not in tried:
            tried.add(chunk)
            yield chunk


# --- what the index proposes ------------------------------------------------------------------------


class _Word(NamedTuple):
    """A word of the literal in the form of the keyword index, and its byte range in the literal."""

    start: int
    end: int
    text: str


def _proposals(
    db: apsw.Connection, literal: Literal, passes: Passes, word_list: Callable[[], WordList]
) -> Iterator[Iterable[int]]:
    """Yield ids of chunks that may contain the literal, first by its whole words. Ids may repeat."""
    written = literal.text.replace("\0", " ")
    data = written.encode("utf-8", "surrogatepass")
    tokenize = db.fts5_tokenizer("unicode61", ["remove_diacritics", "2", "tokenchars", "_"])
    words = [_Word(*word) for word in tokenize(data, apsw.FTS5_TOKENIZE_QUERY, None)]
    operators = " AND ".join(f'"{word}"' for word in operator_words(literal.text)[:_MOST_WORDS])
    if words or operators:
        yield _all(db, passes, data, words, operators, [])
    if operators and not words:
        return
    # Only an ASCII character that is not part of words surely ends a word. Other marks may join letters, and
    # which marks exist depends on the version of Unicode.
    opens = bool(words) and _is_open(data[: words[0].start])
    closes = bool(words) and _is_open(data[words[-1].end :])
    if words and (literal.word or not (opens or closes)):
        return
    inner = words[opens : len(words) - closes]
    # Each entry is a word that may be part of a longer word, and whether the longer word begins with it.
    edges = [(words[0].text, False)] if opens else []
    if closes and (len(words) > 1 or not opens):
        edges.append((words[-1].text, True))
    known = word_list() if edges else WordList()
    terms_of_edges = (known.terms_with(word, begins, _MOST_TERMS) for word, begins in edges)
    parts = [terms for terms in terms_of_edges if terms is not None]
    if not (inner or operators or parts):
        yield _ids(db, "SELECT id FROM chunks WHERE {passes} ORDER BY id", passes, "id")
        return
    if parts:
        # Chunks newer than the word list may have words that it lacks.
        newer = "SELECT id FROM chunks WHERE id > ? AND {passes}"
        yield _ids(db, newer, passes, "id", known.upto)
    yield _all(db, passes, data, inner, operators, parts)


def _is_open(beyond: bytes) -> bool:
    """Whether the literal's first or last word may be part of a longer word, given the bytes beyond it."""
    return not any(byte < 128 for byte in beyond)


_BY_PHRASE = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND {passes}"
_BY_OPERATORS = "SELECT rowid FROM operators WHERE operators MATCH ? AND {passes}"
_BY_TERMS = (
    "SELECT DISTINCT doc FROM json_each(?) t CROSS JOIN occurrences o ON o.term = t.value WHERE {passes}"
)


def _all(
    db: apsw.Connection,
    passes: Passes,
    data: bytes,
    words: list[_Word],
    operators: str,
    parts: list[list[str]],
) -> Iterable[int]:
    """Return the chunks with these words of `data` as a phrase, the operators, and a term of each part."""
    conditions = [(_BY_OPERATORS, "+rowid", operators)] if operators else []
    conditions += [(_BY_TERMS, "o.doc", json.dumps(terms)) for terms in parts]
    if words:  # A phrase of several words proposes the fewest chunks, and a single word often the most.
        few = words[:_MOST_WORDS]
        text = data[few[0].start : few[-1].end].decode("utf-8", "replace").replace('"', '""')
        phrase = (_BY_PHRASE, "+rowid", f'{{text}} : "{text}"')
        conditions.insert(0 if len(words) > 1 else len(conditions), phrase)
    proposed: set[int] | None = None
    for sql, column, value in conditions if len(conditions) > 1 else ():
        ids = set(itertools.islice(_ids(db, sql, passes, column, value), _MOST_IDS))
        if len(ids) < _MOST_IDS:
            proposed = ids if proposed is None else proposed & ids
        if proposed is not None and len(proposed) <= _FEW:
            break
    if proposed is not None:
        return sorted(proposed)
    sql, column, value = conditions[0]
    return _ids(db, sql, passes, column, value)


def _ids(
    db: apsw.Connection, sql: str, passes: Passes, column: str, *values: apsw.SQLiteValue
) -> Iterator[int]:
    condition, more = passes
    rows = db.execute(sql.format(passes=condition.format(column)), (*values, *more))
    return (int(str(row[0])) for row in rows)


# --- what the text says -----------------------------------------------------------------------------


def _verified(
    db: apsw.Connection, literal: Literal, ids: Iterable[int], deadline: Deadline
) -> Iterator[TextHit]:
    """Yield the chunks that contain the literal. Raises apsw.InterruptError soon after `deadline` is true."""
    needle = literal.folded.encode("utf-8", "surrogatepass")
    is_ascii = needle.isascii()
    sizes = itertools.chain(_BATCHES, itertools.repeat(_BATCHES[-1]))
    waiting = iter(ids)
    while batch := list(itertools.islice(waiting, next(sizes))):
        rows = db.execute(
            "SELECT id, start_line, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(batch),),
        )
        for chunk_id, start_line, packed in rows:
            data = zlib.decompress(cast(bytes, packed))
            # Comparing bytes excludes most chunks cheaply. Letters outside ASCII may fold to ASCII.
            if is_ascii and data.isascii() and needle not in data.lower():
                continue
            text = data.decode("utf-8", "surrogatepass")
            if (hit := look(literal, text, int(str(chunk_id)), int(str(start_line)))) is not None:
                yield hit
        if deadline():
            raise apsw.InterruptError
