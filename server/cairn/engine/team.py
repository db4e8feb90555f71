"""Uses the team's index for a local clone, as long as the team's server can be reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cairn import protocol
from cairn.engine.folders import Folder, Sharing
from cairn.index.reader.index_reader import IndexReader
from cairn.index.remote.clone import Shared, TeamClone
from cairn.index.remote.team_server import TeamServer
from cairn.index.remote.team_server import team_token as team_token

OnShared = Callable[[Path, IndexReader, protocol.Revision], None]
OnLocal = Callable[[Path, str], None]


def share(folder: Folder, on_shared: OnShared, on_local: OnLocal) -> Sharing:
    """Connect the folder with the team's index. The connection's thread calls `on_shared` and `on_local`.

    Raise CairnError if the settings name an unusable server.
    """
    root = folder.root
    server = TeamServer(folder.settings().team.url, team_token())

    def shared(found: Shared) -> None:
        at = found.located
        revision = protocol.Revision(
            folder.uri, at.repository, at.ref, at.commit, at.committed_at, at.indexed_at, at.behind
        )
        on_shared(root, found.reader, revision)

    overlay = folder.reader.overlay
    return TeamClone(root, lambda: folder.settings().index, server, overlay, shared, partial(on_local, root))
