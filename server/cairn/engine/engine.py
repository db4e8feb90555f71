"""The open folders of one front: their settings, their indexes, the documents an editor shows, and their life cycle."""

from __future__ import annotations

import copy
import logging
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
from cairn.engine.context_memory import ContextMemory
from cairn.engine.fallback import Fallback
from cairn.engine.folders import Folder, FolderSettings, path_of_uri, places_of
from cairn.engine.host import Host, Lease
from cairn.engine.status import IndexingProgress, figures_of, progress_of
from cairn.errors import InvalidRequestError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.reader import SqliteReader
from cairn.operations.metrics import IndexFigures
from cairn.settings.layers import Layers
from cairn.settings.tree import Settings

if TYPE_CHECKING:
    from cairn.engine.team_overview import TeamOverview

logger = logging.getLogger(__name__)


class Engine:
    """What the requests of one front are about. Methods may be called from several threads at once."""

    def __init__(
        self,
        editor_settings: Mapping[str, Any] | None = None,
        on_change: Callable[[], None] = lambda: None,
        host: Host | None = None,
    ) -> None:
        """`editor_settings` is the editor's `cairn` section; `on_change` is called, on any thread, when the
        status may have changed; `host` is what this engine shares with others of the process."""
        self._layers, self._base, self.warnings = _base_settings(editor_settings or {})
        self.on_change = on_change
        self.host = host or Host(self._base.embedding)
        """What this engine shares with others of the process."""
        self.model = self.host.model
        self.gate = self.host.gate
        """Has background indexing step aside."""
        self.metrics = self.host.metrics
        self.folders: tuple[Folder, ...] = ()
        self._changing_folders = threading.Lock()
        self.fallback = Fallback(self)
        self.context_memory = ContextMemory()
        self.takes_changes = True
        """Whether requests may change what later answers depend on."""
        self._stopped = False

    def configure(self, editor_settings: Mapping[str, Any]) -> list[str]:
        """Use another `cairn` section of the editor from now on; what in it could not be used."""
        self._layers, self._base, self.warnings = _base_settings(editor_settings)
        for folder in self.folders:
            before = folder.settings()
            folder.settings.rebase(self._layers)
            # How results rank says nothing of what is indexed.
            if _indexing(before) != _indexing(folder.settings()):
                folder.indexer.queue.rescan()
        self.on_change()
        return self.warnings

    # --- folders -----------------------------------------------------------------------------------

    def add_folder(self, path: Path, *, keep_indexed: bool = True) -> None:
        """Search `path`, and index it and keep it up to date unless `keep_indexed` is false.

        Raises InvalidRequestError if it is not a readable directory.
        """
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
            reader = OverlaidReader(_own_index(root, lease), Overlay(root, settings, self.model))
            folder = Folder(root, shown, settings, lease, reader)
            if asks_team:
                from cairn.engine.team import share  # which those alone need who have a team

                folder = evolve(
                    folder, sharing=share(folder, self._share, partial(self._alone, writes=writes))
                )
            self.folders = (*self.folders, folder)
        if folder.sharing is not None:
            folder.sharing.start()
        self.on_change()

    def _share(self, root: Path, reader: IndexReader, revision: protocol.Revision) -> None:
        """Answer from the team's index of the folder from now on."""

        def shared(folder: Folder) -> Folder:
            lease = self._lease(folder, writes=False)
            return evolve(
                folder,
                lease=lease,
                reader=OverlaidReader(reader, folder.reader.overlay),
                revision=revision,
                remark="",
            )

        self._change(root, shared)

    def _alone(self, root: Path, why: str, *, writes: bool) -> None:
        """Answer from an index that this machine has of the folder from now on, which `writes` keeps up to date."""

        def alone(folder: Folder) -> Folder:
            lease = self._lease(folder, writes=writes)
            reader = OverlaidReader(_own_index(root, lease), folder.reader.overlay)
            return evolve(folder, lease=lease, reader=reader, revision=None, remark=why)

        self._change(root, alone)

    def _lease(self, folder: Folder, *, writes: bool) -> Lease:
        """The folder's lease, another one where its thread should write and does not, or the other way round."""
        if folder.lease.writes == writes:
            return folder.lease
        return self.host.lease(folder.root, folder.settings, self.on_change, writes=writes)

    def _change(self, root: Path, change: Callable[[Folder], Folder]) -> None:
        """Put another state of a folder in its place; questions that are being answered go on with the former one."""
        with self._changing_folders:
            before = next((folder for folder in self.folders if folder.root == root), None)
            if before is None or self._stopped:
                return
            after = change(before)
            self.folders = tuple(after if folder is before else folder for folder in self.folders)
        if after.lease is not before.lease:
            before.lease.give_back()
        self.on_change()

    def wait_for_team(self, seconds: float) -> None:
        """Until each folder's team has said whether it shares an index of it, or for so long."""
        deadline = time.monotonic() + seconds
        for folder in self.folders:
            if folder.sharing is not None:
                folder.sharing.wait(max(0.0, deadline - time.monotonic()))

    def over(self, workspace: str) -> Engine:
        """This engine, over one of its folders alone: given by its URI, its path or, where only one is called so, its name.

        It is for one question; folders are added to and removed from the whole. Raises InvalidRequestError for any other.
        """
        path = path_of_uri(workspace) or Path(workspace)
        found = [
            folder
            for folder in self.folders
            if workspace == folder.uri or path in (folder.root, folder.shown) or workspace == folder.root.name
        ]
        if len(found) != 1:
            problem = "are several; give the URI or path of one" if found else "is not open"
            open_folders = ", ".join(folder.uri for folder in self.folders)
            raise InvalidRequestError("workspace", f"{workspace!r} {problem}; there are {open_folders}")
        one = copy.copy(self)
        one.folders = tuple(found)
        return one

    @contextmanager
    def asked(self, caller: str, workspace: str) -> Iterator[Engine]:
        """Around a request of `caller`, where "" is whoever runs this process: the engine that answers it, over one of the
        folders where `workspace` names it."""
        yield self.over(workspace) if workspace else self

    @contextmanager
    def answering(self, params: object) -> Iterator[Engine]:
        """Around a request with these params: the engine over the folders that it is about."""
        yield self

    def team_overview(self) -> TeamOverview | None:
        """What whoever asks may see of a team's index; None where none is served here."""
        return None

    def progress(self) -> IndexingProgress:
        """Where indexing is, over all folders; cheap enough to ask ten times a second."""
        return progress_of(self.folders)

    def remove_folder(self, path: Path) -> None:
        """Stop indexing and searching `path`; its index is kept for the next time."""
        root = path.resolve()
        with self._changing_folders:
            gone = [folder for folder in self.folders if folder.root == root]
            self.folders = tuple(folder for folder in self.folders if folder.root != root)
        for folder in gone:
            folder.close()
        self.fallback.cache.clear()
        self.context_memory.clear()
        self.on_change()

    def add_elsewhere(self, uri: str) -> None:
        """Search a folder that is not on this machine, by its URI. Only a team's index has such folders."""

    def remove_elsewhere(self, uri: str) -> None:
        """No longer search it."""

    def stop(self) -> None:
        """Stop all background work; what was not indexed yet is found again by the next start."""
        with self._changing_folders:
            self._stopped = True
            folders, self.folders = self.folders, ()
        stopping = [threading.Thread(target=folder.close) for folder in folders]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()

    def searchable(self) -> bool:
        """Whether every folder can be searched: something of it can be found, or it was looked through and is empty."""
        readers = [folder.reader for folder in self.folders]
        return all(reader.facts().chunks or reader.facts().scanned for reader in readers)

    def was_scanned(self) -> bool:
        """Whether each folder was looked through at least once, now or when it was last open."""
        return all(folder.reader.facts().scanned for folder in self.folders)

    def changed(self, path: Path) -> None:
        """Take in that a file or directory was made, changed or removed; elsewhere it is ignored."""
        for folder, inside in places_of(self.folders, path):
            folder.indexer.queue.changed([inside])
            if folder.sharing is not None:
                folder.sharing.changed([inside])

    def document_opened(self, path: Path) -> None:
        """An editor shows the file now; what was missed of it is taken in, and its vectors come first."""
        for folder, inside in places_of(self.folders, path):
            folder.open_paths.add(inside)
            folder.lease.opened(folder.open_paths)

    def document_changed(self, path: Path, text: str) -> None:
        """Search this text of the document from now on, saved or not."""
        for folder, inside in places_of(self.folders, path):
            folder.reader.overlay.changed(inside, text)

    def document_closed(self, path: Path) -> None:
        """The file counts as it is on disk again."""
        for folder, inside in places_of(self.folders, path):
            folder.reader.overlay.closed(inside)
            folder.open_paths.discard(inside)
            folder.lease.opened(folder.open_paths)

    def look_again(self) -> None:
        """Find changes that nobody reported, unless that was done just now: the editor came to the front."""
        for folder in self.folders:
            folder.indexer.look_again()
            if folder.sharing is not None:
                folder.sharing.look_again()

    # --- what it is asked about ---------------------------------------------------------------------

    def figures(self) -> IndexFigures:
        """The state of the index and of retrieval, for metrics."""
        return figures_of(self.folders, self.fallback.switch.state(), self.settings())

    def settings(self) -> Settings:
        """The settings for questions that span several folders: the first one's workspace file decides."""
        return self.folders[0].settings() if self.folders else self._base

    def model_in_use(self) -> tuple[protocol.ModelInfo | None, str | None]:
        """The installed model, else the code model that comes with Cairn; and what is wrong with one of them."""
        if not self._base.embedding.enabled:
            return None, None
        found, problem = None, None
        for look, packaged in ((self.model.packaged, True), (self.model.installed, False)):
            try:
                model = look()
            except ModelError as error:
                problem = str(error)
            else:
                if model is not None:
                    found = protocol.ModelInfo(model.name, model.dimension, model.id, packaged)
        return found, problem


def _own_index(root: Path, lease: Lease) -> SqliteReader:
    """The reader of the index that this machine has of the folder."""
    shared = lease.shared
    return SqliteReader(shared.indexer.data, memory=shared.memory, root=str(root))


def _indexing(settings: Settings) -> tuple[object, ...]:
    """The settings that decide what is indexed, and how."""
    retrieval = settings.retrieval
    return (settings.index, settings.embedding, retrieval.enabled, retrieval.phase)


def _base_settings(editor_settings: Mapping[str, Any]) -> tuple[Layers, Settings, list[str]]:
    """All but the workspaces' files, what counts without these, and what could not be used."""
    layers = Layers(editor_settings)
    laid = layers.without_workspace()
    return layers, laid.settings, laid.texts()
