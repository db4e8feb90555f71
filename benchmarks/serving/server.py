"""Runs a real `cairn serve` process on one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from attrs import frozen

_END_SECONDS = 120.0
"""A long limit for busy machines; afterwards the process is killed."""


@frozen
class Server:
    """The address of a server, and its process."""

    process: psutil.Popen
    url: str
    api: str
    mcp: str
    lsp_host: str
    lsp_port: int
    token: str

    @property
    def authorization(self) -> dict[str, str]:
        """Return the header that every request needs."""
        return {"Authorization": f"Bearer {self.token}"}


def environment_of(data: Path) -> dict[str, str]:
    """Return the variables of a process that uses the data folder, and no settings of the user."""
    return {**os.environ, "CAIRN_DATA_DIR": str(data), "CAIRN_CONFIG_DIR": str(data / "settings")}


@contextmanager
def serving(folder: Path, data: Path, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a server on free ports until the end of the block. `settings` are environment variables."""
    environment = {**environment_of(data), **(settings or {})}
    command = (
        sys.executable,
        "-m",
        "cairn",
        "serve",
        str(folder),
        "--json",
        "--port",
        "0",
        "--lsp-port",
        "0",
    )
    process = psutil.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        address: dict[str, Any] = json.loads(process.stdout.readline())
        token = Path(address["tokenFile"]).read_text(encoding="utf-8").strip()
        yield Server(
            process,
            address["url"],
            address["api"],
            address["mcp"],
            address["lspHost"],
            address["lspPort"],
            token,
        )
    finally:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()
