"""The editor client matches the protocol: its types, methods and settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from protocol_types import TARGET, typescript

from cairn.lsp.jsonrpc import NOTIFICATION_SUFFIX
from cairn.lsp.language_server import build_server
from cairn.schema.convert import snake_case, unstructure
from cairn.settings.layers import overlay
from cairn.settings.tree import Settings

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "editor_client"
SETTINGS: dict[str, Any] = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["contributes"][
    "configuration"
]["properties"]
SERVER_SETTINGS = sorted(
    name.removeprefix("cairn.") for name in SETTINGS if name.split(".")[1] in attrs.fields_dict(Settings)
)


def test_types_match_the_protocol() -> None:
    assert TARGET.read_text(encoding="utf-8") == typescript(), "run scripts/protocol_types.py"


def test_server_answers_every_method_of_the_client() -> None:
    named = set(re.findall(r'"(cairn/\w+)"', (CLIENT / "src" / "api.ts").read_text(encoding="utf-8")))
    features = build_server().protocol.fm.features
    sent_by_the_server = {"cairn/statusChanged"}
    assert "cairn/search" in named
    assert {
        m for m in named if m not in features and f"{m}{NOTIFICATION_SUFFIX}" not in features
    } == sent_by_the_server


@pytest.mark.parametrize("name", SERVER_SETTINGS)
def test_editor_settings_have_the_servers_defaults(name: str) -> None:
    value: Any = Settings()
    for part in name.split("."):
        value = getattr(value, snake_case(part))
    assert SETTINGS[f"cairn.{name}"]["default"] == unstructure(value)


@pytest.mark.parametrize("name", SERVER_SETTINGS)
def test_server_accepts_the_editor_settings(name: str) -> None:
    tree: Any = SETTINGS[f"cairn.{name}"]["default"]
    for part in reversed(name.split(".")):
        tree = {part: tree}
    assert overlay(Settings(), tree, "") == (Settings(), [])
