"""Where Cairn keeps its data and its settings. Nothing is ever written into the user's workspace."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path


def data_dir() -> Path:
    """The folder for indexes, models and grammars: `CAIRN_DATA_DIR`, or the platform's user cache folder."""
    if override := os.environ.get("CAIRN_DATA_DIR"):
        return Path(override)
    import platformdirs  # Commands that ask a running engine have no time to spare.

    return Path(platformdirs.user_cache_dir("cairn"))


def config_dir() -> Path:
    """The folder of the user's own settings: `CAIRN_CONFIG_DIR`, or the platform's folder for settings."""
    if override := os.environ.get("CAIRN_CONFIG_DIR"):
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_config_dir("cairn"))


def workspace_dir(folder: Path) -> Path:
    """The data folder of one workspace folder, named by its base name and a hash of its real path."""
    real = folder.resolve()
    digest = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name)[:40] or "root"
    return data_dir() / "workspaces" / f"{readable}-{digest}"
