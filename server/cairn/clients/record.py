"""A record in Cairn's data folder of what was empty or missing around an entry, to restore it on removal.

Without this record an entry can be removed as well, but an empty object or file may remain.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from cairn.clients import files
from cairn.clients.editing import UnreadableSettingsError
from cairn.paths import data_dir, write_private


@frozen
class Made:
    """What was empty or missing in a file before Cairn wrote to it."""

    hollows: dict[str, str | None] = field(factory=dict)
    """The result of `Editor.hollows`."""
    folder: bool = False
    """Whether Cairn also created the file's folder."""


def recall(path: Path) -> Made:
    found = _all().get(_key(path))
    return Made(**found) if isinstance(found, dict) else Made()


def remember(path: Path, made: Made) -> None:
    _keep({**_all(), _key(path): asdict(made)})


def forget(path: Path) -> None:
    known = _all()
    if known.pop(_key(path), None) is not None:
        _keep(known)


def _file() -> Path:
    return data_dir() / "clients.json"


def _key(path: Path) -> str:
    return str(files.real_path(path, None))


def _all() -> dict[str, Any]:
    try:
        known = json.loads(files.read(_file()) or "{}")
    except (OSError, ValueError, UnreadableSettingsError):
        return {}
    return known if isinstance(known, dict) else {}


def _keep(known: dict[str, Any]) -> None:
    write_private(_file(), json.dumps(known, indent=2) + "\n")
