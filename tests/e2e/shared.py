"""Daemons and servers that several tests share, with a data folder of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.data_folder import create_data_dir
from tests.serving import Served, serving, wait_for

from .daemon import Daemon, is_settled, run_daemon


@contextmanager
def environment_of(root: Path) -> Iterator[None]:
    """Give the processes that start meanwhile the data folder beside `root`, and no user settings."""
    data = root.with_name("data")
    if not data.exists():
        create_data_dir(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(data))
        patch.setenv("CAIRN_CONFIG_DIR", str(root.with_name("no-settings")))
        yield


@asynccontextmanager
async def share_daemon(*roots: Path) -> AsyncIterator[Daemon]:
    """Run a daemon that is ready; only its start sees the environment, not the tests."""
    async with AsyncExitStack() as stack:
        with environment_of(roots[0]):
            cairn = await stack.enter_async_context(run_daemon(*roots))
        await cairn.ready()
        yield cairn


@contextmanager
def share_server(root: Path) -> Iterator[Served]:
    """Run a `cairn serve` that has indexed its folder; only its start sees the environment."""
    with ExitStack() as stack:
        with environment_of(root):
            served = stack.enter_context(serving(str(root)))
        wait_for(lambda: is_settled(served.call("status", {})))
        yield served
