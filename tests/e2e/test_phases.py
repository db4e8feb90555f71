"""The kill switch over the real daemon: a drill with a slow vector leg, and the phase set by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

from .daemon import Daemon, run_daemon

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

SWITCH = {"p95Ms": 800, "minQueries": 3, "windowSeconds": 60, "recoverySeconds": 2}
"""Settings whose limit is above the processor time of a search, and below that of a search of the drill."""
DRILL = """
import pathlib, sys, time
import cairn.__main__
from cairn.retrieval import meaning

def slowed(vectors):
    def slow(self, queries):
        if slow_while.exists():
            ends = time.thread_time() + 1.2
            while time.thread_time() < ends:
                pass
        return vectors(self, queries)
    return slow

meaning.Meaning.vectors = slowed(meaning.Meaning.vectors)
slow_while = pathlib.Path(sys.argv[1])
sys.argv = ["cairn", "lsp"]
cairn.__main__.main()
"""
"""`cairn lsp` whose vector leg takes 1.2 s more of processor time while the file of the argument exists."""


async def ask(cairn: Daemon, number: int) -> Any:
    """Search for a query of its own, which the cache cannot answer."""
    return (await cairn.search(f"where are ships moored, question {number}"))["retrieval"]


async def test_a_slow_vector_leg_drops_its_phase_which_later_returns(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.touch()
    monkeypatch.setattr("tests.e2e.daemon.COMMAND", (sys.executable, "-c", DRILL, str(slow)))
    async with run_daemon(workspace, options={"retrieval": {"killSwitch": SWITCH}}) as cairn:
        await cairn.ready()
        phases = [(await ask(cairn, number))["phase"] for number in range(4)]
        assert phases == [3, 3, 3, 2], "the switch acts after `minQueries`"
        state = (await cairn.status())["retrieval"]["state"]
        assert (state["phase"], state["wanted"]) == (2, 3)
        assert "95th percentile" in state["reason"]
        answered = await ask(cairn, 4)
        assert (answered["wanted"], answered["reason"]) == (3, state["reason"])

        slow.unlink()
        status = await cairn.wait_for(lambda status: status["retrieval"]["state"]["phase"] == 3)
        changes = [(c["before"], c["after"]) for c in status["retrieval"]["recent"]["phaseChanges"]]
        assert (3, 2) in changes
        assert [(await ask(cairn, number))["phase"] for number in range(10, 16)] == [3] * 6


async def test_a_phase_set_by_hand_counts_everywhere_and_after_a_restart(workspace: Path) -> None:
    async with run_daemon(workspace) as first:
        await first.ready()
        async with run_daemon(workspace) as second:
            await second.ready()
            assert (await ask(second, 0))["phase"] == 3
            state = await first.request("cairn/setPhase", {"phase": 1})
            assert (state["phase"], state["byHand"]) == (1, True)
            assert (await ask(second, 1))["phase"] == 1
            await second.request("cairn/setPhase", {"phase": 0})
            off = await first.search("where are ships moored, question 2")
            assert off["results"] == []
            assert "cairn phase auto" in off["verdict"]["message"]
    async with run_daemon(workspace) as third:
        assert (await ask(third, 3))["phase"] == 0
        await third.request("cairn/setPhase", {"phase": None})
        await third.ready()
        assert (await ask(third, 4))["phase"] == 3


async def test_an_unknown_phase_is_refused(workspace: Path) -> None:
    async with run_daemon(workspace) as cairn:
        with pytest.raises(JsonRpcInvalidParams, match="phase: expected 0 to 3, got 4"):
            await cairn.request("cairn/setPhase", {"phase": 4})
        assert not list(workspace.rglob("retrieval.json"))


async def test_product_defaults_answer_with_all_signals(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("CAIRN_") and "__" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("tests.e2e.daemon.PATIENT", {})
    async with run_daemon(workspace) as cairn:
        await cairn.ready()
        for number in range(25):
            assert await ask(cairn, number) == {"phase": 3, "wanted": 3, "fallback": "", "reason": ""}
        state = (await cairn.status())["retrieval"]["state"]
        assert (state["automatic"], state["queries"]) == (True, 25)
        assert 0 < state["p95Ms"] < 500
        found = await cairn.search("where are ships assigned to berths", explain=True)
        assert found["results"][0]["path"] == "src/harbour/schedule.py"
        assert "hybrid" in {result["source"] for result in found["results"]}
