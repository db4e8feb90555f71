"""Text to the token ids of the static table: whole words, and pieces of the words that the vocabulary lacks.

Ours, for two reasons. The words are those of the keyword index (`cairn.text.identifiers`), so `HTTPServer` is
"http" and "server" here as there, which a general tokenizer does not do. And it takes a fraction of a library's time,
to load and to run: code repeats its words, so nearly all of them are one look into a dictionary.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable

from cairn.text.identifiers import identifier_words
from cairn.text.runs import Remembered, ascii_runs

CONTINUES = "##"
"""A piece that begins with this continues a word."""

# Text beyond this many characters per token is cut before it is split: of a long document, only the beginning counts.
# English and code have 5 to 8 characters a word, blanks and signs included.
_CHARACTERS_PER_TOKEN = 16
# Longer runs of letters are data: digests, encoded images. Of 7 million words in 22 public repositories, 72 were longer.
_MOST_CHARACTERS = 40
# Words that are no piece as a whole.
_MOST_REMEMBERED = 16_384
# Runs of letters, digits and underscores: 150 bytes each.
_MOST_RUNS = 30_000


class WordPieces:
    """A loaded vocabulary. All methods may be called from several threads at once."""

    def __init__(self, pieces: Iterable[str], most_remembered: int = _MOST_REMEMBERED) -> None:
        """The id of a piece is its place in `pieces`."""
        self._starting: dict[str, tuple[int, ...]] = _Known(self._pieces)
        self._continuing: dict[str, tuple[int, ...]] = {}
        for number, piece in enumerate(pieces):
            if piece.startswith(CONTINUES):
                self._continuing[piece[len(CONTINUES) :]] = (number,)
            else:
                self._starting[piece] = (number,)
        self._longest = max(map(len, (*self._starting, *self._continuing)), default=0)
        self._pieces_of = functools.lru_cache(most_remembered)(self._cut_up)
        self._ids_of_run = Remembered(self._ids_of, _MOST_RUNS)

    def ids(self, text: str, limit: int) -> list[int]:
        """The first `limit` ids of the words of `text`; what is in no piece has none."""
        text = text[: limit * _CHARACTERS_PER_TOKEN]
        if not text.isascii():
            return self.ids_of_words(words_of(text), limit)
        # No word reaches beyond a run, so that these are the same ids.
        ids = map(self._ids_of_run.__getitem__, ascii_runs(text))
        return list(itertools.islice(itertools.chain.from_iterable(ids), limit))

    def ids_of_words(self, words: Iterable[str], limit: int) -> list[int]:
        """The first `limit` ids of words in lower case, as `words_of` gives them."""
        ids = map(self._starting.__getitem__, words)
        return list(itertools.islice(itertools.chain.from_iterable(ids), limit))

    def _ids_of(self, run: str) -> tuple[int, ...]:
        return tuple(itertools.chain.from_iterable(map(self._starting.__getitem__, identifier_words(run))))

    def _pieces(self, word: str) -> tuple[int, ...]:
        return self._pieces_of(word[:_MOST_CHARACTERS])

    def _cut_up(self, word: str) -> tuple[int, ...]:
        """The longest piece that fits, again and again from the left; a character that none begins with is passed over."""
        pieces: list[int] = []
        start = 0
        while start < len(word):
            known = self._continuing if start else self._starting
            for end in range(min(len(word), start + self._longest), start, -1):
                number = known.get(word[start:end])
                if number is not None:
                    pieces += number
                    start = end
                    break
            else:
                start += 1
        return tuple(pieces)


class _Known(dict[str, tuple[int, ...]]):
    """The ids of each word; of others by `missing`. So a text's words are looked up without a line of Python for each."""

    def __init__(self, missing: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._missing = missing

    def __missing__(self, word: str) -> tuple[int, ...]:
        return self._missing(word)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, in their order: those of its identifiers, and of its prose."""
    if text.isascii():
        return identifier_words(text)
    # Apart, so that a dash somewhere in the text does not change how the rest of it is split.
    words: list[str] = []
    for _, runs in itertools.groupby(text.split(), str.isascii):
        words += identifier_words(" ".join(runs))
    return words
