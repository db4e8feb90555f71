"""The open workspace folders, each with its settings, its index and its indexing thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, urlsplit
from urllib.request import url2pathname

from attrs import Factory, field, frozen

from cairn import protocol
from cairn.chunking.model import content_key
from cairn.engine.host import Lease
from cairn.errors import InvalidRequestError
from cairn.index.indexing.folder_state import Activity, Progress
from cairn.index.indexing.indexer import Indexer, Role
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.file_queries import hash_of_text
from cairn.index.store.coordination import RequestKind
from cairn.index.store.meta import Facts
from cairn.operations.control import OverrideReader
from cairn.operations.feedback import FeedbackStore
from cairn.operations.query_log import QueryLog
from cairn.paths import contains_home, workspace_dir
from cairn.settings.layers import Layered, Layers
from cairn.settings.tree import WORKSPACE_FILE, Settings
from cairn.text.verbatim import lines_of
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.scan import permitted_text

if TYPE_CHECKING:
    from cairn.index.remote.clone import TeamClone


class FolderSettings:
    """The settings of one folder. A call returns the current ones, even if the workspace file has changed."""

    def __init__(self, layers: Layers, root: Path) -> None:
        self._layers = layers
        self._root = root
        self._read: tuple[Layers, object, Layered] | None = None
        """The layers and file version of the last read, and its result. Any thread may replace this tuple."""

    def rebase(self, layers: Layers) -> None:
        """Combine the workspace file with these `layers` from now on."""
        self._layers = layers

    def __call__(self) -> Settings:
        return self._current().settings

    def without_workspace_file(self) -> Settings:
        return self._layers.without_workspace().settings

    def warnings(self) -> list[str]:
        return self._current().texts(WORKSPACE_FILE)

    def unread(self) -> tuple[str, ...]:
        """Return a sentence for each settings file of which nothing is used."""
        return self._current().unread

    def _current(self) -> Layered:
        try:
            status = (self._root / WORKSPACE_FILE).stat()
            version: object = (status.st_mtime_ns, status.st_size)
        except OSError:
            version = None
        layers, read = self._layers, self._read
        if read is None or read[0] is not layers or read[1] != version:
            read = self._read = (layers, version, layers.of(self._root))
        return read[2]


_NO_PROGRESS = Progress(Activity.IDLE, scanning=False)


@frozen
class Folder:
    root: Path
    """The real path, with all links resolved."""
    shown: Path
    """The path by which the editor opened the folder. The editor's paths of files begin with it."""
    settings: FolderSettings
    reader: OverlaidReader
    lease: Lease | None = None
    """The claim on the indexing thread; None for a repository of a team's index, which has none."""
    open_paths: set[str] = field(factory=set)
    """The files that an editor has open."""
    feedback: FeedbackStore = Factory(lambda self: FeedbackStore(self.data), takes_self=True)
    log: QueryLog = Factory(lambda self: QueryLog(self.data, lambda: self.settings().log), takes_self=True)
    override: OverrideReader = Factory(lambda self: OverrideReader(self.data), takes_self=True)
    """Reads the phase that was set by hand."""
    revision: protocol.Revision | None = None
    """The indexed commit of a team's index; None for a local index."""
    sharing: TeamClone | None = None
    """The connection to the team's index, if a team is configured."""
    remark: str = ""
    """Why the team's index is not used, or which part of it is left out; "" if neither."""

    @property
    def indexer(self) -> Indexer | None:
        """The indexing thread, which engines of the same process share; None without a lease."""
        return None if self.lease is None else self.lease.shared.indexer

    @property
    def data(self) -> Path:
        """The data folder, which has the index, the query log and other state."""
        return workspace_dir(self.root)

    @property
    def role(self) -> Role:
        return Role.READER if self.indexer is None else self.indexer.role

    @property
    def progress(self) -> Progress:
        return _NO_PROGRESS if self.indexer is None else self.indexer.progress

    @property
    def problem(self) -> str | None:
        """Why indexing fails; None if it does not."""
        return None if self.indexer is None else self.indexer.problem

    @property
    def is_idle(self) -> bool:
        """Whether every known change is indexed, apart from vectors."""
        return self.indexer is None or self.indexer.idle

    @property
    def is_kept(self) -> bool:
        """Whether a process keeps the index up to date."""
        return self.indexer is None or self.indexer.writer_is_alive()

    def lacks_files(self, facts: Facts) -> bool:
        """Return whether known changes of the folder are not in its index, whose facts are `facts`.

        Whether there are more is known once the indexer is idle.
        """
        indexer = self.indexer
        if not facts.scanned or indexer is None:
            return not facts.scanned
        return indexer.has_changes or (self.revision is None and indexer.is_behind(facts))

    def queue_changes(self, paths: Iterable[str]) -> None:
        """Queue files that were created, changed or removed."""
        if self.indexer is not None:
            self.indexer.queue.changed(paths)
        if self.sharing is not None:
            self.sharing.changed(paths)

    def rescan(self) -> None:
        """Compare all files with the index."""
        if self.indexer is not None:
            self.indexer.queue.rescan()

    def catch_up(self) -> None:
        """Wait briefly for the latest saves, and make sure that the latest checkout is being indexed."""
        if self.indexer is not None:
            self.indexer.catch_up()

    def look_again(self) -> None:
        """Look for unreported changes, unless the last look was just before."""
        if self.indexer is not None:
            self.indexer.look_again()
        if self.sharing is not None:
            self.sharing.look_again()

    def request_indexing(self, kind: RequestKind, path: str = "") -> None:
        """Queue a request for the process that writes the index. Raise InvalidRequestError without one."""
        if self.indexer is None:
            raise InvalidRequestError(
                "folder", "is in a team's index; `cairn team index` brings it up to date"
            )
        self.indexer.request(kind, path)

    def admits(self, path: str) -> bool:
        """Return whether the folder's rules admit the path."""
        return self.reader.overlay.rules(self.reader.facts()).admits(path)

    def at(self, ref: str | None) -> Folder | None:
        """Return the folder at another indexed revision, by default the main one; None for a folder of this
        machine, which has files instead. Raise InvalidRequestError if that revision is not indexed."""
        return None

    def set_open(self, path: str, is_open: bool) -> None:
        """Note that an editor opened or closed the file."""
        (self.open_paths.add if is_open else self.open_paths.discard)(path)
        if self.lease is not None:
            self.lease.opened(self.open_paths)

    @property
    def uri(self) -> str:
        return self.shown.as_uri()

    @cached_property
    def _uri_above(self) -> str:
        return self.uri.rstrip("/")

    @property
    def label(self) -> str:
        return str(self.shown)

    def close(self) -> None:
        """Release the indexing thread, and drop unsaved text and everything in memory."""
        if self.sharing is not None:
            self.sharing.stop()
        if self.lease is not None:
            self.lease.give_back()
        self.reader.overlay.close()

    def place_of(self, path: Path) -> str | None:
        """Return the path relative to the folder, also for a path through links; None if it is outside."""
        try:
            real = path.parent.resolve() / path.name  # The editor may have opened the folder through a link.
        except (OSError, RuntimeError, ValueError):  # Links are circular, or a name is invalid.
            return None
        inside = real.is_relative_to(self.root) and real != self.root
        return real.relative_to(self.root).as_posix() if inside else None

    def place_of_uri(self, uri: str) -> str | None:
        path = path_of_uri(uri)
        return None if path is None else self.place_of(path)

    def text_of(self, path: str) -> str | None:
        """Return the file's current text, with unsaved changes.

        Return None if the file is gone, not text, or excluded by a rule. Other paths, which a team's index or
        a client may name, are not opened.
        """
        rules, text = self.reader.overlay.rules(self.reader.facts()), self.reader.overlay.text_of(path)
        if text is not None:
            return text if rules.admits(path) and decide_content(path, text).indexed else None
        try:
            indexed = hash_of_text(self.reader, path)
            return permitted_text(self.root, path, rules, lambda text: content_key(text) == indexed)
        except OSError:
            return None

    def lines_of(self, path: str) -> Sequence[str] | None:
        text = self.text_of(path)
        return None if text is None else shown_lines(path, text)

    def has(self, path: PurePosixPath, *, directory: bool = False) -> bool:
        """Return whether the path exists; if `directory`, whether it is an existing directory."""
        try:
            place = self.root / path
            return place.is_dir() if directory else place.exists()
        except (OSError, RuntimeError):  # A name is too long, or links are circular.
            return False

    def uri_of(self, path: str) -> str:
        # `Path.as_uri` would quote the folder's path again for each file.
        return f"{self._uri_above}/{quote_from_bytes(os.fsencode(path))}"


def shown_lines(path: str, text: str) -> Sequence[str]:
    """Return the lines of a text as they are shown: lines of a notebook without JSON syntax."""
    lines = lines_of(text)
    return [_unescaped(line) for line in lines] if lines and path.endswith(".ipynb") else lines


def _unescaped(line: str) -> str:
    """Return a line of a notebook without JSON syntax: a cell's source is a list of JSON strings."""
    for escaped, character in (("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\\\", "\\")):
        line = line.replace(escaped, character)
    return line.strip().removesuffix(",").removeprefix('"').removesuffix('"')


def path_of_uri(uri: str) -> Path | None:
    """Return the local path of `uri`; None for another scheme or host."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            return None
        path = url2pathname(parts.path)
    except (OSError, ValueError):  # Brackets lack an address, or a colon lacks a drive.
        return None
    return None if "\0" in path else Path(path)


def places_of(folders: Iterable[Folder], path: Path | None) -> list[tuple[Folder, str]]:
    """Return the folders that contain the path, each with the relative path in it."""
    places = ((folder, folder.place_of(path)) for folder in folders if path is not None)
    return [(folder, inside) for folder, inside in places if inside is not None]


def places_of_uri(folders: Iterable[Folder], uri: str) -> list[tuple[Folder, str]]:
    places = ((folder, folder.place_of_uri(uri)) for folder in folders)
    return [(folder, inside) for folder, inside in places if inside is not None]


def path_inside(given: str) -> PurePosixPath | None:
    """Return `path` with `/` as separator; None if it leads out of the folder."""
    path = PurePosixPath(given)
    outside = path.is_absolute() or ".." in path.parts or "\0" in given
    if os.name == "nt":  # On Windows, `\\` is a separator too, and `C:` is a drive.
        windows = PureWindowsPath(given)
        outside = outside or bool(windows.anchor) or ".." in windows.parts
    return None if outside else path


def folder_named(folders: Sequence[Folder], workspace: str) -> Folder:
    """Return the folder with this URI, path or unique name. Raise InvalidRequestError if none or several
    match."""
    path = path_of_uri(workspace) or Path(workspace)
    found = [
        folder
        for folder in folders
        if workspace == folder.uri or path in (folder.root, folder.shown) or workspace == folder.root.name
    ]
    if len(found) != 1:
        problem = "are several; give the URI or path of one" if found else "is not open"
        known = ", ".join(folder.uri for folder in folders)
        raise InvalidRequestError("workspace", f"{workspace!r} {problem}; the open folders are {known}")
    return found[0]


def folders_named(folders: Sequence[Folder], uri: str) -> list[Folder]:
    """Return the folder with this URI, or all folders for "". Raise InvalidRequestError if it is not open."""
    named = [folder for folder in folders if uri in ("", folder.uri)]
    if uri and not named:
        raise InvalidRequestError("folder", f"{uri!r} is not open; give a folder as search results have it")
    return named


def readers_with_unsaved(folders: Sequence[Folder]) -> list[OverlaidReader]:
    """Return the folders' readers with the current unsaved text. Call it for each request."""
    readers = [folder.reader for folder in folders]
    for reader in readers:
        reader.show_unsaved()
    return readers


def refusal(folder: Path, command: str = "cairn mcp") -> str:
    """Return why `folder` is not opened by default; "" if it is. `command` can open it by its name.

    Indexing the home folder, or one that contains it, by accident would take hours.
    """
    if not contains_home(folder.resolve()):
        return ""
    return (
        f"{folder} is your home folder, or contains more than a project, so it is not indexed unless you name"
        f" it. Start in a project, open a project in your client, or name folders: `{command}"
        " FOLDER`."
    )
