"""Loads the modules and templates of the first answer during the sign-in, which saves half a second."""

from __future__ import annotations

import functools
import importlib
import threading

from cairn.engine.methods import METHODS
from cairn.web.code import code_lines
from cairn.web.rendering import compile_templates

_METHODS = ("search", "discover", "fetchPage", "references", "related")


@functools.cache
def preload() -> None:
    """Load everything on a thread, once per process."""
    threading.Thread(target=_load, name="cairn-page", daemon=True).start()


def _load() -> None:
    compile_templates()
    for name in _METHODS:
        METHODS[name].handle()
    for name in ("cairn.engine.open_workspace", "psutil"):
        importlib.import_module(name)
    code_lines("pass", "python", "a.py")
