"""The folders of Cairn's data and settings. Cairn never writes into the user's workspace."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path


def data_dir() -> Path:
    """Return the folder of indexes and models: `CAIRN_DATA_DIR`, or the platform's user cache folder."""
    if override := os.environ.get("CAIRN_DATA_DIR"):
        return Path(override)
    import platformdirs  # Commands that ask a running engine must start fast.

    return Path(platformdirs.user_cache_dir("cairn"))


def config_dir() -> Path:
    """Return the folder of the user's settings: `CAIRN_CONFIG_DIR`, or the platform's settings folder."""
    if override := os.environ.get("CAIRN_CONFIG_DIR"):
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_config_dir("cairn"))


def workspace_dir(folder: Path) -> Path:
    """Return the data folder of a workspace folder, named by its base name and a hash of its real path."""
    real = folder.resolve()
    digest = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name)[:40] or "root"
    return data_dir() / "workspaces" / f"{readable}-{digest}"
