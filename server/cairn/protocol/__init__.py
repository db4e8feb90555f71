"""Params and results of every method: the one schema for LSP, REST, MCP and the command line.

Only shapes and their limits belong here, and no work: the methods themselves are modules of `cairn.engine`. Lines are LSP
ranges (0-based, end exclusive); paths are relative to their workspace folder, with `/`. `cairn.schema.convert` turns these
classes into camelCase JSON and back.

Each module stands for a method or a theme. Its names can be had from here, too, and it is imported when the first of them
is asked for: to make all classes takes 30 ms, and most processes need few.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.protocol.chunk_type import *  # noqa: F403
    from cairn.protocol.context import *  # noqa: F403
    from cairn.protocol.discover import *  # noqa: F403
    from cairn.protocol.evidence import *  # noqa: F403
    from cairn.protocol.feedback import *  # noqa: F403
    from cairn.protocol.indexing import *  # noqa: F403
    from cairn.protocol.page import *  # noqa: F403
    from cairn.protocol.places import *  # noqa: F403
    from cairn.protocol.references import *  # noqa: F403
    from cairn.protocol.related import *  # noqa: F403
    from cairn.protocol.search import *  # noqa: F403
    from cairn.protocol.stages import *  # noqa: F403
    from cairn.protocol.status import *  # noqa: F403
else:
    _MODULES = (
        *("search", "places", "status", "page", "indexing", "feedback", "related", "context"),
        *("references", "evidence", "discover", "stages"),
    )
    """In the order in which a name is looked for: what most processes need comes first."""

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        for module in _MODULES if not name.startswith("_") else ():
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name, None)
            if found is not None:
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
