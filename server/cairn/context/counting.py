"""Token counts that are remembered: the same passages are shown again and again while a cursor moves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from cairn.chunking.model import content_key

_MOST_COUNTS = 5_000
"""Of some 150 bytes each."""
_SHORT = 64
"""Characters up to which a text is its own key."""


class TokenCounts:
    """Counts by the text's digest. Methods may be called from several threads at once."""

    def __init__(self, most: int = _MOST_COUNTS) -> None:
        self._most = most
        self._counts: OrderedDict[tuple[Hashable, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def by(self, tokenizer: Hashable, count: Callable[[str], int]) -> Callable[[str], int]:
        """`count`, asked once for each text; `tokenizer` tells one way to count from another."""

        def counted(text: str) -> int:
            key = (tokenizer, text if len(text) <= _SHORT else content_key(text))
            with self._lock:
                known = self._counts.get(key)
                if known is not None:
                    self._counts.move_to_end(key)
                    return known
            tokens = count(text)
            with self._lock:
                self._counts[key] = tokens
                while len(self._counts) > self._most:
                    self._counts.popitem(last=False)
            return tokens

        return counted
