"""Caches answers, so that repeating a query is free. A stale answer is never returned.

The cache key includes everything that an answer depends on, except the files that it quotes. These files are
read again and compared before the answer is reused, because the index always lags a little behind the disk.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from cairn.engine.open_workspace import OpenWorkspace
    from cairn.engine.request import Request
    from cairn.protocol import SearchResult

_MOST_ANSWERS = 256
_MOST_CHARACTERS = 8_000_000
"""The maximum number of characters of all answers together. Ten results with context have some 30,000."""

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """A least-recently-used cache of answers, bounded in number and size. Thread-safe."""

    def __init__(self, most_answers: int = _MOST_ANSWERS, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most_answers = most_answers
        self._most_characters = most_characters
        self._answers: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        """The answers with their numbers of characters, most recently used last."""
        self._characters = 0
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable, is_current: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return the cached answer if `is_current` accepts it, else None. Count a hit or a miss."""
        with self._lock:
            cached = self._answers.get(key)
        hit = cached is not None and is_current(cached[0])  # This may read files, so no lock.
        with self._lock:
            if not hit:
                self.misses += 1
                return None
            self.hits += 1
            if key in self._answers:
                self._answers.move_to_end(key)
        return cached[0] if cached else None

    def get_or_make(self, key: Hashable, make: Callable[[], T], characters: Callable[[T], int]) -> T:
        """Return the cached answer, or make and cache it. `characters` returns its number of characters."""
        answer = self.get(key)
        if answer is None:
            answer = make()
            self.put(key, answer, characters(answer))
        return answer

    def latest(self, is_wanted: Callable[[Any], bool]) -> T | None:
        """Return the most recently used answer whose key is wanted, else None. Count no hit or miss."""
        with self._lock:
            return next(
                (answer for key, (answer, _) in reversed(self._answers.items()) if is_wanted(key)), None
            )

    def put(self, key: Hashable, answer: T, characters: int) -> None:
        """Cache an answer with this number of characters, unless it is larger than the whole cache."""
        if characters > self._most_characters:
            return
        with self._lock:
            _, before = self._answers.pop(key, (None, 0))
            self._answers[key] = (answer, characters)
            self._characters += characters - before
            while len(self._answers) > self._most_answers or self._characters > self._most_characters:
                _, (_, gone) = self._answers.popitem(last=False)
                self._characters -= gone

    def clear(self) -> None:
        """Drop all answers, but not the counts of hits and misses."""
        with self._lock:
            self._answers.clear()
            self._characters = 0


LinesOf = Callable[[str], Sequence[str] | None]


@frozen
class CachedAnswer:
    """An answer, and digests of the files that it quotes."""

    answer: Any
    files: Mapping[str, bytes]
    """A digest of the lines of each file, by URI."""

    def is_current(self, lines_of: LinesOf) -> bool:
        return all(_digest(lines_of(uri)) == digest for uri, digest in self.files.items())


def key_of(workspace: OpenWorkspace, request: Hashable, *more: Hashable) -> Hashable:
    """Return the key of an answer. Call it before reading the index, lest the answer be older than its
    key."""
    return request, workspace.folder_uris, workspace.state(workspace.learned), more


def recall(workspace: OpenWorkspace, key: Hashable) -> Any | None:
    """Return the cached answer if its files are unchanged; else None."""
    cached = workspace.engine.fallback.cache.get(key, lambda each: each.is_current(workspace.lines_now))
    return cached.answer if cached else None


def keep(workspace: OpenWorkspace, key: Hashable, answer: Any, characters: int) -> None:
    """Cache an answer of `characters` characters, with the files that the workspace read for it."""
    files = {uri: _digest(lines) for uri, lines in workspace.files_read.items()}
    workspace.engine.fallback.cache.put(key, CachedAnswer(answer, files), characters)


def latest(request: Request, request_key: Hashable) -> Any | None:
    """Return the latest answer to the same request over the same folders if its files are unchanged."""
    wanted = (request_key, request.folder_uris)
    cached = request.engine.fallback.cache.latest(lambda key: key[:2] == wanted)
    return cached.answer if cached and cached.is_current(request.lines_on_disk) else None


def characters_of(results: Sequence[SearchResult]) -> int:
    """Estimate the size of the results in characters."""
    return sum(
        _OTHER_FIELDS
        + len(result.snippet + result.context.before + result.context.after)
        + sum(map(len, result.match_explain or ()))
        + sum(len(passage.text) for passage in result.passages)
        for result in results
    )


_OTHER_FIELDS = 500
"""The estimated number of characters of a result's other fields, such as paths, titles and hashes."""


def _digest(lines: Sequence[str] | None) -> bytes:
    """Return a digest of 16 bytes; b"" for a file that is gone or not text."""
    if lines is None:
        return b""
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).digest()
