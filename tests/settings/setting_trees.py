"""Helpers for tests of settings: fields by path, and the type of a fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from cairn.settings.layers import Layers
from cairn.settings.tree import Settings

Write = Callable[..., Layers]
"""The fixture `write`: writes the user's and the workspace's file, and returns all layers."""


def attributes(cls: Any = Settings, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the attrs field of each setting by its path."""
    found: dict[tuple[str, ...], Any] = {}
    for name, attribute in attrs.fields_dict(cls).items():
        default = getattr(cls(), name)
        inside = attributes(type(default), (*above, name)) if attrs.has(type(default)) else None
        found |= {(*above, name): attribute} if inside is None else inside
    return found


def nested(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value
