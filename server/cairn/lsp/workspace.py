"""Applies the editor's notifications about documents, files, folders and settings to the engine, in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from cairn.engine.methods import LSP
from cairn.engine.runner import answer
from cairn.errors import CairnError
from cairn.lsp.jsonrpc import NOTIFICATION_SUFFIX

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.lsp.editor_connection import Connection

SECTION = "cairn"


def register_workspace(server: Connection, on_settings: Callable[[], Awaitable[None]]) -> None:
    """Register the handlers of notifications. `on_settings` is called when the settings may have changed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        _show(server, params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = server.workspace.get_text_document(uri).source
        _in_order(server, [uri], lambda engine, path: engine.document_changed(path, text))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        _in_order(server, [params.text_document.uri], lambda engine, path: engine.document_closed(path))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        _in_order(server, [params.text_document.uri], lambda engine, path: engine.changed(path))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        uris = [change.uri for change in params.changes]
        _in_order(server, uris, lambda engine, path: engine.changed(path))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            server.in_order(partial(_remove_folder, uri=folder.uri))
        added = params.event.added
        for folder in added:
            server.in_order(partial(_add_folder, uri=folder.uri))
        # The editor may have opened documents of the new folders before it added the folders.
        for document in list(server.workspace.text_documents.values()) if added else ():
            _show(server, document.uri, document.source)

    @server.feature(f"cairn/feedback{NOTIFICATION_SUFFIX}")
    def feedback(params: Any) -> None:
        server.in_order(lambda engine: _feedback(server, engine, params))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        settings = await _settings(server, params.settings)
        if settings is not None:
            server.in_order(lambda engine: _configure(server, engine, settings))
            await server.notifications_applied()
            await on_settings()


async def register_with_client(server: Connection) -> None:
    """Register for changes of files and settings, if the editor supports that.

    On remote and network file systems, the editor may see changes that the system's file watcher does not.
    """
    workspace = server.client_capabilities.workspace
    if workspace is None:
        return
    wanted = []
    watched, configuration = workspace.did_change_watched_files, workspace.did_change_configuration
    if watched and watched.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=[types.FileSystemWatcher("**/*")])
        wanted.append(types.Registration("cairn-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if configuration and configuration.dynamic_registration:
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        wanted.append(types.Registration("cairn-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if wanted:
        await server.client_register_capability_async(types.RegistrationParams(wanted))


def open_folders(server: Connection) -> list[Callable[[Engine], None]]:
    """Return functions that each open a folder of the editor. An editor without folders has one, its root."""
    workspace = server.workspace
    uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
    return [partial(_add_folder, uri=uri) for uri in uris]


def _add_folder(engine: Engine, uri: str) -> None:
    """Open a folder of the editor. Raises InvalidRequestError if it cannot be searched."""
    if (path := _path(uri)) is not None:
        engine.add_folder(path)
    else:
        engine.add_elsewhere(uri)


def _remove_folder(engine: Engine, uri: str) -> None:
    if (path := _path(uri)) is not None:
        engine.remove_folder(path)
    else:
        engine.remove_elsewhere(uri)


def _path(uri: str) -> Path | None:
    """Return the path of a local file; None for other schemes and malformed URIs."""
    with suppress(ValueError):
        if uri.startswith("file:") and (path := to_fs_path(uri)):
            return Path(path)
    return None


def _show(server: Connection, uri: str, text: str) -> None:
    """Use the document's current text in answers. An opened document may already have unsaved text."""
    _in_order(server, [uri], lambda engine, path: engine.document_opened(path))
    _in_order(server, [uri], lambda engine, path: engine.document_changed(path, text))


def _in_order(server: Connection, uris: list[str], work: Callable[[Engine, Path], None]) -> None:
    """Run `work(engine, path)` for each local file, after all earlier notifications."""
    files = list(filter(None, map(_path, uris)))

    def apply(engine: Engine) -> None:
        for path in files:
            work(engine, path)

    if files:
        server.in_order(apply)


async def _settings(server: Connection, sent: Any) -> Any:
    """Return the editor's settings for Cairn; None if it has none, or if only other settings have changed.

    `sent` are the settings in the notification, for editors from which the server cannot request settings.
    """
    workspace = server.client_capabilities.workspace
    if workspace is None or not workspace.configuration:
        return sent.get(SECTION) if isinstance(sent, Mapping) else None
    request = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    try:
        answer = await server.workspace_configuration_async(request)
    except JsonRpcException as refusal:
        server.log(types.MessageType.Warning, f"the editor did not send its settings: {refusal}")
        return None
    return answer[0] if answer else None


def _feedback(server: Connection, engine: Engine, params: Any) -> None:
    """Apply feedback. Its errors are logged in the editor, since a notification has no response."""
    try:
        answer(engine.request(), "feedback", {} if params is None else params, front=LSP)
    except CairnError as problem:
        server.log(types.MessageType.Warning, f"nothing was learned from cairn/feedback: {problem}")


def _configure(server: Connection, engine: Engine, settings: Any) -> None:
    if not isinstance(settings, Mapping):
        server.log(types.MessageType.Warning, f"{SECTION}: expected a table of settings")
        return
    for warning in engine.configure(settings):
        server.log(types.MessageType.Warning, warning)
