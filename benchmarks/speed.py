#!/usr/bin/env python3
"""Measure how fast the real daemon indexes and answers, driven over LSP like an editor drives it.

    python benchmarks/speed.py FOLDER [--runs 3] [--output results.json]

It prints the medians of several runs, each with a fresh index: milliseconds from the start of the process to
the answer of `initialize`, to the first keyword answer, to all files indexed and to `ready`; files and chunks
per second from the moment indexing began (searches continue meanwhile), vectors per second after that; then
search p50 and p95 in ms, measured at the client with everything warm.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

from cairn import __version__
from cairn.paths import data_dir

QUERIES = (
    "how does routing work", "where are errors handled", "parse configuration file", "open a connection",
    "encode response body as json", "session cookie", "register a callback", "timeout", "close the client",
    "test client", "url parsing", "stream upload", "authentication header", "decode content", "logging",
)  # fmt: skip
ROUNDS = 10
POLL_SECONDS = 0.02
SELDOM_SECONDS = 0.5
"""While vectors are made, more frequent requests would slow the measured work."""


async def measure(folder: Path) -> dict[str, Any]:
    """Return all figures for `folder`, with a fresh index."""
    client = BaseLanguageClient("benchmark", __version__)
    client.feature("cairn/statusChanged")(lambda params: None)
    started = time.perf_counter()
    await client.start_io(sys.executable, "-m", "cairn", "lsp")

    async def ask(method: str, params: dict[str, Any]) -> Any:
        return await client.protocol.send_request_async(method, params)

    def since_start() -> float:
        return round((time.perf_counter() - started) * 1000, 1)

    await client.initialize_async(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(),
            process_id=os.getpid(),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
        )
    )
    figures: dict[str, Any] = {"initialize_ms": since_start()}
    client.initialized(types.InitializedParams())
    began = None
    while (status := await ask("cairn/status", {})).state != "ready":
        if began is None and status.state != "starting":
            began = since_start()
        if (
            "first_keyword_answer_ms" not in figures
            and (await ask("cairn/search", {"query": QUERIES[0]})).results
        ):
            figures["first_keyword_answer_ms"] = since_start()
        if "all_files_indexed_ms" not in figures and 0 < status.files.total == status.files.indexed:
            figures["all_files_indexed_ms"] = since_start()
        await asyncio.sleep(POLL_SECONDS if "all_files_indexed_ms" not in figures else SELDOM_SECONDS)
    figures["ready_ms"] = since_start()
    figures |= {"files": status.files.indexed, "chunks": status.chunks}
    reading = (figures["all_files_indexed_ms"] - (began or 0)) / 1000
    embedding = (figures["ready_ms"] - figures["all_files_indexed_ms"]) / 1000
    figures["files_per_s"] = round(status.files.indexed / reading, 1)
    figures["chunks_per_s"] = round(status.chunks / reading, 1)
    figures["vectors_per_s"] = round(status.embedded / embedding, 1)
    durations = []
    for _ in range(ROUNDS):
        for query in QUERIES:
            began = time.perf_counter()
            await ask("cairn/search", {"query": query})
            durations.append((time.perf_counter() - began) * 1000)
    durations.sort()
    for share in (50, 95):
        figures[f"search_p{share}_ms"] = round(durations[math.ceil(share / 100 * len(durations)) - 1], 1)
    figures["rss_mib"] = round((await ask("cairn/status", {})).memory / 2**20)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path, help="also write the figures here, with their conditions")
    options = parser.parse_args()
    folder = options.folder.resolve()
    runs = [run(folder) for _ in range(options.runs)]
    figures = {name: statistics.median(figures[name] for figures in runs) for name in runs[0]}
    for name, value in figures.items():
        print(f"{name:<26} {value:g}")
    if options.output:
        conditions = {
            "corpus": folder.name,
            "runs": options.runs,
            "date": datetime.date.today().isoformat(),
            "cairn": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        }
        options.output.write_text(json.dumps({"conditions": conditions, "figures": figures}, indent=2) + "\n")


def run(folder: Path) -> dict[str, Any]:
    """Run once with a temporary data folder."""
    real = data_dir()
    with tempfile.TemporaryDirectory() as fresh:
        os.environ["CAIRN_DATA_DIR"] = fresh
        # The model and the grammars are unpacked once for each machine, not for each workspace.
        for shared in ("models", "grammars"):
            (real / shared).mkdir(parents=True, exist_ok=True)
            (Path(fresh) / shared).symlink_to(real / shared, target_is_directory=True)
        try:
            return asyncio.run(measure(folder))
        finally:
            os.environ["CAIRN_DATA_DIR"] = str(real)


if __name__ == "__main__":
    main()
