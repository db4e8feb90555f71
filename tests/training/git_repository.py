"""A small repository as a clone of a public one."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SETTINGS = ("user.name=Ada", "user.email=ada@example.com", "commit.gpgsign=false", "core.autocrlf=false")


def commit(root: Path, subject: str, files: dict[str, str]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", subject]):
        subprocess.run(["git", *settings, *command], cwd=root, check=True, capture_output=True)
