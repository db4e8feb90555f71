"""The folders in which an agent works, and their engine.

The folders are the arguments of `cairn mcp`, else the client's roots, else the current directory. A thread
makes the engine, and the tools wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cairn.engine.folders import path_of_uri, refusal
from cairn.engine.pool import EnginePool, PooledEngine
from cairn.engine.runner import Runner
from cairn.errors import CairnError

logger = logging.getLogger(__name__)

_ROOTS = "roots"
_ROOTS_SECONDS = 10.0
"""The timeout for a client to send its roots. After it, the current directory is used."""


class NoWorkspaceError(CairnError):
    """No folder is open."""


class Workspaces:
    """The folders of one client. Use this on one event loop."""

    def __init__(
        self,
        pool: EnginePool,
        named: Sequence[Path],
        here: Path,
        move: Callable[[Sequence[Path]], Awaitable[bool]],
    ) -> None:
        """Create the workspaces of a client whose engine comes from `pool`.

        `named` are the folders of the command line, which override the client's roots. `here` is the client's
        current directory. `move(folders)` returns whether another process takes over the client.
        """
        self._pool = pool
        self._named = tuple(named)
        self._here = here
        self._move = move
        self._lent: PooledEngine | None = None
        self._opening: asyncio.Task[None] | None = None
        self.problems: tuple[str, ...] = ()
        """The reasons why requested folders are not open."""

    async def runner(
        self, session: ServerSession, params: types.CallToolRequestParams
    ) -> Runner | types.InputRequiredResult:
        """Return the runner once the folders are open, or a request for the client's roots.

        Raises NoWorkspaceError if no folder can be opened.
        """
        roots = (params.input_responses or {}).get(_ROOTS)
        # From the revision 2026-07-28 on, a client sends its roots only if the answer to its own request asks
        # for them.
        is_modern = _has_roots(session) and session.protocol_version in MODERN_PROTOCOL_VERSIONS
        if self._opening is None and not self._named and not roots and is_modern:
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
        self.begin(session, roots if isinstance(roots, types.ListRootsResult) else None)
        assert self._opening is not None
        await asyncio.shield(self._opening)
        if self._lent is None or not self._lent.open:
            raise NoWorkspaceError("\n".join(["No workspace folder is open.", *self.problems]))
        return self._lent.runner

    def begin(self, session: ServerSession, roots: types.ListRootsResult | None = None) -> None:
        """Open the folders in the background, unless this has begun. `roots` are the client's, if known."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(session, roots, None))

    def roots_changed(self, session: ServerSession) -> None:
        """Request the roots again, then open and close folders accordingly. The tools wait for this."""
        if not self._named:
            self._opening = asyncio.create_task(self._open(session, None, self._opening))

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._lent is not None:
            self._pool.give_back(self._lent)

    async def _open(
        self, session: ServerSession, roots: types.ListRootsResult | None, earlier: asyncio.Task[None] | None
    ) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        wanted, problems = await self._wanted(session, roots)
        if not self._named and await self._move(wanted):
            await asyncio.Event().wait()  # The relay attaches to another process and closes this connection.
        before, self._lent = self._lent, await self._pool.lend(wanted)
        if before is not None:
            self._pool.give_back(before)
        self.problems = (*problems, *self._lent.problems)

    async def _wanted(
        self, session: ServerSession, roots: types.ListRootsResult | None
    ) -> tuple[list[Path], list[str]]:
        """Return the folders to open, and the reasons why other folders are not opened."""
        if self._named:
            return list(self._named), []
        paths = {str(root.uri): path_of_uri(str(root.uri)) for root in (roots or await _roots(session)).roots}
        problems = [f"{uri} is not a folder of this machine." for uri, path in paths.items() if path is None]
        folders = list(filter(None, paths.values())) or ([] if problems else [self._here])
        refusals = {folder: refusal(folder) for folder in folders}
        wanted = [folder for folder, reason in refusals.items() if not reason]
        return wanted, [*problems, *filter(None, refusals.values())]


def _has_roots(session: ServerSession) -> bool:
    capabilities = session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


async def _roots(session: ServerSession) -> types.ListRootsResult:
    """Request the client's roots. Return none if the client has none or does not answer."""
    none = types.ListRootsResult(roots=[])
    if not _has_roots(session):
        return none
    try:
        return await session.send_request(types.ListRootsRequest(), types.ListRootsResult, _ROOTS_SECONDS)
    except (MCPError, ValueError) as problem:
        logger.warning("the client sent no roots, so the current directory is used: %s", problem)
        return none
