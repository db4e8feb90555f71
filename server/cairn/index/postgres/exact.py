"""Finds the chunks of a snapshot that contain a text as it is written: the inverted lists propose, the texts decide.

As in an index file (`cairn.index.text.exact`), first those are looked at that have the literal's words and its operators, then
those where its first or last word is part of a longer one. Words are not asked to stand beside each other: the text says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cairn.errors import QueryCancelledError
from cairn.index.postgres.segment import OPERATORS
from cairn.index.postgres.words import stems, tokens
from cairn.index.reader.arrays import Ids
from cairn.index.reader.postings import Postings, together
from cairn.index.store.deadline import Deadline
from cairn.index.store.keyword_columns import operator_words
from cairn.index.text.literals import ExactMatches, Literal, TextHit, best_first, look

if TYPE_CHECKING:
    from cairn.index.postgres.word_queries import WordQueries

_MOST_WORDS = 24
"""Of a pasted text as many words propose chunks; all of it must stand in the chunk."""
_MOST_TERMS = 1_000
"""A part of so many words says too little."""
_MOST_MORE = 400
"""Chunks that are looked at for the literal inside longer words where others have it as it is."""
_BATCHES = (64, 256, 512)
"""Chunks whose texts are read at once."""

Passes = Callable[[Ids], NDArray[np.bool_]]


def find(
    reader: WordQueries,
    literal: Literal,
    limit: int,
    passes: Passes,
    deadline: Deadline,
    first: Iterable[int],
) -> ExactMatches:
    """At most `limit` chunks that contain the literal, and any number of those in `first`.

    Where the time is over, what was found until then is the answer, with `cut`. Raises QueryCancelledError.
    """
    if not literal.text or literal.text.isspace():
        return ExactMatches()
    hits: dict[int, TextHit] = {}
    tried = set(first)
    hits.update((hit.chunk_id, hit) for hit in _verified(reader, literal, sorted(tried), deadline))
    more, cut = limit + len(hits), False
    for stage, proposed in enumerate(_proposals(reader, literal)):
        passing = proposed[passes(proposed)] if len(proposed) else proposed
        untried = [chunk for chunk in passing.tolist() if chunk not in tried]
        tried.update(untried)
        looked_at = untried[:_MOST_MORE] if stage and hits else untried
        cut = cut or len(looked_at) < len(untried)
        for hit in _verified(reader, literal, looked_at, deadline):
            if len(hits) >= more:
                return best_first(hits.values(), cut=True)
            hits[hit.chunk_id] = hit
        _raise_where_cancelled(deadline)
        if deadline():
            return best_first(hits.values(), cut=True)
    return best_first(hits.values(), cut)


def _raise_where_cancelled(deadline: Deadline) -> None:
    if deadline.cancelled():
        raise QueryCancelledError("The request was cancelled.")


def _proposals(reader: WordQueries, literal: Literal) -> Iterator[Ids]:
    """Chunks that may contain the literal, those with its whole words first; some may come twice."""
    written = literal.text.replace("\0", " ")
    with reader.reading() as db:
        words, stemmed = tokens(db, written), stems(db, written)
    operators = operator_words(literal.text)[:_MOST_WORDS]
    if not words and not operators:
        yield np.flatnonzero(reader.columns().file_of > 0)
        return
    yield _with_all(reader, stemmed[:_MOST_WORDS], operators)
    if not words:
        return
    opens, closes = _is_open(written, words[0], True), _is_open(written, words[-1], False)
    if literal.word or not (opens or closes):
        return
    inner = stemmed[opens : len(stemmed) - closes]
    edges = [(words[0], False)] if opens else []
    if closes and (len(words) > 1 or not opens):
        edges.append((words[-1], True))
    known = reader.word_list()
    parts = [
        terms for word, begins in edges if (terms := known.terms_with(word, begins, _MOST_TERMS)) is not None
    ]
    if not (inner or operators or parts):
        yield np.flatnonzero(reader.columns().file_of > 0)
        return
    yield _with_all(reader, inner[:_MOST_WORDS], operators, parts)


def _is_open(written: str, word: str, at_start: bool) -> bool:
    """Whether the first or last word may go on: nothing of the literal stands before or behind it that ends it for certain."""
    beyond = written[: _place(written, word)] if at_start else written[_end(written, word) :]
    return not any(character.isascii() for character in beyond)


def _place(written: str, word: str) -> int:
    return max(0, written.lower().find(word))


def _end(written: str, word: str) -> int:
    place = written.lower().rfind(word)
    return len(written) if place < 0 else place + len(word)


def _with_all(
    reader: WordQueries,
    terms: Sequence[str],
    operators: Sequence[str],
    parts: Sequence[Sequence[str]] = (),
) -> Ids:
    """int64[n], ascending: the chunks with all these terms and operators, and of each part one of its terms."""
    every: list[Postings] = [*reader.term_postings(terms).values()]
    every += reader.term_postings(operators, OPERATORS).values()
    every += [together(list(reader.term_postings(part).values())) for part in parts]
    if not every:
        return np.empty(0, np.int64)
    every.sort(key=lambda postings: len(postings.ids))
    ids = every[0].ids
    for postings in every[1:]:
        ids = np.intersect1d(ids, postings.ids, assume_unique=True)
    return ids.astype(np.int64)


def _verified(
    reader: WordQueries, literal: Literal, ids: Sequence[int], deadline: Deadline
) -> Iterator[TextHit]:
    sizes = itertools.chain(_BATCHES, itertools.repeat(_BATCHES[-1]))
    waiting = iter(ids)
    while batch := list(itertools.islice(waiting, next(sizes))):
        for chunk, line, text in sorted(reader.texts(batch)):
            if (hit := look(literal, text, chunk, line)) is not None:
                yield hit
        _raise_where_cancelled(deadline)
        if deadline():
            return
