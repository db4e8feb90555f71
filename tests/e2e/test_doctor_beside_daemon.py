"""`cairn doctor` while an editor has the folder open."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from cairn.index.store.coordination import holder
from cairn.paths import workspace_dir
from tests.serving import PATIENCE_SECONDS

from .command_line import run_cairn_beside
from .daemon import run_daemon
from .written_files import write_wordy_notes

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]


async def examine(folder: Path) -> dict[str, Any]:
    """Return the checks of `cairn doctor` by name, of which none is a problem."""
    answer = json.loads((await run_cairn_beside("doctor", "-C", str(folder), "--json")).stdout)
    assert answer["problems"] == 0, answer
    return {check["name"]: check for check in answer["checks"]}


async def test_doctor_names_the_daemon_as_the_writer(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        before = await cairn.ready()
        checks = await examine(workspace)
        assert checks["writer"]["message"].startswith(f"cairn lsp, process {cairn.process.pid}, ")
        assert checks["state"]["message"].startswith("The index is complete: 6 files")
        assert (await cairn.status())["generation"] == before["generation"]
        cairn.save(workspace / "src/harbour/pilots.py", "def embark_pilot():\n    return 1\n")
        await cairn.found("embark_pilot", "src/harbour/pilots.py")
    assert holder(workspace_dir(workspace)) is None
    assert (await examine(workspace))["writer"]["level"] == "note"


async def test_doctor_finds_no_fault_in_an_index_that_is_being_written(workspace: Path) -> None:
    write_wordy_notes(workspace, 150)
    async with run_daemon(workspace) as cairn:
        looks, deadline = 0, time.monotonic() + PATIENCE_SECONDS
        while (await cairn.status())["state"] != "ready" or not looks:
            await examine(workspace)
            looks += 1
            assert time.monotonic() < deadline, "the index was not made"
