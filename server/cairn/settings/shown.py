"""The settings for display: each with its value and origin, and the JSON schema of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from cairn.schema.convert import unstructure
from cairn.schema.json_schema import SCHEMA_DIALECT, Describer
from cairn.settings.layers import Layered
from cairn.settings.marks import limits_of
from cairn.settings.sources import SCHEMA_KEY
from cairn.settings.tree import Settings, leaves


@frozen
class Setting:
    """One setting with its value and origin."""

    key: str
    """The key as in TOML: `search.leg_deadline_ms`."""
    value: Any
    """The value as JSON data."""
    origins: tuple[str, ...]
    """`default`, or the layers that set the value, lowest priority first."""


@frozen
class Shown:
    """The output of `cairn config show`."""

    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]


def shown(laid: Layered, *, everything: bool) -> Shown:
    """Return the settings that differ from the defaults, or all, in the order of the tree."""
    defaults = leaves(Settings())
    settings = [
        Setting(".".join(keys), unstructure(value), laid.origins.get(keys, ("default",)))
        for keys, value in leaves(laid.settings).items()
        if everything or value != defaults[keys]
    ]
    return Shown(tuple(settings), tuple(laid.texts()))


def settings_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a settings file, in snake_case."""
    definitions: dict[str, Any] = {}
    root = Describer(definitions, key_style="snake", bounds=limits_of).object(Settings)
    root["properties"] = {SCHEMA_KEY: {"type": "string"}, **root["properties"]}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "Cairn",
        **root,
        "description": "Settings of Cairn: config.toml and .cairn.toml.",
        "$defs": definitions,
    }


def as_toml(value: Any) -> str:
    """Return JSON data as a TOML value."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_string(key)} = {as_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    # TOML has the escapes of JSON. DEL, which JSON does not escape, must not reach a terminal either.
    return json.dumps(text, ensure_ascii=not text.isprintable()).replace("\x7f", "\\u007f")
