"""The editor client speaks the protocol as it is: its types, its methods and the defaults of its settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from protocol_types import TARGET, typescript

from cairn.lsp.server import build_server
from cairn.lsp.wire import TOLD
from cairn.schema.convert import snake_case, unstructure
from cairn.settings.layers import overlay
from cairn.settings.tree import Settings

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "editor_client"
SETTINGS: dict[str, Any] = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["contributes"][
    "configuration"
]["properties"]
OF_THE_SERVER = sorted(
    name.removeprefix("cairn.") for name in SETTINGS if name.split(".")[1] in attrs.fields_dict(Settings)
)


def test_types_match_the_protocol() -> None:
    assert TARGET.read_text(encoding="utf-8") == typescript(), "run scripts/protocol_types.py"


def test_every_method_that_the_client_names_is_answered() -> None:
    named = set(re.findall(r'"(cairn/\w+)"', (CLIENT / "src" / "api.ts").read_text(encoding="utf-8")))
    features = build_server().protocol.fm.features
    sent_by_the_server = {"cairn/statusChanged"}
    assert "cairn/search" in named
    assert {m for m in named if m not in features and f"{m}{TOLD}" not in features} == sent_by_the_server


@pytest.mark.parametrize("name", OF_THE_SERVER)
def test_settings_in_the_editor_have_the_servers_names_and_defaults(name: str) -> None:
    value: Any = Settings()
    for part in name.split("."):
        value = getattr(value, snake_case(part))
    assert SETTINGS[f"cairn.{name}"]["default"] == unstructure(value)


@pytest.mark.parametrize("name", OF_THE_SERVER)
def test_the_server_takes_the_settings_of_the_editor(name: str) -> None:
    tree: Any = SETTINGS[f"cairn.{name}"]["default"]
    for part in reversed(name.split(".")):
        tree = {part: tree}
    assert overlay(Settings(), tree, "") == (Settings(), [])
