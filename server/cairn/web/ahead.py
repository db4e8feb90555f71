"""Loads what the first answer needs while the browser still signs in; else that answer would take half a second more."""

from __future__ import annotations

import functools
import importlib
import threading

from cairn.engine.methods import METHODS
from cairn.web.code import code_lines
from cairn.web.rendering import compile_templates

_ASKED = ("search", "discover", "fetchPage", "references", "related")


@functools.cache
def load_ahead() -> None:
    """Load it on a thread, once."""
    threading.Thread(target=_load, name="cairn-page", daemon=True).start()


def _load() -> None:
    compile_templates()
    for name in _ASKED:
        METHODS[name].handle()
    for name in ("cairn.engine.open_workspace", "psutil"):
        importlib.import_module(name)
    code_lines("pass", "python", "a.py")
