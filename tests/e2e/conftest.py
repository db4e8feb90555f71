"""The small project, its index, its daemon and its server, for tests of a module that change none of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.harbour import HARBOUR, write_files
from tests.onnx_models import make_onnx_model
from tests.serving import PATIENCE_SECONDS, Served

from .command_line import run_cairn
from .daemon import Daemon
from .shared import environment_of, share_daemon, share_server


@pytest.fixture(scope="module")
def harbour_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("shared") / "harbour", HARBOUR)


@pytest.fixture(scope="module")
def _harbour_index(harbour_folder: Path) -> None:
    with environment_of(harbour_folder):
        run_cairn("index", "-q", str(harbour_folder))


@pytest.fixture
def indexed_harbour(harbour_folder: Path, _harbour_index: None) -> Iterator[Path]:
    """The folder of the small project, with an index in the data folder of this process."""
    with environment_of(harbour_folder):
        yield harbour_folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harbour(harbour_folder: Path) -> AsyncIterator[Daemon]:
    """A ready daemon on the small project; its tests need the event loop of the module."""
    async with share_daemon(harbour_folder) as cairn:
        yield cairn


@pytest.fixture(scope="module")
def served(harbour_folder: Path) -> Iterator[Served]:
    """A running `cairn serve` that has indexed the small project."""
    with share_server(harbour_folder) as served:
        yield served


@pytest.fixture
def tides(workspace: Path) -> Path:
    """A file that is older than a tick of the file system's clock, so that the index trusts its time."""
    path = workspace / "src/harbour/tides.py"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


@pytest.fixture
def patient(bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new data folder, and no deadline for the legs of a search on a busy machine."""
    monkeypatch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", str(1000 * PATIENCE_SECONDS))


@pytest.fixture
def slow_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of the user's own, with which many files' vectors take longer than any test lasts."""
    folder = make_onnx_model(tmp_path / "slow", words={"?": [1] * 256, "ship": [-1] * 256}, detours=100)
    monkeypatch.setenv("CAIRN_EMBEDDING__MODEL", str(folder))
