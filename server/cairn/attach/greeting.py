"""What an agent's client asks first, answered before there is an engine.

Importing MCP's SDK alone takes half a second, and an engine may have to be started. Some clients leave a server out of the first turn
that has not listed its tools within a second. The answers depend on nothing but the version of Cairn, so they stand in a file that
`scripts/agent_greeting.py` writes, and a test compares them with those of the server proper.
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
"""What of the section `agents` changes the list of tools."""


class Greeting(NamedTuple):
    """The answers."""

    versions: list[str]
    """The revisions of the protocol that begin with `initialize`, the latest last."""
    initialize: dict[str, Any]
    """The result of `initialize`, without `protocolVersion`."""
    tools: dict[str, Any]
    """The result of `tools/list`."""

    def initialized(self, params: Any) -> dict[str, Any]:
        """The result of `initialize` with these params, in the client's revision where the server has it."""
        wanted = params.get("protocolVersion") if isinstance(params, dict) else None
        return {
            **self.initialize,
            "protocolVersion": wanted if wanted in self.versions else self.versions[-1],
        }


def greeting() -> Greeting | None:
    """The answers, for a client that is shown the usual tools; None where the user's settings may want others."""
    if any(
        name.upper().startswith("CAIRN_AGENTS__") and not name.upper().endswith("IDLE_MINUTES")
        for name in os.environ
    ):
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
