"""Folders that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for workspaces, beside a data folder without indexes and models that is in use."""
    folder = tmp_path_factory.mktemp("module")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(folder / "data")))
        patch.setenv("CAIRN_CONFIG_DIR", str(folder / "no-settings"))
        yield folder


@pytest.fixture(scope="module")
def harbour(module_folder: Path) -> Path:
    """The small project as a workspace of the whole module."""
    return write_files(module_folder / "harbour", HARBOUR)
