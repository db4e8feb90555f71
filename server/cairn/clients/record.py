"""What Cairn made around an entry, kept in its data folder: what was empty or missing before is so again afterwards.

Without this record an entry is taken away all the same; an empty object or file may stay behind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from cairn.clients import files
from cairn.clients.editing import UnreadableSettingsError
from cairn.paths import data_dir


@frozen
class Made:
    """What was empty or missing in a file before Cairn wrote there."""

    hollows: dict[str, str | None] = field(factory=dict)
    """As `Editor.hollows` has them."""
    folder: bool = False
    """Whether the file's folder was made, too."""


def recall(path: Path) -> Made:
    """What was made for a file; nothing where that is not known."""
    found = _all().get(_key(path))
    return Made(**found) if isinstance(found, dict) else Made()


def remember(path: Path, made: Made) -> None:
    """Keep what was made for a file. Raises OSError."""
    _keep({**_all(), _key(path): asdict(made)})


def forget(path: Path) -> None:
    """Drop what was made for a file. Raises OSError."""
    known = _all()
    if known.pop(_key(path), None) is not None:
        _keep(known)


def _file() -> Path:
    return data_dir() / "clients.json"


def _key(path: Path) -> str:
    return str(path.resolve())


def _all() -> dict[str, Any]:
    try:
        known = json.loads(files.read(_file()) or "{}")
    except (OSError, ValueError, UnreadableSettingsError):
        return {}
    return known if isinstance(known, dict) else {}


def _keep(known: dict[str, Any]) -> None:
    files.write(_file(), json.dumps(known, indent=2) + "\n")
