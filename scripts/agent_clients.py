"""Installs and drives the agents' clients that `scripts/test-agents` runs, pinned, from npm on first use.

They are in `.agents` of this checkout, or in the folder CAIRN_AGENT_CLIENTS, and take 1.3 GB.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import editor_tools
import environment

FOLDER = Path(os.environ.get("CAIRN_AGENT_CLIENTS") or environment.ROOT / ".agents")
_STAMP = FOLDER / "stamp"
"""Contains the fingerprint of the installation; written last, so that a broken set-up is repeated."""
_PROMPT = "Where is a ship moored?"
_NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
"""No server listens there, so any use of the network fails at once."""


@dataclass(frozen=True)
class Client:
    """A client: its settings for a model at an address, and the commands that show and use its servers."""

    name: str
    """The name in `cairn install`."""
    title: str
    package: str
    version: str
    settings: str
    """The settings file, in the home folder."""
    settings_text: Callable[[str, Path], str | None]
    """The initial settings, for the model's URL and the project's folder."""
    run: tuple[str, ...]
    """The command that asks the model once and ends."""
    connected: re.Pattern[str]
    """The text that its list of servers shows for a working one."""
    variables: Callable[[str], dict[str, str]] = field(default=lambda _: {})
    """The environment that leads to the model's URL and not to the network."""
    keeps_settings: bool = True
    """Whether only the user writes its settings file."""
    in_project: re.Pattern[str] = field(default=re.compile("cairn"))
    """The text that its list shows for a server of the project."""

    @property
    def list(self) -> tuple[str, ...]:
        """The command that shows its servers."""
        return (self.name, "mcp", "list")


def _codex_settings(url: str, project: Path) -> str:
    return f'''# The model is a script.
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[analytics]
enabled = false

[projects."{project}"] # trusted
trust_level = "trusted"
'''


def _gemini_settings(_url: str, _project: Path) -> str:
    return """{
  // The model is a script.
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false }
}
"""


def _opencode_settings(url: str, _project: Path) -> str:
    model = {"name": "scripted", "tool_call": True}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": options,
        "models": {"scripted": model},
    }
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    return json.dumps(settings, indent=4)


def _claude_variables(url: str) -> dict[str, str]:
    off = dict.fromkeys(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"), "1")
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **off}


def _gemini_variables(url: str) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _opencode_variables(_url: str) -> dict[str, str]:
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in off}


CLIENTS = {
    client.name: client
    for client in (
        Client(
            name="claude",
            title="Claude Code",
            package="@anthropic-ai/claude-code",
            version="2.1.332",
            settings=".claude.json",
            settings_text=lambda *_: None,
            run=("claude", "-p", _PROMPT, "--allowedTools", "mcp__cairn"),
            connected=re.compile(r"cairn: cairn mcp - ✔ Connected"),
            variables=_claude_variables,
            keeps_settings=False,
            in_project=re.compile(r"cairn: cairn mcp - ⏸ Pending approval"),
        ),
        Client(
            name="codex",
            title="Codex CLI",
            package="@openai/codex",
            version="0.169.0",
            settings=".codex/config.toml",
            settings_text=_codex_settings,
            run=(
                "codex",
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                _PROMPT,
            ),
            connected=re.compile(r"cairn +cairn +mcp .*enabled"),
            variables=lambda _: {"SCRIPTED_KEY": "none"},
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            package="@google/gemini-cli",
            version="0.61.0",
            settings=".gemini/settings.json",
            settings_text=_gemini_settings,
            run=("gemini", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", _PROMPT),
            connected=re.compile(r"✓ cairn: cairn mcp \(stdio\) - Connected"),
            variables=_gemini_variables,
        ),
        Client(
            name="opencode",
            title="opencode",
            package="opencode-ai",
            version="1.18.33",
            settings=".config/opencode/opencode.json",
            settings_text=_opencode_settings,
            run=("opencode", "run", _PROMPT),
            connected=re.compile(r"✓ cairn \S*connected"),
            variables=_opencode_variables,
        ),
    )
}


def prepare() -> None:
    """Install the clients unless they exist and are current. Exits with a message on failure."""
    if os.name == "nt":
        sys.exit("The clients' tests run on Linux and macOS.")
    editor_tools.prepare_node()
    wanted = "".join(f"{client.package}@{client.version}\n" for client in CLIENTS.values())
    if _STAMP.exists() and _STAMP.read_text() == wanted:
        return
    print(f"Setting up {FOLDER} (once, 1.3 GB) …", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "package.json").write_text('{"name": "agents", "private": true}\n')
    install = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *wanted.split())
    try:
        subprocess.run(install, cwd=FOLDER, env=editor_tools.environment(), check=True)
    except (subprocess.CalledProcessError, OSError) as problem:
        sys.exit(f"Setting up failed: {problem}. Check the network, then run the command again.")
    _STAMP.write_text(wanted)


def variables(client: Client, home: Path, data: Path, url: str) -> dict[str, str]:
    """Return an environment with an empty home, Cairn, a model at `url`, and no network."""
    node = editor_tools.environment()["PATH"].split(os.pathsep)[0]
    path = [
        str(environment.tool("cairn").parent),
        str(FOLDER / "node_modules" / ".bin"),
        node,
        "/usr/bin",
        "/bin",
    ]
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join(path),
        "CAIRN_DATA_DIR": str(data),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        **_NO_NETWORK,
        **client.variables(url),
    }
