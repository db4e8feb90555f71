"""Connects a clone to the team's index: to the nearest indexed commit, and the files that differ from it."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen
from cachetools import LRUCache

from cairn.errors import CairnError, WireError
from cairn.index.indexing.folder_state import needs_rescan
from cairn.index.overlay.overlay import MOST_CHARACTERS, Overlay
from cairn.index.queries.file_queries import has_below
from cairn.index.remote.packed_catalogue import unpacked_catalogue
from cairn.index.remote.remote_reader import RemoteMemory, RemoteReader
from cairn.index.remote.team_server import Located, TeamServer, TeamUnavailableError
from cairn.paths import data_dir, write_private
from cairn.settings.tree import IndexSettings
from cairn.workspace.comparison import Compared, Comparison
from cairn.workspace.git import GitError, pieces
from cairn.workspace.repository import NoRepositoryError, Repository, open_repository
from cairn.workspace.scan import FileRules, permitted_text
from cairn.workspace.watch import FolderWatcher

logger = logging.getLogger(__name__)

_MOST_COMMITS = 1_000
"""The maximum number of commits, from HEAD back, to look up in the team's index."""
_MOST_FILES = 400
"""The maximum number of files that may differ from the indexed commit. With more, indexing the clone itself
is faster."""
_GIT_SECONDS = 20.0
_LOOK_SECONDS = 30.0
"""The time between two checks whether the team has indexed a nearer commit."""
_RETRY_SECONDS = (2.0, 15.0)
"""The first and the longest delay between two attempts to reach the server."""
_MOST_KEPT = 60
"""The maximum number of catalogues to keep on disk; the least recently used are deleted."""
_MOST_OTHERS = 16
"""The maximum number of catalogues of other repositories in memory."""


class NotSharedError(CairnError):
    """The team's index is not used for the folder; the message gives the reason."""


@frozen
class Shared:
    reader: RemoteReader
    located: Located
    differing: int
    """The number of files that differ from the indexed commit and are read locally."""


class TeamClone:
    """Watches one clone on a thread of its own until stopped. The thread calls `on_shared` with each snapshot
    from which to read, and `on_alone` with the reason when there is none."""

    def __init__(
        self,
        root: Path,
        settings: Callable[[], IndexSettings],
        server: TeamServer,
        overlay: Overlay,
        on_shared: Callable[[Shared], None],
        on_alone: Callable[[str], None],
    ) -> None:
        self._root = root
        self._settings = settings
        self._rules = FileRules(root, settings())
        self._comparison = Comparison(root)
        self._server = server
        self._overlay = overlay
        self._on_shared, self._on_alone = on_shared, on_alone
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._looked = threading.Event()
        self._stale = False
        """Whether the next look must compare all files: HEAD or a folder moved, or a read failed."""
        self._is_watched = True
        self._shared: Shared | None = None
        self._problem = ""
        """The last reported reason why there is no snapshot to read."""
        self._touched: dict[str, str | None] = {}
        """The current texts of the files that changed since the last comparison, by path."""
        self._others: LRUCache[int, RemoteMemory] = LRUCache(_MOST_OTHERS)
        """The catalogues of other repositories, by snapshot."""
        self._lock = threading.Lock()
        self._watcher: FolderWatcher | None = None
        self._thread = threading.Thread(target=self._run, name=f"cairn-team-{root.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=15)

    def wait(self, seconds: float) -> None:
        """Wait for the first look, but no longer than `seconds`."""
        self._looked.wait(seconds)

    # --- the thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        first, longest = _RETRY_SECONDS
        wait = first
        while not self._stopped.is_set():
            self._wake.clear()
            try:
                self._look()
                pause, wait = _LOOK_SECONDS, first
            except (CairnError, GitError) as problem:
                self._alone(str(problem))
                pause, wait = wait, min(longest, 2 * wait)
            except Exception as problem:
                logger.exception("Comparing %s with the team's index failed", self._root)
                self._alone(f"Comparing {self._root.name} with the team's index failed ({problem}).")
                pause, wait = wait, min(longest, 2 * wait)
            self._looked.set()
            self._wake.wait(pause)
        if self._watcher is not None:
            self._watcher.stop()

    def _look(self) -> None:
        # Changes from now on set `_stale` again, for the next look.
        stale, self._stale = self._stale or not self._is_watched, False
        repository = _repository(self._root)
        head = repository.resolve("HEAD")
        if head is None:
            raise NotSharedError(f"{self._root.name} has no commit yet, so the team's index is not used.")
        located = self._server.locate(_commits(repository, head))
        if located is None:
            raise NotSharedError(
                f"The team has no index of {self._root.name} at any of its latest {_MOST_COMMITS} commits;"
                " `cairn team index` makes one."
            )
        known = self._shared
        if known is not None and known.located == located and not stale:
            return
        self._watch()
        memory = self._memory(located)
        with self._lock:
            self._touched = {}
        self._rules = FileRules(self._root, self._settings())
        reader = RemoteReader.of(partial(self._ask, located.snapshot), memory, str(self._root))
        facts = reader.facts()
        if not (facts.complete and facts.is_counted):  # Commands would wait for it, and it never changes.
            raise NotSharedError(
                f"The team's index of {self._root.name} is not complete; it is indexed here."
            )
        compared = self._comparison.compare(
            repository, located.commit, self._rules, time.monotonic() + _GIT_SECONDS, self._stopped.is_set
        )
        if self._stopped.is_set():
            return
        differing = self._texts(compared, reader)
        with self._lock:
            self._overlay.files_differ({**differing, **self._touched})
            self._shared, self._problem = Shared(reader, located, len(differing)), ""
        self._on_shared(self._shared)

    def _texts(self, compared: Compared, reader: RemoteReader) -> Mapping[str, str | None]:
        """Return the texts of the files that differ from the team's index; None for files that are gone, not
        indexed here, or not text."""
        name = self._root.name
        gone = {path for (path,) in reader.select_all("SELECT path FROM files")} - compared.same
        paths = [*compared.differing, *gone.difference(compared.differing)]
        if len(paths) > _MOST_FILES:
            raise NotSharedError(
                f"{len(paths):,} files of {name} differ from what the team's index has; it is indexed here."
            )
        texts: dict[str, str | None] = dict.fromkeys(paths)
        texts |= {path: self._text(path) for path in compared.differing}
        if sum(len(text) for text in texts.values() if text) > MOST_CHARACTERS:
            raise NotSharedError(
                f"Too much of {name} differs from what the team's index has; it is indexed here."
            )
        return texts

    def importing(self, texts: Sequence[str]) -> Iterator[tuple[Located, RemoteReader]]:
        """Yield a reader of each other repository of the team with files whose imports have one of the texts.
        A catalogue is transferred at the first use. Raise TeamUnavailableError or NotSharedError."""
        shared = self._shared
        for located in self._server.importing(shared.located.snapshot, texts) if shared else ():
            with self._lock:
                known = self._others.get(located.snapshot)
            memory = known or self._memory(located)
            with self._lock:
                self._others[located.snapshot] = memory
            yield located, RemoteReader.of(partial(self._ask, located.snapshot), memory)

    def _alone(self, problem: str) -> None:
        if self._shared is not None or problem != self._problem:
            with self._lock:
                self._shared, self._problem = None, problem
                self._overlay.files_differ({})
            self._on_alone(problem)

    def _ask(self, snapshot: int, name: str, given: list[Any]) -> Any:
        try:
            return self._server.read(snapshot, name, given)
        except TeamUnavailableError:
            self.look_again()  # The next look reports the reason.
            raise

    def _memory(self, located: Located) -> RemoteMemory:
        known = self._shared
        if known is not None and known.located.snapshot == located.snapshot:
            return known.reader.memory
        file = data_dir() / "team" / _file_name(self._server.url, located)
        try:
            with suppress(FileNotFoundError, WireError):
                memory = unpacked_catalogue(located.snapshot, file.read_bytes())
                file.touch()
                return memory
            packed = self._server.catalogue(located.snapshot)
            memory = unpacked_catalogue(located.snapshot, packed)
            write_private(file, packed)
            _delete_oldest(file.parent)
        except OSError as problem:
            raise NotSharedError(
                f"The team's index cannot be kept in {file.parent} ({problem.strerror or problem}). Free"
                " space there, or set CAIRN_DATA_DIR to a writable folder."
            ) from problem
        return memory

    # --- changes --------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = FolderWatcher(
                self._root, self.changed, self.look_again, self._watched_partly, self.look_again
            )
            self._watcher.start()

    def _watched_partly(self, problem: str) -> None:
        """Compare the whole clone at every look from now on."""
        logger.warning("%s", problem)
        self._is_watched = False
        self._wake.set()

    def look_again(self) -> None:
        self._stale = True
        self._wake.set()

    def changed(self, paths: Iterable[str]) -> None:
        """Read these created, changed or removed files again, so that queries find their current texts."""
        folders = [path for path in paths if self._is_folder(path)]
        texts = {path: self._text(path) for path in paths if path not in folders}
        with self._lock:
            self._touched |= texts
            if self._shared is not None:
                self._overlay.files_changed(texts)
        # The watcher does not list the files of a moved folder. Of very many files, most may not be indexed.
        if folders or len(self._touched) > _MOST_FILES or needs_rescan(texts):
            self.look_again()

    def _text(self, path: str) -> str | None:
        try:
            return permitted_text(self._root, path, self._rules)
        except OSError:
            return None

    def _is_folder(self, path: str) -> bool:
        """Whether `path` is a folder, or was a folder from which the index has files."""
        if (self._root / path).is_dir():
            return True
        shared = self._shared
        if shared is None or (self._root / path).exists():
            return False
        return path not in shared.reader.contents([path]) and has_below(shared.reader, path)


def _file_name(url: str, at: Located) -> str:
    """Return the file name of a catalogue, which changes with each new database at the URL."""
    named = "\n".join((url, str(at.snapshot), at.repository, at.commit, at.indexed_at))
    return hashlib.blake2b(named.encode(), digest_size=16).hexdigest()


def _repository(root: Path) -> Repository:
    try:
        repository = open_repository(root)
    except NoRepositoryError:
        repository = None
    if repository is None or repository.top != root:
        raise NotSharedError(f"{root.name} is not the top of a git clone, so the team's index is not used.")
    return repository


def _commits(repository: Repository, head: str) -> list[str]:
    git = repository.git(head, time.monotonic() + _GIT_SECONDS)
    commits = git.run(("rev-list", f"--max-count={_MOST_COMMITS}", "--first-parent", "HEAD", "--"))
    return list(pieces(commits, b"\n"))  # git runs while the pieces are read


def _delete_oldest(folder: Path) -> None:
    """Delete all but the last used catalogues, and what a killed process has left. Raise OSError."""
    files = [each for each in folder.iterdir() if each.is_file()]
    for old in sorted(files, key=lambda each: each.stat().st_mtime)[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)
