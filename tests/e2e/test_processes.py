"""Several processes on one workspace: one writes, all find the same, and nobody is needed."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from .conftest import PATIENCE_SECONDS, Daemon
from .index_files import contents, faults, fresh_contents, run_cairn

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = pytest.mark.asyncio

without_model = pytest.mark.usefixtures("bare_data_dir")

NO_MODEL = {"embedding": {"enabled": False}}
UNWATCHED = {**NO_MODEL, "index": {"watch": False}}
"""What is saved is then found only if who saved it told so."""


def is_settled(status: Any) -> bool:
    """Every present file is indexed and somebody goes on looking."""
    return bool(
        status["state"] not in ("starting", "indexing")
        and 0 < status["files"]["indexed"] == status["files"]["total"]
    )


def write_function(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"def {name}(vessel):\n    return vessel\n")
    return path


async def run_cairn_beside(*arguments: str) -> Any:
    """What `cairn … --json` prints while daemons are served."""
    done = await asyncio.to_thread(run_cairn, *arguments, "--json")
    return json.loads(done.stdout)


async def kill(cairn: Daemon) -> None:
    cairn.process.send_signal(signal.SIGKILL)
    await cairn.process.wait()


@without_model
@pytest.mark.parametrize("settings", [NO_MODEL, UNWATCHED], ids=["watched", "not watched"])
async def test_each_finds_what_was_saved_through_the_other(
    daemon: Start, workspace: Path, settings: dict[str, Any]
) -> None:
    async with daemon(workspace, options=settings) as one:
        await one.until(is_settled)
        async with daemon(workspace, options=settings) as other:
            await other.until(is_settled)
            for number, (editor, reader) in enumerate(((one, other), (other, one))):
                path = write_function(workspace / f"crew{number}.py", f"embark_pilot_{number}")
                editor.saved(path)
                await editor.found(f"embark_pilot_{number}", path.name)
                await reader.found(f"embark_pilot_{number}", path.name)
            path = write_function(workspace / "crew0.py", "disembark_navigator")
            other.saved(path)
            answer = await run_cairn_beside("search", "disembark_navigator", "-C", str(workspace))
            assert answer["results"][0]["path"] == "crew0.py"
            assert (await one.search("disembark_navigator"))["results"][0]["path"] == "crew0.py"


@pytest.mark.usefixtures("model_data_dir")
async def test_a_command_that_indexes_takes_in_what_an_editor_saves_meanwhile(
    daemon: Start, workspace: Path
) -> None:
    write_notes(workspace, 100)
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cairn", "index", str(workspace)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with daemon(workspace) as editor:
            await editor.until(lambda status: status["embedded"] > 0)
            path = write_function(workspace / "crew.py", "embark_pilot")
            editor.saved(path)
            await editor.found("embark_pilot", "crew.py")
            assert command.returncode is None  # it makes vectors still, and watches nothing
    finally:
        command.terminate()
        await command.wait()


async def test_when_the_writer_is_killed_another_goes_on_where_it_was(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    write_notes(workspace, 60)
    async with daemon(workspace, options=NO_MODEL) as writer:
        await writer.until(is_settled)
        async with daemon(workspace, options=NO_MODEL) as heir, daemon(workspace, options=NO_MODEL) as third:
            await heir.until(is_settled)
            await third.until(is_settled)
            await writer.request("cairn/reindex")
            await kill(writer)
            path = write_function(workspace / "crew.py", "embark_pilot")
            await heir.found("embark_pilot", "crew.py")
            await third.found("embark_pilot", "crew.py")
            await heir.until(is_settled)
            path.unlink()
            await third.found("embark_pilot", None)
    assert faults(bare_data_dir) == []
    assert not list(bare_data_dir.glob("workspaces/*/*damaged*"))
    assert contents(bare_data_dir) == fresh_contents(workspace, tmp_path / "fresh")


@without_model
async def test_killed_and_closed_editors_leave_no_process_behind(daemon: Start, workspace: Path) -> None:
    us = psutil.Process()
    before = {process.pid for process in us.children(recursive=True)}
    async with daemon(workspace, options=NO_MODEL) as one, daemon(workspace, options=NO_MODEL) as other:
        await one.until(is_settled)
        await other.until(is_settled)
        started = {process.pid for process in us.children(recursive=True)} - before
        assert {one.process.pid, other.process.pid} <= started
        await kill(one)
    assert not [pid for pid in started if psutil.pid_exists(pid)]


def is_to_be_written(status: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether what was asked for after `before` has not begun or not ended."""
    return bool(status["generation"] == before["generation"] or status["state"] == "indexing")


@without_model
async def test_queries_go_on_while_another_process_writes(daemon: Start, workspace: Path) -> None:
    write_notes(workspace, 500)
    async with daemon(workspace, options=NO_MODEL) as writer:
        await writer.until(is_settled)
        async with daemon(workspace, options=NO_MODEL) as reader:
            await reader.until(is_settled)
            before = await reader.request("cairn/status")
            await writer.request("cairn/reindex")
            meanwhile = 0
            async with asyncio.timeout(PATIENCE_SECONDS):
                while is_to_be_written(now := await reader.request("cairn/status"), before):
                    answer = await reader.search("moor_ship")
                    assert answer["results"][0]["path"] == "src/harbour/berths.py"
                    meanwhile += now["state"] == "indexing"
            # More than a hundred were counted; a search that waited for the writer would be the only one.
            assert meanwhile > 5
            assert (await reader.until(is_settled))["chunks"] == before["chunks"]


def write_notes(root: Path, count: int) -> None:
    """Documents of about 13 kB each, all different."""
    chance = random.Random(count)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(20_000)]
    for number in range(count):
        paragraphs = (" ".join(chance.choices(words, k=60)) for _ in range(25))
        (root / f"note{number}.md").write_text(f"# Note {number}\n\n" + "\n\n".join(paragraphs))
