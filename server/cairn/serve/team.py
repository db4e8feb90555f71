"""Serves the repositories of a team's database to clients that have one of its tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import frozen

from cairn.errors import CairnError, StoreUnavailableError

if TYPE_CHECKING:
    from cairn.engine.host import Host
    from cairn.engine.stored import StoredEngine
    from cairn.lsp.connection import MakeEngine
    from cairn.team.store import TeamStore

_EXTRA = 'This needs more libraries: pip install "cairn-ls[serve,team]"'


@frozen
class TeamTokens:
    """The tokens of a team's database. Each request looks up its token, so revocation is immediate."""

    _store: TeamStore

    @property
    def remedy(self) -> str:
        """Advice for error messages: which token a client has to send."""
        return "the token that `cairn team grant` made for you"

    def check(self, token: str, reader: str) -> None:
        """Raise StoreUnavailableError if the token does not belong to the reader any more."""
        if self._store.reader_of(token) != reader:
            raise StoreUnavailableError(f"Your token is no longer valid; connect again with {self.remedy}.")

    async def caller(self, token: str) -> str | None:
        """Return the name of the token's reader; None for a token that is unknown, revoked or expired."""
        return await asyncio.to_thread(self._store.reader_of, token) if token else None


def engines_for(engine: StoredEngine, tokens: TeamTokens, host: Host) -> Callable[[str, str], MakeEngine]:
    """Return a function that makes the engine of an LSP client, given the reader's name and token."""
    from cairn.engine.stored import ReadersEngine

    def engine_for(reader: str, token: str) -> MakeEngine:
        check = partial(tokens.check, token, reader)
        return lambda settings, on_change: ReadersEngine(engine, reader, check, settings, on_change, host)

    return engine_for


def stored(given: Sequence[str], host: Host) -> tuple[StoredEngine, TeamTokens]:
    """Return the engine of a team's database, and its tokens. `given` are the URLs, or files with the URLs.

    Raises StoreUnavailableError if the database cannot be used.
    """
    try:
        from cairn.engine.stored import StoredEngine
        from cairn.team.store import TeamStore
    except ImportError as problem:
        raise CairnError(_EXTRA) from problem
    store = TeamStore.at(given)
    return StoredEngine(store.connections, host), TeamTokens(store)
