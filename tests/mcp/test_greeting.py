"""The relay's answers without an engine equal those of the MCP server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from cairn.agents.tools import DEFAULT
from cairn.attach.greeting import FILE, greeting

ROOT = Path(__file__).resolve().parents[2]


def test_file_is_what_the_script_writes() -> None:
    script = "import agent_greeting; print(agent_greeting.text(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    )
    assert done.stdout == FILE.read_text(encoding="utf-8"), "run scripts/agent_greeting.py"


def results(folder: Path, version: str, *options: str) -> list[Any]:
    """Return the results of `initialize` and `tools/list`."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = (
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
    )
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages)
    command = [sys.executable, "-m", "cairn", "mcp", str(folder), *options]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line)["result"] for line in done.stdout.splitlines()]


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("version", ["2024-11-05", "1999-01-01"])
def test_answers_are_equal_with_and_without_an_engine(workspace: Path, version: str) -> None:
    assert results(workspace, version) == results(workspace, version, "--tools", ",".join(DEFAULT))


@pytest.mark.parametrize(
    ("settings", "variables", "is_known"),
    [
        ("", {}, True),
        ("[search]\ncandidates = 7\n", {}, True),
        ("[agents]\nidle_minutes = 1\n", {}, True),
        ("[agents]\ntools = ['all']\n", {}, False),
        ("[agents]\nstructured = true\n", {}, False),
        ("[agents\n", {}, False),
        ("", {"CAIRN_AGENTS__TOOLS": "all"}, False),
    ],
)
def test_settings_of_tools_prevent_early_answers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    variables: dict[str, str],
    is_known: bool,
) -> None:
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text(settings)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (greeting() is not None) == is_known
