"""Caches answers, so that repeating a query is free. A stale answer is never returned.

The cache key includes everything that an answer depends on, except the files that it quotes. These files are
read again and compared before the answer is reused, because the index always lags a little behind the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from cairn.engine.open_workspace import OpenWorkspace
    from cairn.engine.request import Request
    from cairn.protocol import SearchResult

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
