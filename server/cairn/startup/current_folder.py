"""Leaves the folder in which a server was started: Windows cannot remove a process's current folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_FOLDERS = ("CAIRN_DATA_DIR", "CAIRN_CONFIG_DIR")


def leave_current_folder() -> None:
    """Make the root folder the current one, also for processes that this one starts.

    The variables that name Cairn's folders become absolute first.
    """
    for name in _FOLDERS:
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).absolute())
    os.chdir(Path(sys.prefix).anchor)
