"""Draws queries of three kinds from a checkout and its index."""

from __future__ import annotations

import enum
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.drawn import drawn_questions
from engine.index_file import opened
from engine.wording import questions

_FEW = 3
_LEAST_OF_A_QUESTION = 5


class Kind(enum.StrEnum):
    QUESTION = "question"
    """Subjects of commits and first sentences of comments, of five words or more."""
    WORDS = "words"
    """One to three words: names of definitions, and adjacent words of the text."""
    DISCOVER = "discover"
    """The questions, asked for evidence and a prompt."""


def queries_of(checkout: Path, data: Path, count: int, chance: random.Random) -> Mapping[Kind, Sequence[str]]:
    """Return up to `count` queries of each kind."""
    with opened(data) as index:
        drawn = drawn_questions(checkout, index, 6 * count, chance)
    asked = [query for query in drawn if len(query.split()) >= _LEAST_OF_A_QUESTION][:count]
    names = [query for query in drawn if len(query.split()) == 1][: count // 2]
    words = (" ".join(query.split()[:_FEW]) for query in questions(checkout, count - len(names), chance))
    return {Kind.QUESTION: asked, Kind.WORDS: [*names, *words], Kind.DISCOVER: asked}
