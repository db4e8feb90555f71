"""Manages the open folders of one front, such as the LSP server.

It opens and closes the folders, and keeps their settings, indexes and open documents.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cairn import protocol
from cairn.engine.caller import Caller
from cairn.engine.folders import Folder, FolderSettings, folder_named, places_of
from cairn.engine.host import Host, Lease
from cairn.engine.request import Request
from cairn.engine.status import IndexingProgress, figures_of, progress_of
from cairn.errors import CairnError, InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.settings.layers import Layers
from cairn.settings.tree import Settings

if TYPE_CHECKING:
    from cairn.index.remote.clone import Shared, TeamClone


class Engine:
    """The open folders, model and caches that one front's requests use. Thread-safe."""

    def __init__(
        self,
        editor_settings: Mapping[str, Any] | None = None,
        on_change: Callable[[], None] = lambda: None,
        host: Host | None = None,
        enforced: Mapping[str, Any] | None = None,
    ) -> None:
        """Make an engine without folders.

        `editor_settings` is the editor's `cairn` section. `on_change` is called, on any thread, when the
        status may have changed. `host` holds what the engines of the process share. Nothing overrides the
        settings in `enforced`.
        """
        self._enforced = enforced
        self._layers, self._base, self.warnings = self._base_settings(editor_settings or {})
        self.on_change = on_change
        self.host = host or Host(self._base.embedding)
        self.folders: tuple[Folder, ...] = ()
        self._changing_folders = threading.Lock()
        self.caller = Caller(self.host, self.settings, lambda: self.folders, on_change)
        self._stopped = False

    def _base_settings(self, editor: Mapping[str, Any]) -> tuple[Layers, Settings, list[str]]:
        """Return the settings' layers without workspace files, the combined settings, and their warnings."""
        layers = Layers(editor, enforced=self._enforced)
        laid = layers.without_workspace()
        return layers, laid.settings, laid.texts()

    def configure(self, editor_settings: Mapping[str, Any]) -> list[str]:
        """Apply a new `cairn` section of the editor's settings. Return warnings about invalid settings."""
        self._layers, self._base, self.warnings = self._base_settings(editor_settings)
        for folder in self.folders:
            before = folder.settings()
            folder.settings.rebase(self._layers)
            # Ranking settings do not change what is indexed.
            if _indexing(before) != _indexing(folder.settings()):
                folder.rescan()
        self.on_change()
        return self.warnings

    # --- folders -----------------------------------------------------------------------------------

    def add_folder(self, path: Path, *, keep_indexed: bool = True) -> None:
        """Open `path` and index it if the settings say so. Raise InvalidRequestError if it is unreadable."""
        root = path.resolve()
        if not root.is_dir() or not os.access(root, os.R_OK | os.X_OK):
            raise InvalidRequestError("folder", f"{path} is not a directory that can be read")
        with self._changing_folders:
            if self._stopped or any(folder.root == root for folder in self.folders):
                return
            settings = FolderSettings(self._layers, root)
            enabled = settings().retrieval.enabled
            writes, asks_team = keep_indexed and enabled, enabled and bool(settings().team.url)
            lease = self.host.lease(root, settings, self.on_change, writes=writes and not asks_team)
            shown = Path(os.path.abspath(path))  # noqa: PTH100 - Path has no way to do this without following links
            reader = OverlaidReader(_own_index(root, lease), Overlay(root, settings, self.host.model))
            folder, problem = Folder(root, shown, settings, reader, lease), ""
            if asks_team:
                try:
                    folder = evolve(folder, sharing=self._sharing(folder, writes=writes))
                except CairnError as error:
                    problem = str(error)
            self.folders = (*self.folders, folder)
        if folder.sharing is not None:
            folder.sharing.start()
        elif problem:
            self._use_local_index(root, problem, writes=writes)
        self.on_change()

    def _sharing(self, folder: Folder, *, writes: bool) -> TeamClone:
        """Connect the folder with the team's index of it. Raise CairnError for an unusable server."""
        # Imported only if a team is configured.
        from cairn.index.remote.clone import TeamClone
        from cairn.index.remote.team_server import TeamServer
        from cairn.settings.team_token import team_token

        server = TeamServer(folder.settings().team.url, team_token())
        on_shared = partial(self._use_team_index, folder.root)
        on_local = partial(self._use_local_index, folder.root, writes=writes)
        overlay, index = folder.reader.overlay, lambda: folder.settings().index
        return TeamClone(folder.root, index, server, overlay, on_shared, on_local)

    def _use_team_index(self, root: Path, shared: Shared) -> None:
        at = shared.located

        def answered_by_team(folder: Folder) -> Folder:
            lease = self._lease(folder, writes=False)
            reader = OverlaidReader(shared.reader, folder.reader.overlay)
            revision = protocol.Revision(
                folder.uri, at.repository, at.ref, at.commit, at.committed_at, at.indexed_at, at.behind
            )
            return evolve(folder, lease=lease, reader=reader, revision=revision, remark="")

        self._replace(root, answered_by_team)

    def _use_local_index(self, root: Path, why: str, *, writes: bool) -> None:
        """Answer from this machine's index from now on. If `writes`, keep that index up to date."""

        def local(folder: Folder) -> Folder:
            lease = self._lease(folder, writes=writes)
            reader = OverlaidReader(_own_index(root, lease), folder.reader.overlay)
            return evolve(folder, lease=lease, reader=reader, revision=None, remark=why)

        self._replace(root, local)

    def _lease(self, folder: Folder, *, writes: bool) -> Lease:
        """Return the folder's lease, or a new one if the current one does not match `writes`."""
        if folder.lease is not None and folder.lease.writes == writes:
            return folder.lease
        return self.host.lease(folder.root, folder.settings, self.on_change, writes=writes)

    def _replace(self, root: Path, change: Callable[[Folder], Folder]) -> None:
        """Replace the folder by a changed copy. Running requests continue with the old one."""
        with self._changing_folders:
            before = next((folder for folder in self.folders if folder.root == root), None)
            if before is None or self._stopped:
                return
            after = change(before)
            self.folders = tuple(after if folder is before else folder for folder in self.folders)
        if before.lease is not None and after.lease is not before.lease:
            before.lease.give_back()
        self.on_change()

    def wait_for_team(self, seconds: float) -> None:
        """Wait until the team server has said for each folder if it has an index, or the time is over."""
        deadline = time.monotonic() + seconds
        for folder in self.folders:
            if folder.sharing is not None:
                folder.sharing.wait(max(0.0, deadline - time.monotonic()))

    def request(self, workspace: str = "") -> Request:
        """Return a request over all folders, or over the one with this URI, path or unique name.

        It does not follow later changes of the folders. Raise InvalidRequestError if none or several match.
        """
        folders = (folder_named(self.folders, workspace),) if workspace else self.folders
        settings = folders[0].settings() if folders else self._base
        return Request(self.host, self.caller, folders, settings, self.warnings)

    @contextmanager
    def asked(self, caller: str, workspace: str) -> Iterator[Request]:
        """Yield a request of a caller ("" is the local user), over the folders that `workspace` names."""
        yield self.request(workspace)

    def progress(self) -> IndexingProgress:
        """Return how far indexing is, over all folders. It is cheap enough to call ten times a second."""
        return progress_of(self.folders)

    def remove_folder(self, path: Path) -> None:
        """Stop indexing and searching `path`. Its index stays on disk."""
        root = path.resolve()
        with self._changing_folders:
            gone = [folder for folder in self.folders if folder.root == root]
            self.folders = tuple(folder for folder in self.folders if folder.root != root)
        for folder in gone:
            folder.close()
        self.caller.forget_folders()
        self.on_change()

    def add_elsewhere(self, uri: str) -> None:
        """Search a folder of another machine by its URI. Only engines of a team's index have such folders."""

    def remove_elsewhere(self, uri: str) -> None:
        """Stop searching a folder of another machine."""

    def stop(self) -> None:
        """Stop all background work. The next start finds files that are not indexed yet."""
        with self._changing_folders:
            self._stopped = True
            folders, self.folders = self.folders, ()
        stopping = [threading.Thread(target=folder.close) for folder in folders]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()

    def searchable(self) -> bool:
        """Return whether every folder either has indexed chunks, or was scanned and is empty."""
        readers = [folder.reader for folder in self.folders]
        return all(reader.facts().chunks or reader.facts().scanned for reader in readers)

    def changed(self, path: Path) -> None:
        """Queue a path that was created, changed or removed. Ignore paths outside the open folders."""
        for folder, inside in places_of(self.folders, path):
            folder.queue_changes([inside])

    def document_opened(self, path: Path) -> None:
        """Note that an editor opened the file. The indexing thread reads the file again, because a change may
        have been missed, and computes its vectors before those of other files."""
        for folder, inside in places_of(self.folders, path):
            folder.set_open(inside, True)

    def document_changed(self, path: Path, text: str) -> None:
        """Use this unsaved text of the document for searches from now on."""
        for folder, inside in places_of(self.folders, path):
            folder.reader.overlay.changed(inside, text)

    def document_closed(self, path: Path) -> None:
        """Use the text on disk for searches again."""
        for folder, inside in places_of(self.folders, path):
            folder.reader.overlay.closed(inside)
            folder.set_open(inside, False)

    def look_again(self) -> None:
        """Look for unreported changes when the editor regains focus, unless the last look was just before."""
        for folder in self.folders:
            folder.look_again()

    # --- facts -------------------------------------------------------------------------------------

    def figures(self) -> dict[str, tuple[str, float]]:
        return figures_of(self.request())

    def settings(self) -> Settings:
        """Return the settings for requests over several folders: those of the first folder."""
        return self.folders[0].settings() if self.folders else self._base


def _own_index(root: Path, lease: Lease) -> SqliteReader:
    shared = lease.shared
    return SqliteReader(shared.indexer.data, memory=shared.memory, root=str(root))


def _indexing(settings: Settings) -> tuple[object, ...]:
    retrieval = settings.retrieval
    return (settings.index, settings.embedding, retrieval.enabled, retrieval.phase)
