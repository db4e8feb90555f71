"""The vocabulary: whole words where they are frequent, pieces for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cairn.chunking.identifiers import identifier_words

_LONGEST = 40


class WordPieces:
    """Word pieces as the packaged model's tokenizer finds them."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = list(pieces)
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._known: dict[str, list[int]] = {}

    def ids(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        for word in identifier_words(text[: limit * 64]):
            found = self._known.get(word)
            if found is None:
                found = self._known[word] = self._split(word[:_LONGEST])
            ids += found
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _split(self, word: str) -> list[int]:
        whole = self._numbers.get(word)
        if whole is not None:
            return [whole]
        ids = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._numbers.get(("##" if start else "") + word[start:end])
                if number is not None:
                    ids.append(number)
                    break
            start = end if end > start else start + 1
        return ids


def train_pieces(texts: Iterable[str], size: int) -> WordPieces:
    """A vocabulary of `size` word pieces of the texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=10, special_tokens=["[UNK]"], limit_alphabet=300)
    tokenizer.train_from_iterator((" ".join(identifier_words(text)) for text in texts), trainer)
    found = tokenizer.get_vocab()
    return WordPieces(sorted((piece for piece in found if piece != "[UNK]"), key=found.__getitem__))
