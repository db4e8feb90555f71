"""An engine in this process, for tests of the MCP server that need no process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from hostile_traffic import write_secret
from in_process import Connect, SlowEngine
from mcp.client.client import Client
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files
from tests.serving import PATIENCE_SECONDS, wait_for

from cairn.engine.engine import Engine
from cairn.engine.runner import Runner
from cairn.mcp.mcp_server import build_server


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that has indexed the small project, beside which there is a secret, and another folder."""
    root = tmp_path_factory.mktemp("mcp")
    folder = write_files(root / "harbour", HARBOUR)
    write_secret(folder)
    lamp = "def kindle_lamp():\n    '''Kindle the lamp at dusk.'''\n"
    lighthouse = write_files(root / "lighthouse", {"lamp.py": lamp})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(root / "data")))
        made = Engine({"search": {"legDeadlineMs": 1000 * PATIENCE_SECONDS}})
        for each in (folder, lighthouse):
            made.add_folder(each)
        wait_for(lambda: made.progress().complete)
        yield made
        made.stop()


@pytest.fixture
def folder(engine: Engine) -> Path:
    return engine.folders[0].root


@pytest.fixture
def connect() -> Connect:
    """Connects a client with an engine."""

    @asynccontextmanager
    async def connected(engine: Any, **options: Any) -> AsyncIterator[Client]:
        runner = Runner(lambda: engine)

        async def provide(*_: Any) -> Runner:
            return runner

        async with Client(build_server(provide), **options) as client:
            yield client
        runner.close()

    return connected


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, bare_data_dir: Path) -> SlowEngine:
    made = SlowEngine()
    monkeypatch.setattr("cairn.engine.fallback.answer_in_phases", made.answer)
    return made
