"""Examples in the documents work: command lines, settings, REST requests and generated pages."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import reference_docs
from tests.serving import serving, wait_for

from cairn.commands import cli
from cairn.settings.layers import overlay
from cairn.settings.tree import Settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "editor_client" / "README.md"]
BLOCK = re.compile(r"^ *```(console|toml)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
RUN = ("search", "discover", "callers", "config", "doctor")
"""Commands whose examples are run. The examples of other commands are only parsed, because these commands
start servers, install programs or need a team's store."""


def _blocks(language: str) -> list[str]:
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    return [block for text in texts for found, block in BLOCK.findall(text) if found == language]


def _command_lines() -> list[str]:
    lines = "\n".join(_blocks("console")).replace("\\\n", " ").splitlines()
    typed = [line.strip().removeprefix("$ ") for line in lines if line.strip().startswith("$ ")]
    commands = [part.partition("  #")[0].strip(" &") for line in typed for part in line.split(" && ")]
    return sorted({command for command in commands if command.startswith("cairn ")})


def test_documents_have_examples() -> None:
    assert len(_command_lines()) > 15


@pytest.mark.parametrize("line", _command_lines())
def test_command_line_parses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: click.Command = cli
    arguments = shlex.split(line)[1:]
    context = click.Context(cli, info_name="cairn")
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, name
        command = found
        context = click.Context(command, parent=context, info_name=name)
    paths = [parameter for parameter in command.params if isinstance(parameter.type, click.Path)]
    for parameter in paths:  # The example's folders are not on this machine.
        monkeypatch.setattr(parameter, "type", click.STRING)
    command.parse_args(context, arguments)


@pytest.mark.parametrize("line", [line for line in _command_lines() if line.split()[1] in RUN])
def test_command_line_runs(line: str, workspace: Path, bare_data_dir: Path) -> None:
    arguments = [argument.replace("~/harbour", ".") for argument in shlex.split(line)[1:]]
    command = [sys.executable, "-m", "cairn", *arguments]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.parametrize("block", [block for block in _blocks("toml") if "mcp_servers" not in block])
def test_settings_example_is_valid(block: str) -> None:
    assert overlay(Settings(), tomllib.loads(block), "example")[1] == []


def test_rest_example_finds_the_place(workspace: Path, bare_data_dir: Path) -> None:
    typed = " ".join(line for block in _blocks("console") for line in block.splitlines())
    examples = re.findall(r"curl [^$]*/api/v1/(\w+) .*?-d '([^']*)'", typed)
    assert examples
    with serving(str(workspace)) as served:
        wait_for(lambda: served.call("status", {})["state"] == "ready")
        for method, params in examples:
            (first, *_) = served.call(method, json.loads(params))["results"]
            assert first["path"] == "src/harbour/berths.py"


@pytest.mark.parametrize("page", ["settings", "protocol"])
def test_generated_page_is_up_to_date(page: str) -> None:
    written = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert written == getattr(reference_docs, f"{page}_page")(), "run scripts/reference_docs.py"
