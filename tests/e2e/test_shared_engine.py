"""Agents, commands and an editor on one workspace share one engine, in whichever process it is."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import psutil
import pytest

pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from cairn.attach.engine_records import (
    BACKGROUND,
    EDITOR,
    PROTOCOL,
    SERVER,
    Record,
    read_record,
    write_record,
)
from tests.serving import PATIENCE_SECONDS, serving

from .command_line import call_main, without_progress
from .daemon import run_daemon, wait_until
from .mcp_agent import QUESTION, call_for_text, roots_of, run_agent
from .test_cli import BAD

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("patient")]

agent = partial(run_agent, era="legacy")


async def found(client: Client) -> None:
    assert "src/harbour/schedule.py:" in await call_for_text(client, "search", query=QUESTION)


async def recorded(folder: Path, holds: Callable[[Record], bool] = lambda record: True) -> Record:
    """Wait until the folder's record satisfies `holds`, and return it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (record := read_record(folder)) is None or not holds(record):
        assert time.monotonic() < deadline, record
        await asyncio.sleep(0.02)
    return record


async def recorded_as(folder: Path, kind: str) -> Record:
    return await recorded(folder, lambda record: record.kind == kind)


async def gone(process_id: int) -> None:
    await wait_until(
        lambda: (
            not psutil.pid_exists(process_id) or psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE
        )
    )


async def test_agents_share_an_engine_that_ends_with_the_last_of_them(workspace: Path) -> None:
    async with AsyncExitStack() as stack:
        agents = [await stack.enter_async_context(agent(workspace)) for _ in range(4)]
        await asyncio.gather(*map(found, agents))
        record = await recorded_as(workspace, BACKGROUND)
        running = [p for p in psutil.process_iter(["cmdline"]) if str(workspace) in (p.info["cmdline"] or ())]
        engines = [p for p in running if "cairn.serve.background" in p.info["cmdline"]]
        assert [engine.pid for engine in engines] == [record.process_id]
    await gone(record.process_id)
    assert read_record(workspace) is None


async def test_no_process_of_an_agent_stays_in_the_folder(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(os.environ["CAIRN_DATA_DIR"])
    monkeypatch.setenv("CAIRN_DATA_DIR", os.path.relpath(data, workspace))
    async with agent(cwd=workspace) as client:
        await found(client)
        monkeypatch.setenv("CAIRN_DATA_DIR", str(data))
        engine = psutil.Process((await recorded_as(workspace, BACKGROUND)).process_id)
        processes = {engine, *engine.children(recursive=True), *psutil.Process().children(recursive=True)}
        inside = [each.cmdline() for each in processes if Path(each.cwd()).is_relative_to(workspace)]
        assert not inside
        assert len([each for each in processes if "mcp" in each.cmdline()]) == 1


@pytest.mark.parametrize("ends", [psutil.Process.kill, psutil.Process.terminate], ids=["killed", "ended"])
async def test_an_engine_that_ends_fails_no_answer(
    workspace: Path, ends: Callable[[psutil.Process], None]
) -> None:
    async with agent(workspace) as one, agent(workspace) as other:
        await asyncio.gather(found(one), found(other))
        for _ in range(2):
            record = await recorded(workspace, lambda record: psutil.pid_exists(record.process_id))
            asking = [asyncio.create_task(found(client)) for client in (one, other, one)]
            ends(psutil.Process(record.process_id))
            await asyncio.gather(*asking)
            await found(other)
            now = await recorded(workspace, lambda record: psutil.pid_exists(record.process_id))
            assert now.process_id != record.process_id


async def test_an_engine_of_an_older_protocol_is_replaced(workspace: Path) -> None:
    async with agent(workspace) as client:
        await found(client)
        older = await recorded(workspace)
        write_record(workspace, older._replace(protocol=1))
        async with agent(workspace) as other:
            await found(other)
            await gone(older.process_id)
            now = await recorded(workspace, lambda record: record.process_id != older.process_id)
            assert now.protocol == PROTOCOL
        await found(client)


async def test_the_next_engine_gets_the_roots(workspace: Path, tmp_path: Path) -> None:
    start = tmp_path / "elsewhere"
    start.mkdir()

    async with agent(cwd=start, list_roots_callback=roots_of([workspace])) as client:
        await found(client)
        record = await recorded(start)
        psutil.Process(record.process_id).kill()
        await found(client)


async def test_an_editor_takes_over_the_engine_and_leaves_again(workspace: Path) -> None:
    async with agent(workspace) as client:
        await found(client)
        before = await recorded_as(workspace, BACKGROUND)
        async with run_daemon(workspace) as editor:
            await editor.ready()
            record = await recorded_as(workspace, EDITOR)
            assert record.process_id == editor.process.pid
            await gone(before.process_id)
            await found(client)
            assert read_record(workspace) == record
        await found(client)
        assert (await recorded(workspace)).kind == BACKGROUND


async def test_a_server_takes_over_the_engine_and_leaves_again(workspace: Path) -> None:
    async with agent(workspace) as client:
        await found(client)
        before = await recorded_as(workspace, BACKGROUND)
        with serving(workspace) as served:
            record = await recorded_as(workspace, SERVER)
            assert record.process_id == served.process.pid
            await gone(before.process_id)
            await found(client)
        await found(client)


async def test_an_agent_attaches_to_the_editor_of_its_roots(workspace: Path, tmp_path: Path) -> None:
    start = tmp_path / "elsewhere"
    start.mkdir()

    async with run_daemon(workspace) as editor:
        await editor.ready()
        await recorded_as(workspace, EDITOR)
        async with agent(cwd=start, list_roots_callback=roots_of([workspace])) as client:
            await found(client)
            before = read_record(start)
            if before is not None:  # It has no other client, and ends.
                await gone(before.process_id)


async def test_an_agent_does_not_see_the_unsaved_text_of_an_editor(workspace: Path) -> None:
    # An agent edits the files on disk: unsaved text would have other lines.
    async with run_daemon(workspace) as editor:
        await editor.ready()
        await recorded_as(workspace, EDITOR)
        editor.open(workspace / "README.md", "# Unsaved quay\n", "markdown")
        await editor.found("unsaved quay", "README.md")
        async with agent(workspace) as client:
            assert "Unsaved quay" not in await call_for_text(client, "read", path="README.md")
            answer = await call_for_text(client, "search", query='"Unsaved quay"')
            assert answer.startswith("No searched file contains “Unsaved quay”.")


async def test_cairn_imports_no_module_of_the_workspace(workspace: Path) -> None:
    for name in ("json.py", "asyncio.py", "cairn.py"):
        (workspace / name).write_text("raise SystemExit('imported from the workspace')\n")
    cairn = Path(sys.executable).with_name("cairn")
    server = StdioServerParameters(command=str(cairn), args=["mcp"], env=dict(os.environ), cwd=workspace)
    async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode="legacy") as client:
        await found(client)
        assert await recorded(workspace)


async def test_a_process_has_its_own_engine_where_none_can_be_shared(
    workspace: Path, bare_data_dir: Path
) -> None:
    (bare_data_dir / "engines").write_text("not a folder")
    async with agent(workspace) as client:
        await found(client)
    assert read_record(workspace) is None


HASTY = """
import sys
import cairn.__main__, cairn.attach.finding, cairn.attach.relay

cairn.attach.finding._ANSWER_SECONDS = 1.0
cairn.attach.relay._SILENT_SECONDS = cairn.attach.relay._GREETING_SECONDS = 1.0
sys.argv[0] = "cairn"
cairn.__main__.main()
"""
"""A relay that waits a second instead of ten for an engine."""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be suspended there")
async def test_a_suspended_editor_does_not_stop_agents_or_commands(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.attach.answered_commands._ANSWER_SECONDS", 1.0)
    async with run_daemon(workspace) as editor, agent(workspace, script=HASTY) as client:
        await editor.ready()
        await recorded_as(workspace, EDITOR)
        await found(client)
        stopped = psutil.Process(editor.process.pid)
        stopped.suspend()
        try:
            await found(client)
            code, text, _ = run("search", "moor_ship", cwd=workspace)
            assert (code, text.partition(":")[0]) == (0, "src/harbour/berths.py")
        finally:
            stopped.resume()


# --- commands ----------------------------------------------------------------------------------------

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
ATTACHING = {"search", "discover", "callers", "callees", "page", "related"}


def run(*arguments: str, cwd: Path) -> tuple[object, str, str]:
    """Call a command, and return its exit code, its answer without times, and its stderr without progress."""
    code, ran = call_main(arguments, cwd)
    return code, without_times(ran.stdout), without_progress(ran.stderr)


def without_times(text: str) -> str:
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    if isinstance(answer, dict):
        answer = {name: value for name, value in answer.items() if name not in ("timings", "retrieval")}
    return json.dumps(answer)


async def test_commands_print_the_same_with_an_engine_that_runs(workspace: Path) -> None:
    (workspace / "logo.png").write_bytes(b"\x89PNG\0")
    bad = [arguments for arguments, *_ in BAD if arguments[0] in ATTACHING]
    every = [*COMMANDS, *bad[::4]]
    alone = [run(*arguments, cwd=workspace) for arguments in every]
    async with agent(workspace) as client:
        await found(client)
        while "Index incomplete" in await call_for_text(client, "status"):
            await asyncio.sleep(0.05)
        for arguments, expected in zip(every, alone, strict=True):
            assert run(*arguments, cwd=workspace) == expected, arguments


async def test_a_command_with_an_engine_imports_no_heavy_module(workspace: Path) -> None:
    script = (
        "import sys, cairn.__main__\n"
        "sys.argv = ['cairn', 'search', 'moor_ship']\n"
        "try: cairn.__main__.main()\n"
        "except SystemExit as ended: code = ended.code\n"
        "heavy = ('click', 'attrs', 'asyncio', 'subprocess', 'rich')\n"
        "print(code, [name for name in heavy if name in sys.modules])\n"
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


async def test_a_command_for_people_uses_the_running_engine(workspace: Path) -> None:
    async with run_daemon(workspace) as editor:
        await editor.ready()
        await recorded_as(workspace, EDITOR)
        seen = run("search", "moor_ship", "--color", "always", cwd=workspace)
        assert seen[0] == 0
        assert "moor_ship" in seen[1]
