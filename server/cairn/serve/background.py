"""The engine in the background: the process that `cairn mcp` starts where no other one has the engine of its workspace.

It ends when no client has needed it for `agents.idle_minutes`, when an editor or a server takes over, and at SIGTERM.
`python -m cairn.serve.background engine FOLDER...` runs it; by the word `engine` people are told who writes an index (`cairn doctor`).
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.attach.records import BACKGROUND, taken_lock

if TYPE_CHECKING:
    from cairn.serve.engine_socket import EngineSocket

_FIRST_CLIENT_SECONDS = 10.0
"""Time for whoever started it to connect, also where `agents.idle_minutes` is 0."""
_KEPT_FOREVER = 1e9
"""Seconds: the engine goes with the process."""


def main(folders: list[Path]) -> int:
    """Have the engine of the first folder until nobody needs it; at once where another process has it."""
    lock = taken_lock(folders[0])
    if lock is None:
        return 0
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    from cairn.serve.engine_socket import EngineSocket
    from cairn.serve.sharing import open_folders

    hosts: list[Any] = []
    named = {folder.resolve() for folder in folders}
    engine_socket = EngineSocket(
        lambda: hosts[0], lambda: named.union(*map(open_folders, hosts)), _KEPT_FOREVER, BACKGROUND
    )
    # Clients may connect from now on; they are answered once everything is imported.
    engine_socket.offers.hold(folders[0].resolve(), lock)
    from cairn.startup.interpreter import keep_no_freed_memory, let_queries_in, made_to_last

    let_queries_in()
    keep_no_freed_memory()
    with made_to_last():
        import cairn.engine.engine
        import cairn.mcp.server  # noqa: F401
        from cairn.engine.host import Host
        from cairn.settings.layers import Layers
    settings = Layers().without_workspace().settings
    hosts.append(Host(settings.embedding))
    asyncio.run(_serve(engine_socket, 60 * settings.agents.idle_minutes))
    return 0


async def _serve(engine_socket: EngineSocket, patience: float) -> None:
    from cairn.startup.ending import first_of, told_to_end

    async def needed_by_nobody() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_CLIENT_SECONDS):
                await engine_socket.presence.arrival()
        await engine_socket.presence.over(patience)

    with told_to_end() as told:
        serving = asyncio.create_task(engine_socket.serve(told))
        await first_of(asyncio.shield(serving), needed_by_nobody())
        told.set()
        await serving


if __name__ == "__main__":
    sys.exit(main([Path(folder) for folder in sys.argv[2:]]))
