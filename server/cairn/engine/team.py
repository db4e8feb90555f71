"""Answers about a clone from the team's index of it, as long as the team's server can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from attrs import frozen

from cairn import protocol
from cairn.engine.folders import Folder, Sharing
from cairn.errors import CairnError
from cairn.index.reader.index_reader import IndexReader
from cairn.index.remote.clone import Shared, TeamClone
from cairn.index.remote.server import TeamServer
from cairn.index.remote.token import team_token as team_token

OnShared = Callable[[Path, IndexReader, protocol.Revision], None]
OnAlone = Callable[[Path, str], None]


@frozen
class _Unusable:
    """Stands where there is nothing to share with: the settings name a server that cannot be used."""

    tell: Callable[[], None]

    def start(self) -> None:
        self.tell()

    def stop(self) -> None:
        """There is no thread."""

    def wait(self, seconds: float) -> None:
        """It was told with the start."""

    def changed(self, paths: Iterable[str]) -> None:
        """The folder's own indexing thread is told, too."""

    def look_again(self) -> None:
        """The folder's own indexing thread looks."""


def share(folder: Folder, on_shared: OnShared, on_alone: OnAlone) -> Sharing:
    """What keeps the folder and the team's index together; `on_shared` and `on_alone` are called on its thread."""
    root = folder.root
    try:
        server = TeamServer(folder.settings().team.url, team_token())
    except CairnError as problem:
        return _Unusable(partial(on_alone, root, str(problem)))

    def shared(found: Shared) -> None:
        at = found.located
        revision = protocol.Revision(
            folder.uri, at.repository, at.ref, at.commit, at.committed_at, at.indexed_at, at.behind
        )
        on_shared(root, found.reader, revision)

    return TeamClone(root, server, folder.reader.overlay, shared, partial(on_alone, root))
