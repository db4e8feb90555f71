"""The small project, its index and its daemon, shared by the tests of a module that change nothing in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.data_folder import made_data_dir
from tests.harbour import HARBOUR, write_files

from .command_line import run_cairn
from .daemon import Daemon, run_daemon


@pytest.fixture(scope="module")
def harbour_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small project, with a data folder of its own."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(made_data_dir(folder / "data")))
        patch.setenv("CAIRN_CONFIG_DIR", str(folder / "no-settings"))
        yield write_files(folder / "harbour", HARBOUR)


@pytest.fixture(scope="module")
def indexed_harbour(harbour_folder: Path) -> Path:
    run_cairn("index", "-q", str(harbour_folder))
    return harbour_folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harbour(harbour_folder: Path) -> AsyncIterator[Daemon]:
    """A ready daemon on the small project; its tests need the event loop of the module."""
    async with run_daemon(harbour_folder) as cairn:
        await cairn.ready()
        yield cairn
