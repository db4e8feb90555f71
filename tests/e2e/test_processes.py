"""Several processes on one workspace: one of them writes, all find the same, and each can end."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import psutil
import pytest

from tests.serving import PATIENCE_SECONDS

from .command_line import run_cairn_beside
from .daemon import NO_MODEL, UNWATCHED, run_daemon
from .index_files import differences, faults, fresh_contents
from .written_files import write_function, write_notes

pytestmark = pytest.mark.asyncio

without_model = pytest.mark.usefixtures("bare_data_dir")


@without_model
async def test_each_editor_finds_the_saves_of_the_other(workspace: Path) -> None:
    settings = {**NO_MODEL, **UNWATCHED}
    async with run_daemon(workspace, options=settings) as one:
        await one.settled()
        async with run_daemon(workspace, options=settings) as other:
            await other.settled()
            for number, (editor, reader) in enumerate(((one, other), (other, one))):
                path = write_function(workspace / f"crew{number}.py", f"embark_pilot_{number}")
                editor.save(path)
                await editor.found(f"embark_pilot_{number}", path.name)
                await reader.found(f"embark_pilot_{number}", path.name)
            other.save(write_function(workspace / "crew0.py", "disembark_navigator"))
            await other.found("disembark_navigator", "crew0.py")
            done = await run_cairn_beside("search", "disembark_navigator", "-C", str(workspace), "--json")
            for answer in (json.loads(done.stdout), await one.search("disembark_navigator")):
                assert answer["results"][0]["path"] == "crew0.py"


@pytest.mark.usefixtures("bare_data_dir", "slow_model")
async def test_an_editor_finds_its_saves_while_a_command_indexes(workspace: Path) -> None:
    write_notes(workspace, 100)
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cairn", "index", str(workspace)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with run_daemon(workspace) as editor:
            await editor.wait_for(lambda status: status["embedded"] > 0)
            editor.save(write_function(workspace / "crew.py", "embark_pilot"))
            await editor.found("embark_pilot", "crew.py")
            assert command.returncode is None  # it still makes vectors, and watches nothing
    finally:
        command.terminate()
        await command.wait()


async def test_another_process_goes_on_where_a_killed_writer_was(
    workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    write_notes(workspace, 60)
    async with run_daemon(workspace, options=NO_MODEL) as writer:
        await writer.settled()
        async with (
            run_daemon(workspace, options=NO_MODEL) as heir,
            run_daemon(workspace, options=NO_MODEL) as third,
        ):
            await heir.settled()
            await third.settled()
            await writer.request("cairn/reindex")
            await writer.kill()
            path = write_function(workspace / "crew.py", "embark_pilot")
            await heir.found("embark_pilot", "crew.py")
            await third.found("embark_pilot", "crew.py")
            await heir.settled()
            path.unlink()
            await third.found("embark_pilot", None)
    assert faults(bare_data_dir) == []
    assert not list(bare_data_dir.glob("workspaces/*/*damaged*"))
    assert not differences(bare_data_dir, fresh_contents(workspace, tmp_path / "fresh"))


@without_model
async def test_killed_and_closed_editors_leave_no_process_behind(workspace: Path) -> None:
    us = psutil.Process()
    before = {process.pid for process in us.children(recursive=True)}
    async with (
        run_daemon(workspace, options=NO_MODEL) as one,
        run_daemon(workspace, options=NO_MODEL) as other,
    ):
        await one.settled()
        await other.settled()
        started = {process.pid for process in us.children(recursive=True)} - before
        assert {one.process.pid, other.process.pid} <= started
        await one.kill()
    assert not [pid for pid in started if psutil.pid_exists(pid)]


@without_model
async def test_a_daemon_leaves_the_folder_in_which_it_is_started(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        daemon = psutil.Process(cairn.process.pid)
        for process in (daemon, *daemon.children(recursive=True)):
            assert Path(process.cwd()) == Path(process.cwd()).parent


@without_model
async def test_queries_go_on_while_another_process_writes(workspace: Path) -> None:
    write_notes(workspace, 200)
    async with run_daemon(workspace, options=NO_MODEL) as writer:
        await writer.settled()
        async with run_daemon(workspace, options=NO_MODEL) as reader:
            before = await reader.settled()
            await writer.request("cairn/reindex")
            meanwhile = 0
            async with asyncio.timeout(PATIENCE_SECONDS):
                now = await reader.status()
                while now["generation"] == before["generation"] or now["state"] == "indexing":
                    answer = await reader.search("moor_ship")
                    assert answer["results"][0]["path"] == "src/harbour/berths.py"
                    meanwhile += now["state"] == "indexing"
                    now = await reader.status()
            # Dozens were counted; a search that waits for the writer would be the only one.
            assert meanwhile > 5
            assert (await reader.settled())["chunks"] == before["chunks"]
