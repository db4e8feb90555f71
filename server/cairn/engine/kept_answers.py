"""Keeps answers, so that the same question twice is free, and a stale answer impossible.

An answer is kept under all that it depends on but the files it quotes: those are read again, and compared, before the answer
is given once more. An index, however fresh, is of a moment ago.
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
class Kept:
    """An answer, and the files that it was checked against."""

    answer: Any
    files: Mapping[str, bytes]
    """A digest of the lines of each file, by URI."""

    def stands(self, lines_of: LinesOf) -> bool:
        """Whether every file is as it was."""
        return all(_digest(lines_of(uri)) == digest for uri, digest in self.files.items())


def key_of(workspace: OpenWorkspace, asked: Hashable, *more: Hashable) -> Hashable:
    """What an answer to `asked` depends on beside files; `more` is what only this method depends on.

    Take it before anything is read: then an answer can be newer than its key, never older.
    """
    return asked, workspace.folder_uris, workspace.state(workspace.learned), more


def recall(workspace: OpenWorkspace, key: Hashable) -> Any | None:
    """The answer that was kept under the key, if its files are as they were; else None."""
    kept = workspace.engine.fallback.cache.get(key, lambda kept: kept.stands(workspace.lines_now))
    return kept.answer if kept else None


def keep(workspace: OpenWorkspace, key: Hashable, answer: Any, characters: int) -> None:
    """Keep an answer of so many characters, with the files that the workspace read for it."""
    files = {uri: _digest(lines) for uri, lines in workspace.files_read.items()}
    workspace.engine.fallback.cache.put(key, Kept(answer, files), characters)


def latest(request: Request, asked: Hashable) -> Any | None:
    """The answer that was given last to the same question about the same folders, whatever has changed but its files."""
    wanted = (asked, request.folder_uris)
    kept = request.engine.fallback.cache.latest(lambda key: key[:2] == wanted)
    return kept.answer if kept and kept.stands(request.lines_on_disk) else None


def characters_of(results: Sequence[SearchResult]) -> int:
    """About how much room the results take."""
    shown = [
        (
            r.snippet,
            r.context.before,
            r.context.after,
            *(r.match_explain or ()),
            *(p.text for p in r.passages),
        )
        for r in results
    ]
    return sum(_OTHER_FIELDS + sum(map(len, texts)) for texts in shown)


_OTHER_FIELDS = 500
"""Characters of a result beside its text: paths, titles, hashes."""


def _digest(lines: Sequence[str] | None) -> bytes:
    """16 bytes of the lines; none for a file that is gone or not text."""
    if lines is None:
        return b""
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).digest()
