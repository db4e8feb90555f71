"""Params and results of every method: the one schema for LSP, REST, MCP and the command line.

Only shapes and their limits belong here; the methods themselves are in `cairn.engine`. Lines are LSP ranges
(0-based, end exclusive); paths are relative to their workspace folder, with `/`. `cairn.schema.convert` turns
these classes into camelCase JSON and back.

Each module has the classes of one method or theme. The package exports them all and imports a module when the
first of its names is used: making all classes takes 30 ms, and most processes need few.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.protocol.change_messages import *  # noqa: F403
    from cairn.protocol.chunk_types import *  # noqa: F403
    from cairn.protocol.discovery_messages import *  # noqa: F403
    from cairn.protocol.relation_messages import *  # noqa: F403
    from cairn.protocol.search_messages import *  # noqa: F403
    from cairn.protocol.stage_messages import *  # noqa: F403
    from cairn.protocol.status_messages import *  # noqa: F403
else:
    _MODULES = (
        "chunk_types",
        "search_messages",
        "status_messages",
        "relation_messages",
        "discovery_messages",
        "stage_messages",
        "change_messages",
    )
    """The modules in the order in which a name is looked up; those that most processes need are first."""

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        for module in _MODULES if not name.startswith("_") else ():
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name, None)
            if found is not None:
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
