"""Data folders of tests, which share expensive caches with the developer's data folder."""

from __future__ import annotations

from pathlib import Path

from cairn.paths import data_dir

_QUICK_STARTS = ("grammars", "bytecode")
"""Caches of a data folder that make starts faster: 0.57 s of CPU on the test project instead of 0.90."""


def create_data_dir(folder: Path) -> Path:
    """Create a data folder at `folder` that links the caches of the current one."""
    real = data_dir()
    folder.mkdir(parents=True)
    for name in _QUICK_STARTS:
        (real / name).mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(real / name, target_is_directory=True)
    return folder
