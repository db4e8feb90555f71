"""Makes the vocabulary: whole words if they are frequent, pieces for the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cairn.embedding.word_pieces import words_of

_ALPHABET = 300
"""The limit of single characters as pieces; the rest of Unicode is rare in code."""
_SELDOM = 10
"""The frequency below which a word is cut into pieces."""


def train_pieces(texts: Iterable[str], size: int) -> list[str]:
    """Return a vocabulary of `size` word pieces of the texts, the most frequent first."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=_SELDOM, special_tokens=["[UNK]"], limit_alphabet=_ALPHABET
    )
    tokenizer.train_from_iterator((" ".join(words_of(text)) for text in texts), trainer)
    found = tokenizer.get_vocab()
    return sorted((piece for piece in found if piece != "[UNK]"), key=found.__getitem__)


def read_pieces(path: Path) -> list[str]:
    """Return the pieces in a file with one a line."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
