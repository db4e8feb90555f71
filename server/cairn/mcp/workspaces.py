"""Which folders an agent works in: those that `cairn mcp` was given, else the client's roots, else the directory that it was started
in. The engine is made on a thread meanwhile; the tools wait for it.
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

from cairn.engine.folders import path_of_uri
from cairn.engine.pool import EnginePool, Lent
from cairn.engine.runner import Runner
from cairn.errors import CairnError

logger = logging.getLogger(__name__)

_ROOTS = "roots"
"""What the question for them is called."""
_ROOTS_SECONDS = 10.0
"""For a client to tell its roots; the directory of the command serves after that."""


class NoWorkspaceError(CairnError):
    """There is no folder to ask."""


class Workspaces:
    """The folders of one client. Use it on one event loop."""

    def __init__(
        self,
        pool: EnginePool,
        named: Sequence[Path],
        here: Path,
        move: Callable[[Sequence[Path]], Awaitable[bool]],
    ) -> None:
        """`pool` lends the engine. `named` are the folders of the command line, which count whatever the client's roots are. `here` is the
        directory of the command. `move` hears which folders the client's roots are, and says whether another process answers from then on.
        """
        self._pool = pool
        self._named = tuple(named)
        self._here = here
        self._move = move
        self._lent: Lent | None = None
        self._opening: asyncio.Task[None] | None = None
        self.problems: tuple[str, ...] = ()
        """Why folders that were asked for are not open."""

    async def runner(
        self, session: ServerSession, params: types.CallToolRequestParams
    ) -> Runner | types.InputRequiredResult:
        """Where to ask, once the folders are open; what the client has to tell before. Raises NoWorkspaceError if there is none."""
        told = (params.input_responses or {}).get(_ROOTS)
        if self._opening is None and not self._named and not told and _tells_when_asked_by_answer(session):
            return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
        self.begin(session, told if isinstance(told, types.ListRootsResult) else None)
        assert self._opening is not None
        await asyncio.shield(self._opening)
        if self._lent is None or not self._lent.open:
            raise NoWorkspaceError("\n".join(["No workspace folder is open.", *self.problems]))
        return self._lent.runner

    def begin(self, session: ServerSession, told: types.ListRootsResult | None = None) -> None:
        """Open the folders in the background, unless that has begun already; `told` are roots that the client gave."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._show(session, told, None))

    def roots_changed(self, session: ServerSession) -> None:
        """Ask the client anew, and open and close folders accordingly; whoever asks meanwhile waits for it."""
        if not self._named:
            self._opening = asyncio.create_task(self._show(session, None, self._opening))

    async def close(self) -> None:
        """Give the engine back."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._lent is not None:
            self._pool.give_back(self._lent)

    async def _show(
        self, session: ServerSession, told: types.ListRootsResult | None, earlier: asyncio.Task[None] | None
    ) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        wanted, problems = await self._wanted(session, told)
        if not self._named and await self._move(wanted):
            await asyncio.Event().wait()  # The client asks elsewhere, and this connection ends.
        before, self._lent = self._lent, await self._pool.lend(wanted)
        if before is not None:
            self._pool.give_back(before)
        self.problems = (*problems, *self._lent.problems)

    async def _wanted(
        self, session: ServerSession, told: types.ListRootsResult | None
    ) -> tuple[list[Path], list[str]]:
        """The folders to open, and why others are not."""
        if self._named:
            return list(self._named), []
        folders, problems = _folders(told or await _roots(session))
        if not folders and not problems:
            folders = [self._here]
        refusals = {folder: refusal(folder) for folder in folders}
        return (
            [folder for folder, why in refusals.items() if not why],
            [*problems, *filter(None, refusals.values())],
        )


def _has_roots(session: ServerSession) -> bool:
    capabilities = session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


def _tells_when_asked_by_answer(session: ServerSession) -> bool:
    """Whether the client has roots, and tells them only when the answer to its own request asks for them (2026-07-28)."""
    return _has_roots(session) and session.protocol_version in MODERN_PROTOCOL_VERSIONS


async def _roots(session: ServerSession) -> types.ListRootsResult:
    """The client's roots; none where it has none or cannot be asked."""
    none = types.ListRootsResult(roots=[])
    if not _has_roots(session):
        return none
    try:
        return await session.send_request(types.ListRootsRequest(), types.ListRootsResult, _ROOTS_SECONDS)
    except (MCPError, ValueError) as problem:
        logger.warning("the client told no roots, the directory of the command serves: %s", problem)
        return none


def _folders(listed: types.ListRootsResult) -> tuple[list[Path], list[str]]:
    """The folders that roots name, and which of them are none."""
    paths = [(str(root.uri), path_of_uri(str(root.uri))) for root in listed.roots]
    unusable = [f"{uri} is no folder of this machine." for uri, path in paths if path is None]
    return [path for _, path in paths if path is not None], unusable


def refusal(folder: Path, command: str = "cairn mcp") -> str:
    """Why a folder that nobody named is not opened: the home folder, and what holds it; "" for any other. `command` takes
    folders by name.

    To index those by accident would take hours, and hold much that is nobody's project.
    """
    real = folder.resolve()
    try:
        home = Path.home().resolve()
    except RuntimeError:  # nobody's
        home = (real.anchor and Path(real.anchor)) or real
    if real != Path(real.anchor) and real != home and real not in home.parents:
        return ""
    what = "is your home folder" if real == home else "holds more than a project"
    return (
        f"{folder} {what}, so it is not indexed unless you name it. Start the server in a project, open a project in "
        f"your client, or name folders: `{command} FOLDER`."
    )
