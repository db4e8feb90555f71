"""Agents, commands and an editor on one workspace share one engine, whichever process has it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("mcp")

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from cairn.attach.channel import AttachError, opened
from cairn.attach.records import BACKGROUND, EDITOR, SERVER, Record, read_record
from tests.serving import serving

from .conftest import PATIENCE_SECONDS
from .test_cli import BAD

pytestmark = pytest.mark.asyncio

QUESTION = "where are ships assigned to berths"
Start = Callable[..., Any]


@pytest.fixture(autouse=True)
def patient(bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No leg of a search is broken off on a busy machine."""
    monkeypatch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", str(1000 * PATIENCE_SECONDS))


@asynccontextmanager
async def agent(*folders: Path, cwd: Path | None = None, **options: Any) -> AsyncIterator[Client]:
    command = ["-m", "cairn", "mcp", *map(str, folders)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ), cwd=cwd)
    async with asyncio.timeout(2 * PATIENCE_SECONDS), Client(server, mode="legacy", **options) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
    assert not result.is_error, text
    return text


async def found(client: Client) -> None:
    assert "src/harbour/schedule.py:" in await called(client, "search", query=QUESTION)


async def recorded(folder: Path, holds: Callable[[Record], bool]) -> Record:
    """The folder's record, once it is as it should be."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (record := read_record(folder)) is None or not holds(record):
        assert time.monotonic() < deadline, record
        await asyncio.sleep(0.02)
    return record


async def gone(process_id: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while psutil.pid_exists(process_id) and psutil.Process(process_id).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_agents_have_one_engine_which_ends_with_the_last(workspace: Path) -> None:
    async with AsyncExitStack() as stack:
        agents = [await stack.enter_async_context(agent(workspace)) for _ in range(4)]
        await asyncio.gather(*map(found, agents))
        record = await recorded(workspace, lambda record: record.kind == BACKGROUND)
        running = [p for p in psutil.process_iter(["cmdline"]) if str(workspace) in (p.info["cmdline"] or ())]
        engines = [p for p in running if "cairn.serve.background" in p.info["cmdline"]]
        assert [engine.pid for engine in engines] == [record.process_id]
    await gone(record.process_id)
    assert read_record(workspace) is None


async def test_an_engine_that_is_killed_fails_no_answer(workspace: Path) -> None:
    async with agent(workspace) as one, agent(workspace) as other:
        await asyncio.gather(found(one), found(other))
        for _ in range(3):
            record = await recorded(workspace, lambda record: psutil.pid_exists(record.process_id))
            asking = [asyncio.create_task(found(client)) for client in (one, other, one)]
            psutil.Process(record.process_id).kill()
            await asyncio.gather(*asking)
            await found(other)
            now = await recorded(workspace, lambda record: psutil.pid_exists(record.process_id))
            assert now.process_id != record.process_id


async def test_roots_are_known_to_the_next_engine(workspace: Path, tmp_path: Path) -> None:
    start = tmp_path / "elsewhere"
    start.mkdir()

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=workspace.as_uri())])  # type: ignore[arg-type]

    async with agent(cwd=start, list_roots_callback=roots) as client:
        await found(client)
        record = await recorded(start, lambda record: True)
        psutil.Process(record.process_id).kill()
        await found(client)


async def test_an_editor_takes_over_and_leaves_again(workspace: Path, daemon: Start) -> None:
    async with agent(workspace) as client:
        await found(client)
        before = await recorded(workspace, lambda record: record.kind == BACKGROUND)
        async with daemon(workspace) as editor:
            await editor.ready()
            record = await recorded(workspace, lambda record: record.kind == EDITOR)
            assert record.process_id == editor.process.pid
            await gone(before.process_id)
            await found(client)
            assert read_record(workspace) == record
        await found(client)
        assert (await recorded(workspace, lambda record: True)).kind == BACKGROUND


async def test_a_server_takes_over_and_leaves_again(workspace: Path) -> None:
    async with agent(workspace) as client:
        await found(client)
        before = await recorded(workspace, lambda record: record.kind == BACKGROUND)
        with serving(workspace) as served:
            record = await recorded(workspace, lambda record: record.kind == SERVER)
            assert record.process_id == served.process.pid
            await gone(before.process_id)
            await found(client)
        await found(client)


async def test_an_agent_attaches_to_the_editor_of_its_roots(
    workspace: Path, daemon: Start, tmp_path: Path
) -> None:
    start = tmp_path / "elsewhere"
    start.mkdir()

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=workspace.as_uri())])  # type: ignore[arg-type]

    async with daemon(workspace) as editor:
        await editor.ready()
        await recorded(workspace, lambda record: record.kind == EDITOR)
        async with agent(cwd=start, list_roots_callback=roots) as client:
            await found(client)
            before = read_record(start)
            if before is not None:  # It served nobody else, and ends.
                await gone(before.process_id)


async def test_an_agent_sees_files_as_they_are_on_disk(workspace: Path, daemon: Start) -> None:
    """An agent edits files: what an editor has not saved would have other lines."""
    readme = workspace / "README.md"
    async with daemon(workspace) as editor:
        await editor.ready()
        await recorded(workspace, lambda record: record.kind == EDITOR)
        document = _opened(readme, "# Unsaved quay\n")
        editor.client.text_document_did_open(document)
        await editor.found("unsaved quay", "README.md")
        async with agent(workspace) as client:
            assert "Unsaved quay" not in await called(client, "read", path="README.md")
            assert "Unsaved quay" not in await called(client, "search", query='"Unsaved quay"')


def _opened(path: Path, text: str) -> Any:
    from lsprotocol.types import DidOpenTextDocumentParams, TextDocumentItem

    return DidOpenTextDocumentParams(TextDocumentItem(path.as_uri(), "markdown", 1, text))


async def test_modules_of_the_workspace_are_not_imported(workspace: Path) -> None:
    for name in ("json.py", "asyncio.py", "cairn.py"):
        (workspace / name).write_text("raise SystemExit('imported from the workspace')\n")
    cairn = Path(sys.executable).with_name("cairn")
    server = StdioServerParameters(command=str(cairn), args=["mcp"], env=dict(os.environ), cwd=workspace)
    async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode="legacy") as client:
        await found(client)
        assert await recorded(workspace, lambda record: True)


async def test_where_no_engine_can_be_shared_a_process_has_its_own(
    workspace: Path, bare_data_dir: Path
) -> None:
    (bare_data_dir / "engines").write_text("not a folder")
    async with agent(workspace) as client:
        await found(client)
    assert read_record(workspace) is None


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can stop a process there")
async def test_an_editor_that_is_stopped_stops_nobody(workspace: Path, daemon: Start) -> None:
    async with daemon(workspace) as editor, agent(workspace) as client:
        await editor.ready()
        await recorded(workspace, lambda record: record.kind == EDITOR)
        await found(client)
        stopped = psutil.Process(editor.process.pid)
        stopped.suspend()
        try:
            await found(client)
            code, text, _ = await asyncio.to_thread(ran, "search", "moor_ship", cwd=workspace)
            assert (code, text.partition(":")[0]) == (0, "src/harbour/berths.py")
        finally:
            stopped.resume()


async def test_a_wrong_token_gets_nothing(workspace: Path) -> None:
    async with agent(workspace) as client:
        await found(client)
        record = await recorded(workspace, lambda record: True)
        with pytest.raises(AttachError):
            opened(record._replace(token="guessed"), {"want": "hello"}, PATIENCE_SECONDS)
        channel, answer = opened(record, {"want": "nonsense"}, PATIENCE_SECONDS)
        channel.close()
        assert "nonsense" in answer["error"]


# --- commands --------------------------------------------------------------------------------------

COMMANDS = (
    ("search", QUESTION),
    ("search", "moor_ship", "-n", "2", "--max-tokens", "200"),
    ("search", "moor_ship", "--in", "src", "--json"),
    ("search", "moor_ship", "-C", "src"),
    ("discover", QUESTION, "--max-tokens", "300"),
    ("callers", "Berth.moor_ship"),
    ("callers", "src/harbour/berths.py:12"),
    ("callees", "assign_berths", "--json"),
    ("page", "src/harbour/berths.py:4-9"),
    ("page", "assign_berths"),
    ("related", "src/harbour/berths.py:4-9"),
    ("search", "x", "--help"),
)
ASKED = {"search", "discover", "callers", "callees", "page", "related"}


def ran(*arguments: str, cwd: Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "cairn", *arguments]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    return done.returncode, _steady(done.stdout), done.stderr


def _steady(text: str) -> str:
    """An answer without the times that it took."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    for name in ("timings", "retrieval"):
        if isinstance(answer, dict):
            answer.pop(name, None)
    return json.dumps(answer)


async def test_commands_print_the_same_with_an_engine_that_runs(workspace: Path) -> None:
    (workspace / "logo.png").write_bytes(b"\x89PNG\0")
    bad = [arguments for arguments, *_ in BAD if arguments[0] in ASKED]
    every = [*COMMANDS, *bad[::4]]
    alone = [await asyncio.to_thread(ran, *arguments, cwd=workspace) for arguments in every]
    async with agent(workspace) as client:
        await found(client)
        while "Index incomplete" in await called(client, "status"):
            await asyncio.sleep(0.05)
        for arguments, expected in zip(every, alone, strict=True):
            assert await asyncio.to_thread(ran, *arguments, cwd=workspace) == expected, arguments


async def test_a_command_with_an_engine_imports_next_to_nothing(workspace: Path) -> None:
    script = (
        "import sys, cairn.__main__\n"
        "sys.argv = ['cairn', 'search', 'moor_ship']\n"
        "try: cairn.__main__.main()\n"
        "except SystemExit as ended: code = ended.code\n"
        "print(code, [name for name in ('click', 'attrs', 'asyncio', 'subprocess', 'rich') if name in sys.modules])\n"
    )
    async with agent(workspace) as client:
        await found(client)
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", script],
            cwd=workspace,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.splitlines()[0].startswith("src/harbour/berths.py:")
    assert done.stdout.splitlines()[-1] == "0 []"


async def test_what_people_see_comes_from_the_engine_that_runs(workspace: Path, daemon: Start) -> None:
    async with daemon(workspace) as editor:
        await editor.ready()
        await recorded(workspace, lambda record: record.kind == EDITOR)
        seen = await asyncio.to_thread(ran, "search", "moor_ship", "--color", "always", cwd=workspace)
        assert seen[0] == 0
        assert "moor_ship" in seen[1]
