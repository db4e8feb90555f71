"""Search for chunks that contain a literal: inverted lists select candidates, whose texts are searched.

As in an index file (`cairn.index.reader.exact`), the first candidates contain all words and operators of the
literal. In the next ones, its first or last word may be part of a longer word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cairn.errors import QueryCancelledError
from cairn.index.postgres.segment import OPERATORS
from cairn.index.postgres.snapshot_words import stems, tokens
from cairn.index.reader.exact import ExactMatches, Literal, TextHit, best_first, look
from cairn.index.reader.postings import Ids, Postings, together
from cairn.index.store.deadline import Deadline
from cairn.index.store.keyword_columns import operator_words

if TYPE_CHECKING:
    from cairn.index.postgres.term_queries import WordQueries

_MOST_WORDS = 24
"""The maximum number of the literal's words that are looked up, even if a pasted text has more."""
_MOST_TERMS = 1_000
"""If more terms than this contain the literal's first or last word, that word is not looked up."""
_MOST_MORE = 400
"""The maximum number of candidates with longer words, if there are hits with whole words."""
_BATCHES = (64, 256, 512)
"""The numbers of chunks whose texts are read at once: first few, then more."""

Passes = Callable[[Ids], NDArray[np.bool_]]


def find(
    reader: WordQueries,
    literal: Literal,
    limit: int,
    passes: Passes,
    deadline: Deadline,
    first: Iterable[int],
) -> ExactMatches:
    """Return the chunks in `first` that contain the literal, and at most `limit` others.

    At the deadline, return the hits so far and set `cut`. Raise QueryCancelledError.
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
        read = untried[:_MOST_MORE] if stage and hits else untried
        cut = cut or len(read) < len(untried)
        for hit in _verified(reader, literal, read, deadline):
            if len(hits) >= more:
                return best_first(hits.values(), cut=True)
            hits[hit.chunk_id] = hit
        if _is_over(deadline):
            return best_first(hits.values(), cut=True)
    return best_first(hits.values(), cut)


def _is_over(deadline: Deadline) -> bool:
    """Return whether the deadline has passed. Raise QueryCancelledError if the request was cancelled."""
    if deadline.cancelled():
        raise QueryCancelledError("The request was cancelled.")
    return deadline()


def _proposals(reader: WordQueries, literal: Literal) -> Iterator[Ids]:
    """Yield candidates, first those with whole words. A chunk may be in both arrays."""
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
    found = (known.terms_with(word, begins, _MOST_TERMS) for word, begins in edges)
    parts = [terms for terms in found if terms is not None]
    if not (inner or operators or parts):
        yield np.flatnonzero(reader.columns().file_of > 0)
        return
    yield _with_all(reader, inner[:_MOST_WORDS], operators, parts)


def _is_open(written: str, word: str, at_start: bool) -> bool:
    """Return whether the literal's first or last word may be part of a longer word in a chunk."""
    if at_start:
        beyond = written[: max(0, written.lower().find(word))]
    else:
        place = written.lower().rfind(word)
        beyond = "" if place < 0 else written[place + len(word) :]
    return not any(character.isascii() for character in beyond)


def _with_all(
    reader: WordQueries,
    terms: Sequence[str],
    operators: Sequence[str],
    parts: Sequence[Sequence[str]] = (),
) -> Ids:
    """Return int64[n], ascending: the chunks with all terms and operators and a term of each of `parts`."""
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
        for chunk, line, text in reader.texts(batch):
            if (hit := look(literal, text, chunk, line)) is not None:
                yield hit
        if _is_over(deadline):
            return
