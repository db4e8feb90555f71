"""Code lenses above definitions, and the command behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types

from tests.serving import PATIENCE_SECONDS

from .daemon import Daemon, plain, run_daemon

T = TypeVar("T")

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

SCHEDULE = "src/harbour/schedule.py"
PORT = '''"""The port."""

from harbour.schedule import assign_berths


def open_port(ships):
    assign_berths(ships, [])
    assign_berths(ships[1:], [])
'''


@pytest.fixture
def schedule(workspace: Path) -> Path:
    (workspace / "src/harbour/port.py").write_text(PORT, encoding="utf-8")
    return workspace / SCHEDULE


def soon(sending: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    return asyncio.wait_for(sending, PATIENCE_SECONDS)


async def lenses(cairn: Daemon, path: Path) -> list[types.CodeLens]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(path.as_uri()))
    return list(await soon(cairn.client.text_document_code_lens_async(params)) or ())


async def titles(cairn: Daemon, path: Path) -> list[tuple[int, str]]:
    """Return the line and the title of each lens, resolved where necessary."""
    found = []
    for each in await lenses(cairn, path):
        lens = each if each.command else await soon(cairn.client.code_lens_resolve_async(each))
        assert lens.command is not None
        assert lens.command.command == "cairn.show"
        found.append((lens.range.start.line, lens.command.title))
    return found


async def test_lenses_count_callers_and_tests(schedule: Path, workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        assert cairn.capabilities.code_lens_provider == types.CodeLensOptions(resolve_provider=True)
        found = await titles(cairn, schedule)
        assert (5, "2 callers") in found
        print(found)


async def test_command_lists_the_places(schedule: Path, workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        first = (await lenses(cairn, schedule))[0]
        lens = await soon(cairn.client.code_lens_resolve_async(first))
        assert lens.command is not None
        (argument,) = plain(lens.command.arguments)
        assert argument == {
            "uri": schedule.as_uri(),
            "position": {"line": 5, "character": 4},
            "section": "callers",
        }
        await cairn.execute("cairn.show", argument)
        assert [each.message for each in cairn.client.messages][-1:] == [
            "src/harbour/port.py:7\nsrc/harbour/port.py:8"
        ]
