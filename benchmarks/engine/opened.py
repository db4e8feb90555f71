"""Opens an engine on a checkout in this process, with a complete index, and asks it without deadlines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cairn.engine.engine import Engine
from cairn.engine.host import Host

_PATIENCE = 0.1
_SETTINGS: dict[str, dict[str, Any]] = {
    "index": {"watch": False},
    "search": {"legDeadlineMs": 60_000},
    "retrieval": {"killSwitch": {"automatic": False}},
    "log": {"queries": False},
}


@contextmanager
def opened(checkout: Path, data: Path, host: Host) -> Iterator[Engine]:
    """Yield the engine after its index is complete. The index is kept in the data folder."""
    os.environ["CAIRN_DATA_DIR"] = str(data)
    engine = Engine(_SETTINGS, host=host)
    engine.add_folder(checkout)
    try:
        while not engine.progress().complete:
            time.sleep(_PATIENCE)
        yield engine
    finally:
        engine.stop()
