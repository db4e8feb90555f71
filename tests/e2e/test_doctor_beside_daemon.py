"""`cairn doctor` while an editor has the folder open."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from cairn.index.store.lock import holder
from cairn.paths import workspace_dir

from .conftest import PATIENCE_SECONDS, Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]


async def examine(folder: Path) -> dict[str, Any]:
    """The checks of `cairn doctor`, by name; none is a problem."""
    doctor = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cairn", "doctor", "-C", str(folder), "--json", stdout=asyncio.subprocess.PIPE
    )
    stdout, _ = await asyncio.wait_for(doctor.communicate(), PATIENCE_SECONDS)
    answer = json.loads(stdout)
    assert (doctor.returncode, answer["problems"]) == (0, 0), answer
    return {check["name"]: check for check in answer["checks"]}


async def test_the_daemon_is_named_as_the_writer_and_goes_on(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        before = await cairn.ready()
        checks = await examine(workspace)
        assert checks["writer"]["message"].startswith(f"cairn lsp, process {cairn.process.pid}, ")
        assert checks["index"]["message"].endswith("complete")
        assert (await cairn.request("cairn/status"))["generation"] == before["generation"]
        path = workspace / "src" / "harbour" / "pilots.py"
        path.write_text("def embark_pilot():\n    return 1\n")
        cairn.saved(path)
        await cairn.found("embark_pilot", "src/harbour/pilots.py")
    assert holder(workspace_dir(workspace)) is None
    assert (await examine(workspace))["writer"]["level"] == "note"


async def test_an_index_that_is_being_written_is_in_step_at_every_moment(
    daemon: Start, workspace: Path
) -> None:
    for part in range(150):
        words = " ".join(f"word{part * 40 + number}" for number in range(40))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    async with daemon(workspace) as cairn:
        looks, deadline = 0, time.monotonic() + PATIENCE_SECONDS
        while (await cairn.request("cairn/status"))["state"] != "ready" or not looks:
            await examine(workspace)
            looks += 1
            assert time.monotonic() < deadline, "the index was not made"
