"""Measure agents on one workspace that share an engine: whether the engine's death fails an answer, and the
memory of an agent and an engine.

    .venv/bin/python benchmarks/agents/shared_engine.py FOLDER [--agents 10] [--minutes 10] [--data DIR]
      [--output FILE]

Each agent is a real `cairn mcp` process, driven by MCP's own client, which sends searches, discoveries and
reads without pause. Meanwhile the engine's process is killed (SIGKILL) at random, every 5 to 25 seconds. An
answer fails if it is an error, empty, or does not come within 60 seconds; the index is damaged if SQLite's
own check finds a fault at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import apsw
import psutil
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from cairn.attach.engine_records import read_record
from cairn.paths import workspace_dir

QUESTIONS = (
    "how are cookies signed", "where are routes registered", "what happens when a request fails",
    "parse the configuration", "error handler", "open a file and read it", "tests of the client",
    "default timeout", "how is a response made", "what is this project for",
)  # fmt: skip
ANSWER_SECONDS = 60.0
PAUSES = (5.0, 25.0)


class Agent:
    """One agent with its answers and failures."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.latencies: list[float] = []
        self.failures: list[str] = []

    async def run(self, deadline: float) -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "cairn", "mcp", str(self.folder)], env=dict(os.environ)
        )
        async with Client(server, mode="legacy") as client:
            while time.monotonic() < deadline:
                tool = self.random.choice(("search", "search", "discover", "status"))
                arguments = {} if tool.endswith("status") else {"query": self.random.choice(QUESTIONS)}
                began = time.monotonic()
                try:
                    async with asyncio.timeout(ANSWER_SECONDS):
                        result = await client.call_tool(tool, arguments)
                except Exception as problem:  # noqa: BLE001 - whatever it is, it is what is measured
                    self.failures.append(f"{tool}: {problem!r}")
                    continue
                self.latencies.append(time.monotonic() - began)
                text = "".join(getattr(block, "text", "") for block in getattr(result, "content", ()))
                if getattr(result, "is_error", True) or not text:
                    self.failures.append(f"{tool}: {text[:200]}")
                await asyncio.sleep(self.random.uniform(0.0, 1.0))


def engine(folder: Path) -> psutil.Process | None:
    record = read_record(folder)
    try:
        return psutil.Process(record.process_id) if record else None
    except psutil.Error:
        return None


async def kill_now_and_then(folder: Path, deadline: float, killed: list[int], seed: int) -> None:
    chance = random.Random(seed)
    while (left := deadline - time.monotonic()) > PAUSES[0]:
        await asyncio.sleep(min(chance.uniform(*PAUSES), left))
        if (process := engine(folder)) is not None:
            try:
                process.send_signal(signal.SIGKILL)
                killed.append(process.pid)
            except psutil.Error:
                continue


def relays() -> Iterator[psutil.Process]:
    for process in psutil.Process().children(recursive=True):
        try:
            if "mcp" in process.cmdline():
                yield process
        except psutil.Error:
            continue


async def sample(folder: Path, deadline: float, memory: list[dict[str, Any]]) -> None:
    while time.monotonic() < deadline - 1:
        await asyncio.sleep(5.0)
        running = [
            p
            for p in psutil.process_iter(["cmdline"])
            if "cairn.serve.background" in (p.info["cmdline"] or ())
        ]
        mine = [p for p in running if str(folder) in p.info["cmdline"]]
        try:
            memory.append(
                {
                    "engines": len(mine),
                    "engine_mb": [round(p.memory_info().rss / 1e6) for p in mine],
                    "agents_mb": [round(p.memory_info().rss / 1e6, 1) for p in relays()],
                    "agents_uss_mb": [round(p.memory_full_info().uss / 1e6, 1) for p in relays()],
                }
            )
        except psutil.Error:
            continue


async def measure(folder: Path, agents: int, minutes: float, kills: bool) -> dict[str, Any]:
    deadline = time.monotonic() + 60 * minutes
    every = [Agent(folder, number) for number in range(agents)]
    killed: list[int] = []
    memory: list[dict[str, Any]] = []
    disturbing = [kill_now_and_then(folder, deadline, killed, 7)] if kills else []
    await asyncio.gather(
        *(agent.run(deadline) for agent in every), *disturbing, sample(folder, deadline, memory)
    )
    latencies = sorted(latency for agent in every for latency in agent.latencies)
    failures = [failure for agent in every for failure in agent.failures]
    return {
        "agents": agents,
        "minutes": minutes,
        "answers": len(latencies),
        "failed": len(failures),
        "failures": failures[:10],
        "engines_killed": len(killed),
        "latency_s": {
            "p50": round(statistics.median(latencies), 3),
            "p95": round(latencies[int(0.95 * len(latencies))], 3),
            "max": round(latencies[-1], 3),
        },
        "engines_at_once": sorted({each["engines"] for each in memory}),
        "engine_mb": max((mb for each in memory for mb in each["engine_mb"]), default=None),
        "agent_rss_mb": max((mb for each in memory for mb in each["agents_mb"]), default=None),
        "agent_uss_mb": max((mb for each in memory for mb in each["agents_uss_mb"]), default=None),
    }


def damage(folder: Path) -> list[str]:
    """Return the faults that SQLite and FTS5 find in the index."""
    database = apsw.Connection(str(workspace_dir(folder) / "index.db"))
    found = [str(row[0]) for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [str(row) for row in database.execute("PRAGMA foreign_key_check")]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CAIRN_DATA_DIR"] = str((arguments.data or Path(scratch)).resolve())
        os.environ["CAIRN_CONFIG_DIR"] = scratch
        os.environ["CAIRN_AGENTS__IDLE_MINUTES"] = "0"
        folder = arguments.folder.resolve()
        figures = asyncio.run(measure(folder, arguments.agents, arguments.minutes, not arguments.no_kills))
        time.sleep(2)
        left = engine(folder)
        figures["engine_left_over"] = bool(
            left and left.is_running() and left.status() != psutil.STATUS_ZOMBIE
        )
        figures["damage"] = damage(folder)
    report = {"date": date.today().isoformat(), "folder": folder.name, "cores": os.cpu_count(), **figures}
    text = json.dumps(report, indent=2)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
