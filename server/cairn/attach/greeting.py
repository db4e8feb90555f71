"""Answers to the first requests of an agent's client, sent before an engine runs.

Importing MCP's SDK alone takes half a second, and the engine may not run yet. Some clients ignore a server in
the first turn if it does not list its tools within a second. The answers depend only on the version of Cairn.
`scripts/agent_greeting.py` writes them to a file, and a test compares that with the MCP server's answers.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from cairn.paths import config_dir

FILE = Path(__file__).with_name("greeting.json")
_SETTINGS = ("tools", "structured")
"""The settings of the section `agents` that change the list of tools."""


class Greeting(NamedTuple):
    """The results of `initialize` and `tools/list`."""

    versions: list[str]
    """The supported protocol revisions that begin with `initialize`, the latest last."""
    initialize: dict[str, Any]
    """The result of `initialize`, without `protocolVersion`."""
    tools: dict[str, Any]

    def initialized(self, params: Any) -> dict[str, Any]:
        """Return the result of `initialize` in the client's revision if supported, else in the latest."""
        wanted = params.get("protocolVersion") if isinstance(params, dict) else None
        version = wanted if wanted in self.versions else self.versions[-1]
        return {**self.initialize, "protocolVersion": version}


def greeting() -> Greeting | None:
    """Return the answers for the default list of tools; None if the user's settings may change it."""
    variables = (name.upper() for name in os.environ)
    if any(name.startswith("CAIRN_AGENTS__") and not name.endswith("IDLE_MINUTES") for name in variables):
        return None
    try:
        with (config_dir() / "config.toml").open("rb") as file:
            section = tomllib.load(file).get("agents", {})
    except FileNotFoundError:
        section = {}
    except (OSError, ValueError):
        return None
    if not isinstance(section, dict) or any(name in section for name in _SETTINGS):
        return None
    return Greeting(**json.loads(FILE.read_bytes()))
