"""The engine of one client's connection to a team's server. It shows only what this reader may see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.stored import SCHEME, StoredEngine
from cairn.errors import InvalidRequestError


class ReadersEngine(Engine):
    """Wraps the shared engine so that a connected client can neither change nor stop it."""

    def __init__(
        self,
        whole: StoredEngine,
        reader: str,
        check: Callable[[], None],
        editor_settings: Mapping[str, Any],
        on_change: Callable[[], None],
        host: Host,
    ) -> None:
        """Make the engine of a connection. `check` raises a CairnError if the reader has lost access."""
        super().__init__(editor_settings, on_change, host)
        self._whole, self._reader, self._check = whole, reader, check
        self._repositories: tuple[str, ...] = ()
        """The URIs of the client's open folders. Without any, requests cover all visible repositories."""
        self.takes_changes = False

    @contextmanager
    def asked(self, caller: str, workspace: str) -> Iterator[Engine]:
        self._check()
        with self._whole.asked(self._reader, workspace or ",".join(self._repositories)) as engine:
            yield engine

    def add_folder(self, path: Path, *, keep_indexed: bool = True) -> None:
        raise InvalidRequestError(
            "folder",
            f"{path} is not searched: a team's index is served here. Open {SCHEME}:///NAME for one of its"
            " repositories, or set team.url on your machine to search a clone",
        )

    def add_elsewhere(self, uri: str) -> None:
        if uri.startswith(f"{SCHEME}:") and uri not in self._repositories:
            with self._whole.asked(self._reader, uri):
                self._repositories += (uri,)

    def remove_elsewhere(self, uri: str) -> None:
        self._repositories = tuple(each for each in self._repositories if each != uri)
