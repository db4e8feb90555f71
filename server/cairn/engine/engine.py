"""The one facade: folders, their indexes, and every operation the fronts offer."""

from __future__ import annotations

import copy
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cairn import protocol
from cairn.engine.context_memory import ContextMemory
from cairn.engine.fallback import Answering
from cairn.engine.folders import Folder, FolderSettings, path_inside, path_of_uri
from cairn.engine.host import Host
from cairn.engine.status import IndexingProgress, collections_of, figures_of, progress_of, status_of
from cairn.errors import InvalidRequestError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.store.requests import RequestKind
from cairn.operations.metrics import IndexFigures, Metrics
from cairn.settings.layers import Layers
from cairn.settings.tree import Settings

if TYPE_CHECKING:
    from cairn.engine.open_workspace import OpenWorkspace

logger = logging.getLogger(__name__)

Cancelled = Callable[[], bool]


def _never() -> bool:
    return False


class Engine:
    """Everything Cairn does, for any front. Methods may be called from several threads at once."""

    def __init__(
        self,
        editor_settings: Mapping[str, Any] | None = None,
        on_change: Callable[[], None] = lambda: None,
        host: Host | None = None,
    ) -> None:
        """`editor_settings` is the editor's `cairn` section; `on_change` is called, on any thread, when the
        status may have changed; `host` is what this engine shares with others of the process."""
        self._layers, self._base, self._warnings = _base_settings(editor_settings or {})
        self._on_change = on_change
        self._host = host or Host(self._base.embedding)
        self._model = self._host.model
        self._folders: tuple[Folder, ...] = ()
        self._changing_folders = threading.Lock()
        self._answering = Answering(
            self._host,
            lambda: self._folders,
            lambda: self._settings(self._folders),
            self._has_vectors,
            self._on_change,
        )
        self._context = ContextMemory()
        self._gate = self._host.gate
        self._stopped = False

    def configure(self, editor_settings: Mapping[str, Any]) -> list[str]:
        """Use another `cairn` section of the editor from now on; what in it could not be used."""
        self._layers, self._base, self._warnings = _base_settings(editor_settings)
        for folder in self._folders:
            before = folder.settings()
            folder.settings.rebase(self._layers)
            # How results rank says nothing of what is indexed.
            if _indexing(before) != _indexing(folder.settings()):
                folder.indexer.rescan()
        self._on_change()
        return self._warnings

    # --- folders -----------------------------------------------------------------------------------

    def add_folder(self, path: Path, *, keep_indexed: bool = True) -> None:
        """Search `path`, and index it and keep it up to date unless `keep_indexed` is false.

        Raises InvalidRequestError if it is no readable directory.
        """
        root = path.resolve()
        if not root.is_dir() or not os.access(root, os.R_OK | os.X_OK):
            raise InvalidRequestError("folder", f"{path} is not a directory that can be read")
        with self._changing_folders:
            if self._stopped or any(folder.root == root for folder in self._folders):
                return
            settings = FolderSettings(self._layers, root)
            writes = keep_indexed and settings().retrieval.enabled
            lease = self._host.lease(root, settings, self._on_change, writes=writes)
            shown = Path(os.path.abspath(path))  # noqa: PTH100 - Path has no way to do this without following links
            overlay = Overlay(root, settings, self._model)
            reader = OverlaidReader(lease.indexer.data, overlay=overlay, memory=lease.memory)
            folder = Folder(root, shown, settings, lease.indexer, reader, lease.give_back, lease.opened)
            self._folders = (*self._folders, folder)
        self._on_change()

    def over(self, workspace: str) -> Engine:
        """This engine, over one of its folders alone: given by its URI, its path or, where only one is called so, its name.

        It is for one question; folders are added to and removed from the whole. Raises InvalidRequestError for any other.
        """
        path = path_of_uri(workspace) or Path(workspace)
        found = [
            folder
            for folder in self._folders
            if workspace == folder.uri or path in (folder.root, folder.shown) or workspace == folder.root.name
        ]
        if len(found) != 1:
            problem = "are several; give the URI or path of one" if found else "is not open"
            open_folders = ", ".join(folder.uri for folder in self._folders)
            raise InvalidRequestError("workspace", f"{workspace!r} {problem}; there are {open_folders}")
        one = copy.copy(self)
        one._folders = tuple(found)
        return one

    def progress(self) -> IndexingProgress:
        """Where indexing is, over all folders; cheap enough to ask ten times a second."""
        return progress_of(self._folders)

    def remove_folder(self, path: Path) -> None:
        """Stop indexing and searching `path`; its index is kept for the next time."""
        root = path.resolve()
        with self._changing_folders:
            gone = [folder for folder in self._folders if folder.root == root]
            self._folders = tuple(folder for folder in self._folders if folder.root != root)
        for folder in gone:
            folder.close()
        self._answering.cache.clear()
        self._context.clear()
        self._on_change()

    def stop(self) -> None:
        """Stop all background work; what was not indexed yet is found again by the next start."""
        with self._changing_folders:
            self._stopped = True
            folders, self._folders = self._folders, ()
        stopping = [threading.Thread(target=folder.close) for folder in folders]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()

    def folder_uris(self) -> tuple[str, ...]:
        """The open folders."""
        return tuple(folder.uri for folder in self._folders)

    def searchable(self) -> bool:
        """Whether every folder can be searched: something of it can be found, or it was looked through and is empty."""
        readers = [folder.reader for folder in self._folders]
        return all(reader.facts().chunks or reader.facts().scanned for reader in readers)

    def changed(self, path: Path) -> None:
        """Take in that a file or directory was made, changed or removed; elsewhere it is ignored."""
        for folder, inside in self._places(path):
            folder.indexer.changed([inside])

    def document_opened(self, path: Path) -> None:
        """An editor shows the file now; what was missed of it is taken in, and its vectors come first."""
        for folder, inside in self._places(path):
            folder.open_paths.add(inside)
            folder.tell_opened(folder.open_paths)

    def document_changed(self, path: Path, text: str) -> None:
        """This is the text on the screen: what is searched from now on, saved or not."""
        for folder, inside in self._places(path):
            folder.reader.overlay.changed(inside, text)

    def document_closed(self, path: Path) -> None:
        """The file counts as it is on disk again."""
        for folder, inside in self._places(path):
            folder.reader.overlay.closed(inside)
            folder.open_paths.discard(inside)
            folder.tell_opened(folder.open_paths)

    def _places(self, path: Path) -> list[tuple[Folder, str]]:
        """The folders that hold the path, each with the path in it."""
        places = ((folder, folder.place_of(path)) for folder in self._folders)
        return [(folder, inside) for folder, inside in places if inside is not None]

    def reindex(self, params: protocol.ReindexParams) -> protocol.ReindexAnswer:
        """`cairn/reindex`: index every file anew, or a file, or what lies in a directory."""
        path = path_inside(params.path or ".")
        if path is None:
            raise InvalidRequestError("path", f"{params.path!r} does not lie in the workspace folder")
        folders = [folder for folder in self._folders if params.folder in ("", folder.uri)]
        wanted = "" if path == PurePosixPath(".") else str(path)
        if wanted and folders and not any(self._knows(folder, wanted) for folder in folders):
            raise InvalidRequestError("path", f"there is no {params.path!r} in the workspace")
        for folder in folders:
            if not wanted or self._knows(folder, wanted):
                folder.indexer.request(RequestKind.REINDEX, wanted)
        return protocol.ReindexAnswer(bool(folders))

    @staticmethod
    def _knows(folder: Folder, path: str) -> bool:
        """Whether there is such a file or directory, or was when it was indexed."""
        return folder.has(PurePosixPath(path)) or bool(folder.reader.page(path))

    def pause(self) -> protocol.PausedAnswer:
        """Make no vectors and look at no folder until `resume`; files that are saved are taken in all the same."""
        for folder in self._folders:
            folder.indexer.request(RequestKind.PAUSE)
        return protocol.PausedAnswer(True)

    def resume(self) -> protocol.PausedAnswer:
        """Go on after `pause`."""
        for folder in self._folders:
            folder.indexer.request(RequestKind.RESUME)
        return protocol.PausedAnswer(False)

    def look_again(self) -> None:
        """Find changes that nobody reported, unless that was done just now: the editor came to the front."""
        for folder in self._folders:
            folder.indexer.look_again()

    # --- questions ---------------------------------------------------------------------------------

    # The modules that answer are imported with the first question: opening a workspace in which nothing changed
    # needs none of them.

    def search(self, params: protocol.SearchParams, cancelled: Cancelled = _never) -> protocol.SearchAnswer:
        """`cairn/search`. Raises QueryCancelledError soon after `cancelled()` turns true."""
        from cairn.engine import search as searching

        folders = self._folders
        settings, cache = self._settings(folders), self._answering.cache
        self._wait_for_saves(folders)
        began = time.perf_counter()
        with self._gate.query():
            answered = self._answering.through_phases(
                settings,
                ask=lambda settings: searching.search_folders(
                    folders, self._model, settings, params, cancelled, cache
                ),
                kept=lambda: searching.kept_search(folders, params, cache),
                generic=lambda message: searching.nothing_searched(folders, params, message),
            )
        self._context.recent.note(params.query)
        self._answering.note_search(folders, params.query, answered, 1000 * (time.perf_counter() - began))
        return evolve(answered.answer, retrieval=answered.retrieval)

    def discover(
        self,
        params: protocol.DiscoverParams,
        cancelled: Cancelled = _never,
        tell: Callable[[protocol.DiscoverProgress], None] | None = None,
    ) -> protocol.DiscoverAnswer:
        """`cairn/discover`: all nine stages. Raises QueryCancelledError soon after `cancelled()` turns true.

        `tell` is called on this thread when a stage has ended, with what it changed of the answer.
        """
        from cairn.engine.discover import discover_evidence, nothing_discovered

        folders = self._folders
        self._wait_for_saves(folders)
        telling = iter([tell])  # the stages are told of once, though a lower phase may begin anew
        began = time.perf_counter()
        with self._gate.query():
            answered = self._answering.through_phases(
                self._settings(folders),
                ask=lambda settings: discover_evidence(
                    self._workspace(folders, settings, cancelled), params, next(telling, None)
                ),
                kept=lambda: None,
                generic=lambda message: nothing_discovered(folders, message),
            )
        self._context.recent.note(params.query)
        self._answering.note_discovery(folders, params.query, answered, 1000 * (time.perf_counter() - began))
        return evolve(answered.answer, retrieval=answered.retrieval)

    def stage(self, name: str, params: Any, cancelled: Cancelled = _never) -> Any:
        """One of the nine stages alone: `name` is its method without `cairn/`; `cairn.protocol.stages` has its params
        and its answer. Raises QueryCancelledError soon after `cancelled()` turns true."""
        from cairn.engine.stages import STAGES

        folders = self._folders
        settings, _ = self._settings_on(folders)
        self._wait_for_saves(folders)
        with self._gate.query():
            return STAGES[name](self._workspace(folders, settings, cancelled), params)

    def _workspace(
        self, folders: Sequence[Folder], settings: Settings, cancelled: Cancelled
    ) -> OpenWorkspace:
        """The folders as discovery sees them."""
        from cairn.engine.open_workspace import OpenWorkspace

        return OpenWorkspace(folders, self._model, settings, cancelled)

    def _settings_on(self, folders: Sequence[Folder]) -> tuple[Settings, protocol.AnsweredIn]:
        """The settings of the phase that an answer is made in, which nothing stands in for.

        Raises RetrievalOffError where retrieval is switched off.
        """
        settings = self._settings(folders)
        return self._answering.on(settings)

    def related(
        self, params: protocol.RelatedParams, cancelled: Cancelled = _never
    ) -> protocol.RelatedAnswer:
        """`cairn/related`. Raises QueryCancelledError soon after `cancelled()` turns true."""
        from cairn.engine.related import related_passages

        folders = self._folders
        _, answered_in = self._settings_on(folders)
        self._wait_for_saves(folders)
        with self._gate.query():
            return evolve(related_passages(folders, params, cancelled), retrieval=answered_in)

    def context(
        self, params: protocol.ContextParams, cancelled: Cancelled = _never
    ) -> protocol.ContextAnswer:
        """`cairn/context`. Raises QueryCancelledError soon after `cancelled()` turns true."""
        from cairn.engine.context import context_of

        folders = self._folders
        settings, answered_in = self._settings_on(folders)
        self._wait_for_saves(folders)
        with self._gate.query():
            answer, problem = context_of(folders, self._model, settings, params, self._context, cancelled)
        if params.query:
            self._answering.problem = problem
        return evolve(answer, retrieval=answered_in)

    def symbols(self, query: str, cancelled: Cancelled = _never) -> tuple[protocol.Symbol, ...]:
        """LSP's `workspace/symbol`. Raises QueryCancelledError soon after `cancelled()` turns true."""
        from cairn.engine.symbols import find_symbols

        folders = self._folders
        self._wait_for_saves(folders)
        with self._gate.query():
            return find_symbols(folders, query, cancelled)

    def _wait_for_saves(self, folders: Sequence[Folder]) -> None:
        """Whoever asks after a save asks about what was saved."""
        for folder in folders:
            folder.indexer.wait_for_saves()

    def set_phase(self, params: protocol.SetPhaseParams) -> protocol.PhaseState:
        """`cairn/setPhase`: at once, in every process that has one of the folders open, until it is taken back.

        Raises OverrideUnavailableError where that cannot be written down.
        """
        from cairn.operations.override import write_override

        for folder in self._folders:
            write_override(folder.indexer.data, params.phase, by="cairn/setPhase")
        state = self._answering.state()
        self._on_change()
        return state

    # --- what was chosen ----------------------------------------------------------------------------

    def feedback(self, params: protocol.FeedbackParams) -> protocol.FeedbackAnswer:
        """`cairn/feedback`: remember what was done with a result, for questions like the one it answered."""
        from cairn.engine.feedback import take_feedback

        answer = take_feedback(self._folders, params)
        self._host.metrics.feedback(params.action.value)
        return answer

    def reset_feedback(self, params: protocol.ResetFeedbackParams) -> protocol.ResetFeedbackAnswer:
        """`cairn.resetFeedback`: forget all of that."""
        from cairn.engine.feedback import reset_feedback

        return reset_feedback(self._folders, params)

    # --- what there is -----------------------------------------------------------------------------

    def fetch_page(self, params: protocol.FetchPageParams) -> protocol.PageAnswer:
        """`cairn/fetchPage`: a whole indexed file, stitched from its chunks."""
        from cairn.engine.page import fetch_page

        return fetch_page(self._folders, params)

    def collections(self) -> tuple[protocol.CollectionInfo, ...]:
        """`cairn/collections`."""
        return collections_of(self._folders)

    def status(self) -> protocol.StatusAnswer:
        """`cairn/status`."""
        model, problem = self._model_in_use()
        folders = self._folders
        return status_of(folders, self._answering, self._settings(folders), model, problem, self._warnings)

    def figures(self) -> IndexFigures:
        """The state of the index and of retrieval, for metrics."""
        return figures_of(self._folders, self._answering.state(), self._settings(self._folders))

    @property
    def metrics(self) -> Metrics:
        """What this process has counted."""
        return self._host.metrics

    def _settings(self, folders: Sequence[Folder]) -> Settings:
        """Of several folders, the first one's workspace file speaks for questions that span them all."""
        return folders[0].settings() if folders else self._base

    def _has_vectors(self) -> bool:
        return self._model_in_use()[0] is not None

    def _model_in_use(self) -> tuple[protocol.ModelInfo | None, str | None]:
        """The installed model, else the code model that comes with Cairn; and what is wrong with one of them."""
        if not self._base.embedding.enabled:
            return None, None
        problems, found = [], None
        for look, packaged in ((self._model.packaged, True), (self._model.installed, False)):
            try:
                model = look()
            except ModelError as problem:
                problems.append(str(problem))
            else:
                if model is not None:
                    found = protocol.ModelInfo(model.name, model.dimension, model.id, packaged)
        return found, next(reversed(problems), None)


def _indexing(settings: Settings) -> tuple[object, ...]:
    """The settings that decide what is indexed, and how."""
    retrieval = settings.retrieval
    return (settings.index, settings.embedding, retrieval.enabled, retrieval.phase)


def _base_settings(editor_settings: Mapping[str, Any]) -> tuple[Layers, Settings, list[str]]:
    """All but the workspaces' files, what counts without these, and what could not be used."""
    layers = Layers(editor_settings)
    laid = layers.without_workspace()
    return layers, laid.settings, laid.texts()
