"""Keeps a clone and the team's index of it together: finds the indexed commit that is nearest, and what differs from it here."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from cairn.errors import CairnError
from cairn.index.overlay.overlay import MOST_CHARACTERS, Overlay
from cairn.index.remote.catalogue import unpacked_catalogue
from cairn.index.remote.reader import RemoteMemory, RemoteReader
from cairn.index.remote.server import Located, TeamServer, TeamUnavailableError
from cairn.paths import data_dir
from cairn.workspace import git
from cairn.workspace.scan import read_text
from cairn.workspace.watch import FolderWatcher

logger = logging.getLogger(__name__)

_MOST_COMMITS = 1_000
"""Commits back from HEAD that are looked for in the team's index."""
_MOST_FILES = 400
"""Files that may differ; with more of them this machine is sooner done with an index of its own."""
_GIT_SECONDS = 20.0
_LOOK_SECONDS = 30.0
"""How often it is looked whether the team has a nearer commit."""
_RETRY_SECONDS = (5.0, 60.0)
"""Between two tries to reach the server: at first, and at most."""
_MOST_KEPT = 20
"""Catalogues that are kept on disk; those used longest ago go first."""


class NotSharedError(CairnError):
    """The folder is not answered from the team's index; the text says why."""


@frozen
class Shared:
    """What is answered from the team's index."""

    reader: RemoteReader
    located: Located
    differing: int
    """Files that are read here instead."""


class TeamClone:
    """Watches one clone on a thread of its own until stopped.

    `on_shared` hears of each snapshot that is to be read from then on, `on_alone` that there is none, and why. Both are called on
    that thread.
    """

    def __init__(
        self,
        root: Path,
        server: TeamServer,
        overlay: Overlay,
        on_shared: Callable[[Shared], None],
        on_alone: Callable[[str], None],
    ) -> None:
        self._root = root
        self._server = server
        self._overlay = overlay
        self._on_shared, self._on_alone = on_shared, on_alone
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._moved = False
        """Whether HEAD moved, or the server was lost, since it was looked last."""
        self._shared: Shared | None = None
        self._problem: str | None = None
        self._watcher: FolderWatcher | None = None
        self._thread = threading.Thread(target=self._run, name=f"cairn-team-{root.name}", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=15)

    # --- the thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        first, longest = _RETRY_SECONDS
        wait = first
        while not self._stopped.is_set():
            self._moved = False
            self._wake.clear()
            try:
                self._look()
                pause, wait = _LOOK_SECONDS, first
            except (CairnError, git.GitError) as problem:
                self._alone(str(problem))
                pause, wait = wait, min(longest, 2 * wait)
            except Exception as problem:
                logger.exception("%s could not be compared with the team's index", self._root)
                self._alone(f"Comparing {self._root.name} with the team's index failed ({problem}).")
                pause, wait = wait, min(longest, 2 * wait)
            self._wake.wait(pause)
        if self._watcher is not None:
            self._watcher.stop()

    def _look(self) -> None:
        located = self._server.locate(_commits(self._root))
        if located is None:
            raise NotSharedError(
                f"The team has no index of {self._root.name} at any of its latest {_MOST_COMMITS} commits."
            )
        known = self._shared
        if known is not None and known.located == located and self._problem is None:
            return
        self._watch()
        differing = _differing(self._root, located.commit)
        memory = self._memory(located.snapshot)
        self._overlay.files_differ(differing)
        reader = RemoteReader.of(partial(self._ask, located.snapshot), memory, str(self._root))
        self._shared, self._problem = Shared(reader, located, len(differing)), None
        self._on_shared(self._shared)

    def _alone(self, problem: str) -> None:
        if problem != self._problem:
            self._shared, self._problem = None, problem
            self._overlay.files_differ({})
            self._on_alone(problem)

    def _ask(self, snapshot: int, name: str, given: list[Any]) -> Any:
        try:
            return self._server.read(snapshot, name, given)
        except TeamUnavailableError:
            self._problem = "lost"  # the thread looks, and says what is wrong
            self._wake.set()
            raise

    def _memory(self, snapshot: int) -> RemoteMemory:
        known = self._shared
        if known is not None and known.located.snapshot == snapshot:
            return known.reader.memory
        folder = data_dir() / "team"
        file = folder / f"{abs(hash_of(self._server.url))}-{snapshot}"
        try:
            packed = file.read_bytes()
            file.touch()
        except OSError:
            packed = self._server.catalogue(snapshot)
            _keep(file, packed)
        return unpacked_catalogue(snapshot, packed)

    # --- changes --------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = FolderWatcher(
                self._root, self.changed, self._head_moved, lambda problem: None, self._wake.set
            )
            self._watcher.start()

    def _head_moved(self) -> None:
        self._problem = self._problem or "moved"
        self._wake.set()

    def changed(self, paths: Iterable[str]) -> None:
        """Take in that these files were made, changed or removed; they are compared with the index by the next question."""
        if self._shared is not None:
            self._overlay.files_changed(
                {path: _text(self._root / path) for path in paths if not (self._root / path).is_dir()}
            )


def hash_of(url: str) -> int:
    """A number that tells servers apart in names of files."""
    import zlib

    return zlib.crc32(url.encode())


def _commits(root: Path) -> list[str]:
    repository = git.locate(root)
    if repository is None or repository.top != root:
        raise NotSharedError(f"{root.name} is not the top of a git clone, so the team's index is not asked.")
    found = git.Git(root, time.monotonic() + _GIT_SECONDS).run(
        ["rev-list", f"--max-count={_MOST_COMMITS}", "--first-parent", "HEAD"]
    )
    commits = list(git.pieces(found, b"\n"))
    if not commits:
        raise NotSharedError(f"{root.name} has no commit yet, so the team's index is not asked.")
    return commits


def _differing(root: Path, commit: str) -> Mapping[str, str | None]:
    """The texts of the files that are not as the commit has them; None for one that is gone or not text."""
    run = git.Git(root, time.monotonic() + _GIT_SECONDS).run
    changed = git.pieces(
        run(["diff", "--name-only", "-z", "--no-renames", "--ignore-submodules", commit]), b"\0"
    )
    added = git.pieces(run(["ls-files", "--others", "--exclude-standard", "-z"]), b"\0")
    paths: Sequence[str] = list(dict.fromkeys([*changed, *added]))
    if len(paths) > _MOST_FILES:
        raise NotSharedError(
            f"{len(paths):,} files of {root.name} differ from what the team's index has; it is indexed here."
        )
    texts = {path: _text(root / path) for path in paths}
    if sum(len(text) for text in texts.values() if text) > MOST_CHARACTERS:
        raise NotSharedError(
            f"Too much of {root.name} differs from what the team's index has; it is indexed here."
        )
    return texts


def _text(path: Path) -> str | None:
    try:
        return read_text(path) if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None


def _keep(file: Path, packed: bytes) -> None:
    """Keep the catalogue for the next start; that it cannot be kept costs time alone."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_name(f"{file.name}.{threading.get_ident()}")
        made.write_bytes(packed)
        made.replace(file)
        kept = sorted(file.parent.iterdir(), key=lambda each: each.stat().st_mtime)
        for old in kept[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as problem:
        logger.warning("the catalogue of a snapshot could not be kept: %s", problem)
