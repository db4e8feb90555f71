"""Caches answers, so that repeating a query is free. A stale answer is never returned.

The cache key includes everything that an answer depends on, except the files that it quotes. These files are
read again and compared before the answer is reused, because the index always lags a little behind the disk.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from cairn.engine.caller import CachedAnswer, digest_of
from cairn.engine.request import Request
from cairn.protocol import SearchResult


def key_of(request: Request, params: Hashable, *more: Hashable) -> Hashable:
    """Return the key of an answer. Call it before reading the index, lest the answer be older than its
    key."""
    return params, request.folder_uris, request.state(request.learned), more


def recall(request: Request, key: Hashable) -> Any | None:
    """Return the cached answer if its files are unchanged; else None."""
    cached = request.caller.cache.get(key, lambda each: each.is_current(request.lines_now))
    return cached.answer if cached else None


def keep(request: Request, key: Hashable, answer: Any, characters: int) -> None:
    """Cache an answer of `characters` characters, with the files that the request read for it."""
    files = {uri: digest_of(lines) for uri, lines in request.files_read.items()}
    request.caller.cache.put(key, CachedAnswer(answer, files), characters)


def latest(request: Request, params: Hashable) -> Any | None:
    """Return the latest answer to the same request over the same folders if its files are unchanged."""
    wanted = (params, request.folder_uris)
    cached = request.caller.cache.latest(lambda key: key[:2] == wanted)
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
