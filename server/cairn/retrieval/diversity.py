"""Diversify ranked results: demote near-duplicates, and damp further results of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import evolve

from cairn.retrieval.scores import Ranked
from cairn.settings.tree import DiversitySettings

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 8
"""Texts of fewer words are similar by chance: they are copies only if they are equal."""
_COMPARED_WORDS = 2_000


def diversify(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    """Damp the scores of repeated files in `ranked`, which is best first. Return the results, best first,
    near-duplicates last. A file's tenth result is damped like its second. Equal scores keep their order."""
    copies = _copies(ranked, settings)
    distinct = _damped([result for place, result in enumerate(ranked) if place not in copies], settings)
    lowest = distinct[-1].score if distinct else 0.0
    behind = [
        evolve(result, score=min(lowest, result.score * settings.near_duplicate))
        for place, result in enumerate(ranked)
        if place in copies
    ]
    return distinct + sorted(behind, key=lambda result: -result.score)


def first_of_files(ranked: Iterable[Ranked]) -> list[Ranked]:
    files: dict[tuple[int, str], Ranked] = {}
    for result in ranked:
        files.setdefault((result.folder, result.stored.path), result)
    return list(files.values())


def is_diverse(ranked: Sequence[Ranked], settings: DiversitySettings) -> bool:
    """Return whether `diversify` would leave `ranked` unchanged, whatever results follow."""
    files = {(result.folder, result.stored.path) for result in ranked}
    if settings.file < 1 and len(files) < len(ranked):
        return False
    return not _copies(ranked, settings)


def _copies(ranked: Sequence[Ranked], settings: DiversitySettings) -> set[int]:
    return near_duplicates(ranked, settings.similarity) if settings.near_duplicate < 1 else set()


def _damped(ranked: Sequence[Ranked], settings: DiversitySettings) -> list[Ranked]:
    files: set[tuple[int, str]] = set()
    damped = []
    for result in ranked:
        file = (result.folder, result.stored.path)
        damped.append(evolve(result, score=result.score * settings.file) if file in files else result)
        files.add(file)
    return sorted(damped, key=lambda result: -result.score)


def near_duplicates(ranked: Sequence[Ranked], similarity: float, enough: int | None = None) -> set[int]:
    """Return the positions of the results whose text nearly equals that of a better result. `similarity` is
    the minimum Jaccard similarity, 0 to 1, of the word pairs of two duplicates. After `enough` distinct
    results, the rest is not examined."""
    copies: set[int] = set()
    texts: set[str] = set()
    known: list[frozenset[tuple[str, str]]] = []
    for place, result in enumerate(ranked):
        if len(known) == enough:
            break
        text = result.stored.chunk.text
        pairs = _pairs(text)
        if text.strip() in texts or (pairs and any(_alike(pairs, other, similarity) for other in known)):
            copies.add(place)
        else:
            texts.add(text.strip())
            known.append(pairs)
    return copies


def _alike(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]], similarity: float) -> bool:
    # Sets of too different sizes cannot reach the similarity. This check settles most comparisons.
    smaller, larger = sorted((len(one), len(other)))
    if smaller < similarity * larger:
        return False
    shared = len(one & other)
    return shared >= similarity * (len(one) + len(other) - shared)


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of adjacent words in a text; none if the text is too short to compare. Single words
    would not do: the code of one project repeats the same words in another order."""
    words = _WORD.findall(text.lower())[:_COMPARED_WORDS]
    return frozenset(pairwise(words)) if len(words) >= _FEWEST_WORDS else frozenset()
