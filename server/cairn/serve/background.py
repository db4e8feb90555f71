"""The background engine: `cairn mcp` starts this process if no other process has an engine of its workspace.

The process ends after `agents.idle_minutes` without a client, when an editor or a server takes over, or at
SIGTERM. `python -m cairn.serve.background engine FOLDER...` runs it; `cairn doctor` finds it by the word
`engine`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.attach.engine_records import BACKGROUND, acquire_lock

if TYPE_CHECKING:
    from cairn.serve.engine_socket import EngineSocket

_FIRST_CLIENT_SECONDS = 10.0
"""How long the engine waits for its first client, even if `agents.idle_minutes` is 0."""
_KEEP_SECONDS = 1e9
"""The engine is kept as long as the process runs."""


def main(folders: list[Path]) -> int:
    """Run the engine of the first folder until it is idle. Return at once if another process has it."""
    lock = acquire_lock(folders[0])
    if lock is None:
        return 0
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    from cairn.serve.engine_socket import EngineSocket
    from cairn.serve.shared_engine import open_folders

    hosts: list[Any] = []
    named = {folder.resolve() for folder in folders}
    engine_socket = EngineSocket(
        lambda: hosts[0], lambda: named.union(*map(open_folders, hosts)), _KEEP_SECONDS, BACKGROUND
    )
    # Clients can connect from here on. The engine answers once everything is imported.
    engine_socket.announcements.add(folders[0].resolve(), lock)
    from cairn.startup.interpreter import (
        exempt_from_collection,
        release_freed_memory,
        tune_for_answers,
    )

    tune_for_answers()
    release_freed_memory()
    with exempt_from_collection():
        import cairn.engine.engine
        import cairn.mcp.mcp_server  # noqa: F401
        from cairn.engine.host import Host
        from cairn.settings.layers import Layers
    settings = Layers().without_workspace().settings
    hosts.append(Host(settings.embedding))
    asyncio.run(_serve(engine_socket, 60 * settings.agents.idle_minutes))
    return 0


async def _serve(engine_socket: EngineSocket, idle_seconds: float) -> None:
    from cairn.startup.ending import first_of, termination

    async def idle() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_CLIENT_SECONDS):
                await engine_socket.presence.arrival()
        await engine_socket.presence.over(idle_seconds)

    with termination() as stop:
        serving = asyncio.create_task(engine_socket.serve(stop))
        await first_of(asyncio.shield(serving), idle())
        stop.set()
        await serving


if __name__ == "__main__":
    sys.exit(main([Path(folder) for folder in sys.argv[2:]]))
