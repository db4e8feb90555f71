"""Types of the fixtures of tests with an engine in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.client.client import Client

from cairn.engine.engine import Engine

Connect = Callable[..., AbstractAsyncContextManager[Client]]
"""Connects a client with an engine."""


class SlowEngine(Engine):
    """An engine whose search ends only when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.cancelled = threading.Event()

    def answer(self, _: Any, request: Any, __: Any) -> Any:
        """Answer in place of the fallback chain."""
        self.began.set()
        while not request.cancelled():
            threading.Event().wait(0.01)
        self.cancelled.set()
        raise AssertionError("the request was cancelled")
