"""The other repositories of a team's index, for a clone of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn import protocol
from cairn.embedding.shared import SharedModel
from cairn.engine.folders import Folder
from cairn.engine.snapshot_folder import NOWHERE, SnapshotFolder
from cairn.errors import StoreUnavailableError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.remote.clone import NotSharedError
from cairn.index.remote.team_server import TeamUnavailableError
from cairn.text.uris import repository_uri


def team_repositories(folder: Folder, texts: Sequence[str], model: SharedModel) -> Iterator[Folder]:
    """Yield the other repositories with files whose imports have one of the texts.

    Raise StoreUnavailableError if the server does not answer, or a catalogue cannot be kept.
    """
    assert folder.sharing is not None
    overlay = Overlay(NOWHERE, folder.settings, model)
    try:
        for located, saved in folder.sharing.importing(texts):
            revision = protocol.Revision(
                repository_uri(located.repository), located.repository, located.ref, located.commit,
                located.committed_at, located.indexed_at,
            )  # fmt: skip
            reader = OverlaidReader(saved, overlay)
            root = NOWHERE / located.repository
            yield SnapshotFolder(root, root, folder.settings, reader, revision=revision)
    except (TeamUnavailableError, NotSharedError) as problem:
        raise StoreUnavailableError(str(problem)) from problem
