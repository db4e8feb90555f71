"""Cairn keeps the main promises of docs/privacy.md: no network, and no writes into the workspace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RECORDER = """
import os, sys

def _record(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if host not in (None, "", "127.0.0.1", "::1", "localhost"):
        with open(os.environ["CONNECTIONS"], "a", encoding="utf-8") as file:
            file.write(f"{sys.argv}: {event} {host}\\n")

sys.addaudithook(_record)
"""
"""Code for `sitecustomize`, which each Python process runs at its start, worker processes included."""
COMMANDS = (
    ("index",),
    ("discover", "how are berths assigned"),
    ("search", "moor a ship"),
    ("callers", "moor_ship"),
    ("doctor",),
)


def test_commands_use_no_network_and_leave_the_workspace_as_it_was(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, connections = tmp_path / "site", tmp_path / "connections"
    site.mkdir()
    (site / "sitecustomize.py").write_text(RECORDER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, [os.getenv("PYTHONPATH")])]))
    monkeypatch.setenv("CONNECTIONS", str(connections))
    before = _contents(workspace)
    for command in COMMANDS:
        subprocess.run(
            [sys.executable, "-m", "cairn", *command],
            cwd=workspace,
            check=True,
            timeout=120,
            capture_output=True,
        )
    assert not connections.exists(), connections.read_text(encoding="utf-8")
    assert _contents(workspace) == before


def test_recorder_notices_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(RECORDER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CONNECTIONS", str(tmp_path / "connections"))
    code = "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('192.0.2.1', 80))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert "192.0.2.1" in (tmp_path / "connections").read_text(encoding="utf-8")


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
