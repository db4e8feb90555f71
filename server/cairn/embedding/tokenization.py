"""Turn text into a limited number of token ids. All users of a model share one loaded tokenizer."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from cairn.embedding.model_files import TOKENIZER_FILE, InstalledModel, remedy
from cairn.errors import ModelError
from cairn.text.unicode import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Text is cut to this many characters per token before tokenisation, so that a minified file takes no longer
# than another. English and code have 3 to 5 characters per token; only huge words or blanks lose text.
_CHARACTERS_PER_TOKEN = 64
_LINES_REMEMBERED = 20_000
"""The maximum number of cached lines, which take some 3 MB."""
_LONGEST_REMEMBERED = 200
"""The maximum length of a cached line, in characters."""


class TextTokenizer:
    """A loaded tokenizer. It is immutable except for a cache, so several threads may call it at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.pad_id = _pad_id(tokenizer)
        # Truncation and padding are state that threads would share, so callers truncate and pad.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.num_special_tokens_to_add(False)
        self.counts_by_line = _ends_tokens_at_lines(tokenizer)
        self._count_line = functools.lru_cache(_LINES_REMEMBERED)(self._count)

    def framed_ids(self, text: str, limit: int) -> list[int]:
        """Return the token ids of `text` with the model's special tokens. `limit` includes these."""
        room = max(1, limit - self._special_tokens)
        # Texts are processed one by one: the threads of `encode_batch` would occupy every core.
        start = well_formed(text[: room * _CHARACTERS_PER_TOKEN])
        encoding = self._tokenizer.encode(start, add_special_tokens=False)
        encoding.truncate(room)
        ids: list[int] = self._tokenizer.post_process(encoding).ids
        return ids

    def count(self, text: str) -> int:
        """Count the tokens of the whole text without special tokens. Lines are cached, since the same ones
        are counted repeatedly as an excerpt or a prompt grows."""
        if not self.counts_by_line:
            return self._count(text)
        return sum(
            self._count_line(line) if len(line) <= _LONGEST_REMEMBERED else self._count(line)
            for line in text.split("\n")
        )

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(well_formed(text), add_special_tokens=False))


def load_tokenizer(model: InstalledModel) -> TextTokenizer:
    """Return the tokenizer of `model`, loaded once (8 MB, 40 ms). Raise ModelError if it is unreadable."""
    path = model.folder / TOKENIZER_FILE
    try:
        status = path.stat()
        return _load(str(path), status.st_mtime_ns, status.st_size)
    except Exception as problem:
        raise ModelError(
            f"The embedding model in {model.folder} cannot be loaded: {problem}\n{remedy(model.name)}"
        ) from problem


@functools.lru_cache(maxsize=1)
def _load(path: str, mtime_ns: int, size: int) -> TextTokenizer:
    from tokenizers import Tokenizer

    return TextTokenizer(Tokenizer.from_file(path))


def _ends_tokens_at_lines(tokenizer: Tokenizer) -> bool:
    """Return whether no token can span two lines. This is certain only for BERT's rules."""
    rules = (tokenizer.normalizer, tokenizer.pre_tokenizer)
    return [type(rule).__name__ for rule in rules] == ["BertNormalizer", "BertPreTokenizer"]


def _pad_id(tokenizer: Tokenizer) -> int:
    padding: dict[str, Any] | None = tokenizer.padding
    if padding is not None:
        return int(padding["pad_id"])
    known = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    return next((number for number in known if number is not None), 0)
