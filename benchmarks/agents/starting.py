"""Measure the time from the start of a process to its first answer: `cairn mcp` and `cairn search`, with and
without a running engine.

    .venv/bin/python benchmarks/agents/starting.py FOLDER [--runs 9] [--output FILE]

It also measures the memory of ten agents and an editor on one workspace: the editor is a real `cairn lsp`,
whose engine the agents share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import types as lsp
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from pytest_lsp import make_test_lsp_client

from cairn.attach.engine_records import EDITOR, read_record

CAIRN = str(Path(sys.executable).with_name("cairn"))
QUESTION = "how are errors handled"
_AGENTS = 10


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)


HELLO = lines(
    {
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list"},
    {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": QUESTION}}},
)


def first_answers(folder: Path) -> dict[str, float]:
    """Return the seconds from the start of `cairn mcp` to each of its answers."""
    began = time.perf_counter()
    process = subprocess.Popen([CAIRN, "mcp", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write(HELLO)
    process.stdin.flush()
    at = {}
    while "search" not in at:
        answer = json.loads(process.stdout.readline())
        at[{0: "initialize", 1: "tools/list", 2: "search"}[answer["id"]]] = time.perf_counter() - began
    process.stdin.close()
    process.wait()
    return at


def search(folder: Path) -> dict[str, float]:
    """Return the seconds that `cairn search` takes."""
    began = time.perf_counter()
    subprocess.run([CAIRN, "search", QUESTION, "-C", str(folder)], stdout=subprocess.DEVNULL, check=True)
    return {"search": time.perf_counter() - began}


def medians(runs: list[dict[str, float]]) -> dict[str, Any]:
    return {
        name: {
            "median_s": round(statistics.median(run[name] for run in runs), 3),
            "max_s": round(max(run[name] for run in runs), 3),
        }
        for name in runs[0]
    }


def engine_gone(folder: Path) -> None:
    while (record := read_record(folder)) is not None and psutil.pid_exists(record.process_id):
        time.sleep(0.05)


async def memory(folder: Path) -> dict[str, Any]:
    """Return the memory of ten agents and an editor, after queries of each."""
    editor = make_test_lsp_client()
    editor.feature("cairn/statusChanged")(lambda _: None)
    await editor.start_io(CAIRN, "lsp")
    roots = [lsp.WorkspaceFolder(folder.as_uri(), folder.name)]
    await editor.initialize_session(
        lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(), process_id=os.getpid(), workspace_folders=roots
        )
    )
    while (record := read_record(folder)) is None or record.kind != EDITOR:
        await asyncio.sleep(0.05)
    engine = psutil.Process(record.process_id)
    await editor.protocol.send_request_async("cairn/search", {"query": QUESTION})
    alone = engine.memory_info().rss
    async with AsyncExitStack() as stack:
        server = StdioServerParameters(command=CAIRN, args=["mcp", str(folder)], env=dict(os.environ))
        agents = [await stack.enter_async_context(Client(server, mode="legacy")) for _ in range(_AGENTS)]
        for agent in agents:
            for tool in ("search", "discover"):
                await agent.call_tool(tool, {"query": QUESTION})
        relays = [p for p in psutil.Process().children() if "mcp" in p.cmdline()]
        found = {
            "agents": len(relays),
            "editor_alone_mb": round(alone / 1e6, 1),
            "editor_with_agents_mb": round(engine.memory_info().rss / 1e6, 1),
            "agent_rss_mb": round(statistics.mean(p.memory_info().rss for p in relays) / 1e6, 1),
            "agent_uss_mb": round(statistics.mean(p.memory_full_info().uss for p in relays) / 1e6, 1),
            "engines": len({engine.pid, *(p.pid for p in psutil.process_iter() if _is_engine(p, folder))}),
        }
    await editor.shutdown_async(None)
    editor.exit(None)
    await editor.stop()
    return found


def _is_engine(process: psutil.Process, folder: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "cairn.serve.background" in command and str(folder) in command


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CAIRN_DATA_DIR"] = os.environ["CAIRN_CONFIG_DIR"] = scratch
        os.environ["CAIRN_AGENTS__IDLE_MINUTES"] = "0"
        subprocess.run([CAIRN, "index", str(folder)], check=True, stdout=subprocess.DEVNULL)
        report: dict[str, Any] = {
            "date": date.today().isoformat(),
            "folder": folder.name,
            "cores": os.cpu_count(),
            "python": sys.version.split()[0],
            "runs": arguments.runs,
        }
        cold = []
        for _ in range(arguments.runs):
            cold.append(first_answers(folder))
            engine_gone(folder)
        report["mcp_without_an_engine"] = medians(cold)
        report["search_without_an_engine"] = medians([search(folder) for _ in range(arguments.runs)])
        holder = subprocess.Popen(
            [CAIRN, "mcp", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        first_answers(folder)
        report["mcp_with_an_engine"] = medians([first_answers(folder) for _ in range(arguments.runs)])
        search(folder)
        report["search_with_an_engine"] = medians([search(folder) for _ in range(arguments.runs)])
        holder.terminate()
        holder.wait()
        engine_gone(folder)
        report["ten_agents_and_an_editor"] = asyncio.run(memory(folder))
    text = json.dumps(report, indent=2)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
