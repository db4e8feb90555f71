"""Opens engines over test folders, and waits until their indexes are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.serving import wait_for

from cairn.engine.engine import Engine
from cairn.engine.host import Host

NO_VECTORS: dict[str, Any] = {"embedding": {"enabled": False}}
PATIENT: dict[str, Any] = {"search": {"legDeadlineMs": 60_000}}
"""Settings with which no leg of a search times out on a busy machine."""


def new_engine(*folders: Path, host: Host | None = None, **settings: Any) -> Engine:
    """Open an engine that does not watch its folders, without waiting for their indexes."""
    engine = Engine({"index": {"watch": False}, **settings}, host=host)
    for folder in folders:
        engine.add_folder(folder)
    return engine


@contextmanager
def indexed(*folders: Path, host: Host | None = None, **settings: Any) -> Iterator[Engine]:
    """Yield an engine whose indexes are complete, and stop it afterwards."""
    engine = new_engine(*folders, host=host, **settings)
    try:
        wait_for(lambda: engine.progress().complete)
        yield engine
    finally:
        engine.stop()
