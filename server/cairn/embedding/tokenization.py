"""Text to token ids, cut to a number of tokens: one loaded tokenizer for all users of a model."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from cairn.embedding.model_files import TOKENIZER_FILE, InstalledModel, remedy
from cairn.errors import ModelError
from cairn.text.unicode import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Text beyond this many characters per token is cut before it is tokenised, so that a minified file costs no
# more than another. English and code have 3 to 5 characters a token; only runs of huge words or blanks lose.
_CHARACTERS_PER_TOKEN = 64
_LINES_REMEMBERED = 20_000
"""Some 3 MB."""
_LONGEST_REMEMBERED = 200
"""Characters of a line."""


class TextTokenizer:
    """A loaded tokenizer. All methods may be called from several threads at once: nothing in it changes but what it remembers."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.pad_id = _pad_id(tokenizer)
        # Truncation and padding are state of the tokenizer that threads would share: both are off, and each
        # encoding is cut, and each batch padded, by whoever asks.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.num_special_tokens_to_add(False)
        self.counts_by_line = _ends_tokens_at_lines(tokenizer)
        """Whether a text has as many tokens as all its lines together."""
        self._count_line = functools.lru_cache(_LINES_REMEMBERED)(self._count)

    def framed_ids(self, text: str, limit: int) -> list[int]:
        """The token ids of `text` with the special tokens the model wants; `limit` counts these too."""
        room = max(1, limit - self._special_tokens)
        # One text at a time: `encode_batch` would spread over every core with threads of its own.
        start = well_formed(text[: room * _CHARACTERS_PER_TOKEN])
        encoding = self._tokenizer.encode(start, add_special_tokens=False)
        encoding.truncate(room)
        ids: list[int] = self._tokenizer.post_process(encoding).ids
        return ids

    def count(self, text: str) -> int:
        """Tokens of the whole text, without special tokens. The same lines are counted again and again: as an excerpt grows,
        and with each prompt that might fit."""
        if not self.counts_by_line:
            return self._count(text)
        return sum(
            self._count_line(line) if len(line) <= _LONGEST_REMEMBERED else self._count(line)
            for line in text.split("\n")
        )

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(well_formed(text), add_special_tokens=False))


def load_tokenizer(model: InstalledModel) -> TextTokenizer:
    """The tokenizer of `model`, loaded once (8 MB, 40 ms). Raises ModelError if its file cannot be read."""
    path = model.folder / TOKENIZER_FILE
    # tokenizers raises bare exceptions.
    try:
        status = path.stat()
        return _load(str(path), status.st_mtime_ns, status.st_size)
    except Exception as problem:
        raise ModelError(
            f"The embedding model in {model.folder} cannot be loaded: {problem}\n{remedy(model.name)}"
        ) from problem


@functools.lru_cache(maxsize=1)
def _load(path: str, mtime_ns: int, size: int) -> TextTokenizer:
    """`mtime_ns` and `size` tell one content of the file from the next."""
    from tokenizers import Tokenizer

    return TextTokenizer(Tokenizer.from_file(path))


def _ends_tokens_at_lines(tokenizer: Tokenizer) -> bool:
    """Whether no token can span two lines: so with BERT's rules, which the default model has; elsewhere none is sure."""
    rules = (tokenizer.normalizer, tokenizer.pre_tokenizer)
    return [type(rule).__name__ for rule in rules] == ["BertNormalizer", "BertPreTokenizer"]


def _pad_id(tokenizer: Tokenizer) -> int:
    padding: dict[str, Any] | None = tokenizer.padding
    if padding is not None:
        return int(padding["pad_id"])
    known = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    return next((number for number in known if number is not None), 0)
