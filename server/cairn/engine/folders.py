"""The open workspace folders, each with its settings, its index and the thread that keeps it current."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from attrs import Factory, field, frozen

from cairn import protocol
from cairn.engine.host import Lease
from cairn.errors import InvalidRequestError
from cairn.index.indexing.indexer import Indexer
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.operations.feedback import FeedbackStore
from cairn.operations.override import OverrideReader
from cairn.operations.query_log import QueryLog
from cairn.settings.layers import Layered, Layers
from cairn.settings.tree import WORKSPACE_FILE, Settings
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text


class FolderSettings:
    """The settings of one folder, read anew whenever its workspace file changes."""

    def __init__(self, layers: Layers, root: Path) -> None:
        self._layers = layers
        self._root = root
        self._read: tuple[Layers, object, Layered] | None = None
        """What was read last, of which layers and which version of the file; other threads may change it at any time."""

    def rebase(self, layers: Layers) -> None:
        """Put the workspace file among these `layers` from now on."""
        self._layers = layers

    def __call__(self) -> Settings:
        """The settings as they are now."""
        return self._current().settings

    def without_workspace_file(self) -> Settings:
        """What whoever uses Cairn has set, whatever the workspace says."""
        return self._layers.without_workspace().settings

    def warnings(self) -> list[str]:
        """What in the workspace file could not be used."""
        return self._current().texts(WORKSPACE_FILE)

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


class Sharing(Protocol):
    """Keeps a folder and the team's index of it together, on a thread of its own."""

    def start(self) -> None:
        """Begin to look for the team's index."""

    def stop(self) -> None:
        """End the thread."""

    def wait(self, seconds: float) -> None:
        """Until it has looked once, or for so long."""

    def changed(self, paths: Iterable[str]) -> None:
        """Take in that these files were made, changed or removed."""

    def look_again(self) -> None:
        """Find changes that nobody reported."""


@frozen
class Folder:
    """One workspace folder with its index."""

    root: Path
    """Its real path: what is indexed."""
    shown: Path
    """The path it was opened by: what the editor knows its files by."""
    settings: FolderSettings
    lease: Lease
    reader: OverlaidReader
    open_paths: set[str] = field(factory=set)
    """Files that an editor shows."""
    feedback: FeedbackStore = Factory(lambda self: FeedbackStore(self.indexer.data), takes_self=True)
    """Which results were chosen before."""
    log: QueryLog = Factory(
        lambda self: QueryLog(self.indexer.data, lambda: self.settings().log), takes_self=True
    )
    """What was asked, and how it was answered."""
    override: OverrideReader = Factory(lambda self: OverrideReader(self.indexer.data), takes_self=True)
    """The phase that was set by hand."""
    revision: protocol.Revision | None = None
    """The commit whose index is read, where it is a team's."""
    sharing: Sharing | None = None
    """What keeps the folder and the team's index of it together, where there is a team."""
    remark: str = ""
    """Why the team's index is not read, where there is a team; or what of it is left out."""

    @property
    def indexer(self) -> Indexer:
        """Its indexing thread, which other engines may use, too."""
        return self.lease.shared.indexer

    @property
    def uri(self) -> str:
        return self.shown.as_uri()

    @property
    def label(self) -> str:
        """What people are told it is called."""
        return str(self.shown)

    def close(self) -> None:
        """Let go of the folder, and forget its unsaved text and what is in memory."""
        if self.sharing is not None:
            self.sharing.stop()
        self.lease.give_back()
        self.reader.overlay.close()

    def place_of(self, path: Path) -> str | None:
        """Where in the folder the file at `path` is, by its real path or the one it was opened by; None if elsewhere."""
        try:
            real = path.parent.resolve() / path.name  # the editor may have opened the folder through a link
        except (OSError, RuntimeError, ValueError):  # links in a circle, a name that no file can have
            return None
        inside = real.is_relative_to(self.root) and real != self.root
        return real.relative_to(self.root).as_posix() if inside else None

    def place_of_uri(self, uri: str) -> str | None:
        """Where in the folder the file of this URI is; None if elsewhere."""
        path = path_of_uri(uri)
        return None if path is None else self.place_of(path)

    def text_of(self, path: str) -> str | None:
        """The text of the file as it is now, with unsaved changes; None where it is gone or not text."""
        text = self.reader.overlay.text_of(path)
        if text is None:
            try:
                text = read_text(self.root / path)
            except (OSError, ValueError):  # a name that no file can have
                return None
        return text

    def lines_of(self, path: str) -> Sequence[str] | None:
        """The lines of the file as it is now, with unsaved changes; None where it is gone or not text."""
        text = self.text_of(path)
        return None if text is None else shown_lines(path, text)

    def has(self, path: PurePosixPath, *, directory: bool = False) -> bool:
        """Whether there is such a file or directory now, or such a directory."""
        try:
            place = self.root / path
            return place.is_dir() if directory else place.exists()
        except (OSError, RuntimeError):  # a name that is too long, links in a circle
            return False

    def uri_of(self, path: str) -> str:
        return (self.shown / path).as_uri()


def shown_lines(path: str, text: str) -> Sequence[str]:
    """The lines of a file's text as they are shown."""
    lines = lines_of(text)
    return [_unescaped(line) for line in lines] if lines and path.endswith(".ipynb") else lines


def _unescaped(line: str) -> str:
    """A line of a notebook as it is shown: a cell's source is a list of JSON strings, mostly one to a line."""
    for escaped, character in (("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\\\", "\\")):
        line = line.replace(escaped, character)
    return line.strip().removesuffix(",").removeprefix('"').removesuffix('"')


def path_of_uri(uri: str) -> Path | None:
    """The local file that `uri` names; None for another scheme or host."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            return None
        path = url2pathname(parts.path)
    except (OSError, ValueError):  # brackets that are no address; on Windows, colons that follow no drive
        return None
    return None if "\0" in path else Path(path)


def places_of(folders: Iterable[Folder], path: Path | None) -> list[tuple[Folder, str]]:
    """The folders that hold the path, each with the path in it."""
    places = ((folder, folder.place_of(path)) for folder in folders if path is not None)
    return [(folder, inside) for folder, inside in places if inside is not None]


def places_of_uri(folders: Iterable[Folder], uri: str) -> list[tuple[Folder, str]]:
    """The folders that hold the file of this URI, each with the path in it."""
    places = ((folder, folder.place_of_uri(uri)) for folder in folders)
    return [(folder, inside) for folder, inside in places if inside is not None]


def path_inside(given: str) -> PurePosixPath | None:
    """A path in a folder, with `/`; None for one that leads out of it."""
    path = PurePosixPath(given)
    outside = path.is_absolute() or ".." in path.parts or "\0" in given
    if os.name == "nt":  # to which `\\` separates, too, and `C:` is a drive
        windows = PureWindowsPath(given)
        outside = outside or bool(windows.anchor) or ".." in windows.parts
    return None if outside else path


def folders_named(folders: Sequence[Folder], uri: str) -> list[Folder]:
    """The folder of that URI; all of them for "". Raises InvalidRequestError for one that is not open."""
    named = [folder for folder in folders if uri in ("", folder.uri)]
    if uri and not named:
        raise InvalidRequestError("folder", f"{uri!r} is not open; give a folder as search results have it")
    return named


def readers_with_unsaved(folders: Sequence[Folder]) -> list[OverlaidReader]:
    """The folders' readers, which show unsaved text as it is now. Call it before each question."""
    readers = [folder.reader for folder in folders]
    for reader in readers:
        reader.show_unsaved()
    return readers
