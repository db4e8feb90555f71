"""The kill switch over the real daemon: a drill with a slow vector leg, and the phase set by hand."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tests.conftest import STEADY

from .conftest import PATIENT, Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("model_data_dir")]

SWITCH = {"p95Ms": 1500, "minQueries": 3, "windowSeconds": 20, "recoverySeconds": 2, "busyShare": 1}
"""Far above what a search takes on a busy machine, and far below what one of the drill does; whatever else the machine does."""
DRILL = """
import pathlib, sys, time
import cairn.__main__
from cairn.retrieval import meaning

def slowed(vectors):
    def slow(self, queries):
        if slow_while.exists():
            time.sleep(2.5)
        return vectors(self, queries)
    return slow

meaning.StaticMeaning.vectors = slowed(meaning.StaticMeaning.vectors)
slow_while = pathlib.Path(sys.argv[1])
sys.argv = ["cairn", "lsp"]
cairn.__main__.main()
"""
"""`cairn lsp` whose leg of meaning takes so much longer while the file that it is given exists."""


@pytest.fixture(autouse=True)
def decides_by_itself(steady: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STEADY)


async def ask(running: Daemon, number: int) -> Any:
    """Another question each time: one that was asked before costs nothing."""
    return (await running.search(f"where are ships moored, question {number}"))["retrieval"]


async def test_a_slow_vector_leg_drops_its_phase_which_comes_back_by_itself(
    workspace: Path, daemon: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.touch()
    monkeypatch.setattr("tests.e2e.conftest.COMMAND", (sys.executable, "-c", DRILL, str(slow)))
    async with daemon(workspace, options={"retrieval": {"killSwitch": SWITCH}}) as running:
        await running.ready()
        phases = [(await ask(running, number))["phase"] for number in range(4)]
        assert phases == [3, 3, 3, 2], "after as many as the switch wants to see"
        state = (await running.request("cairn/status"))["retrieval"]["state"]
        assert (state["phase"], state["wanted"]) == (2, 3)
        assert "95th percentile" in state["reason"]
        answered = await ask(running, 4)
        assert (answered["wanted"], answered["reason"]) == (3, state["reason"])

        slow.unlink()
        status = await running.until(lambda status: status["retrieval"]["state"]["phase"] == 3)
        changes = [(c["before"], c["after"]) for c in status["retrieval"]["recent"]["phaseChanges"]]
        assert (3, 2) in changes
        # Else what the machine is busy with decides from here on.
        at_ease = {"retrieval": {"killSwitch": {**SWITCH, "p95Ms": 60_000}}, "search": PATIENT}
        running.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"cairn": at_ease})
        )
        again = [(await ask(running, number))["phase"] for number in range(10, 16)]
        assert again == [3] * 6


async def test_a_phase_set_by_hand_counts_at_once_in_every_process_and_after_a_restart(
    workspace: Path, daemon: Start
) -> None:
    async with daemon(workspace) as first:
        await first.ready()
        async with daemon(workspace) as second:
            await second.ready()
            assert (await ask(second, 0))["phase"] == 3
            told = await first.request("cairn/setPhase", {"phase": 1})
            assert (told["phase"], told["byHand"]) == (1, True)
            assert (await ask(second, 1))["phase"] == 1
            await second.request("cairn/setPhase", {"phase": 0})
            off = await first.search("where are ships moored, question 2")
            assert off["results"] == []
            assert "cairn phase auto" in off["verdict"]["message"]
    async with daemon(workspace) as third:
        assert (await ask(third, 3))["phase"] == 0
        await third.request("cairn/setPhase", {"phase": None})
        await third.ready()
        assert (await ask(third, 4))["phase"] == 3


async def test_a_phase_that_there_is_not_is_refused(workspace: Path, daemon: Start) -> None:
    async with daemon(workspace) as running:
        with pytest.raises(JsonRpcInvalidParams, match="phase: expected 0 to 3, got 4"):
            await running.request("cairn/setPhase", {"phase": 4})
        assert not await asyncio.to_thread(list, workspace.rglob("retrieval.json"))
