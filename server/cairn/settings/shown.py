"""The settings as somebody sees them: each with its value and where that is from, and the schema of all of them."""

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
    """One setting and where its value is from."""

    key: str
    """As in TOML: `search.leg_deadline_ms`."""
    value: Any
    """As JSON."""
    origins: tuple[str, ...]
    """`default` or the place; of lists that add up, all places, weakest first."""


@frozen
class Shown:
    """What `cairn config show` says."""

    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]


def shown(laid: Layered, *, everything: bool) -> Shown:
    """The settings that differ from the defaults, or all of them, in the order of the tree."""
    defaults = leaves(Settings())
    settings = [
        Setting(".".join(keys), unstructure(value), laid.origins.get(keys, ("default",)))
        for keys, value in leaves(laid.settings).items()
        if everything or value != defaults[keys]
    ]
    return Shown(tuple(settings), tuple(laid.texts()))


def settings_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a settings file, in snake_case."""
    definitions: dict[str, Any] = {}
    root = Describer(definitions, naming="snake", bounds=limits_of).object(Settings)
    root["properties"] = {SCHEMA_KEY: {"type": "string"}, **root["properties"]}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "Cairn",
        **root,
        "description": "Settings of Cairn: config.toml and .cairn.toml.",
        "$defs": definitions,
    }


def as_toml(value: Any) -> str:
    """JSON-like data as it is written in TOML."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_string(key)} = {as_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    """With the escapes of JSON, which are TOML's; DEL, which JSON leaves as it is, must not reach a terminal either."""
    return json.dumps(text, ensure_ascii=not text.isprintable()).replace("\x7f", "\\u007f")
