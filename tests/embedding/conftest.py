"""The installed default model, for the tests that only read it; empty data folders for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.config import EmbeddingSettings
from cairn.embedding import Embedder, InstalledModel, find_model, load_embedder


@pytest.fixture(scope="session")
def default_model() -> InstalledModel:
    """The model in the real data folder, where set-up installed it."""
    model = find_model()
    if model is None:
        pytest.fail("The default model is not installed. Run `cairn model install` before the tests.")
    return model


@pytest.fixture(scope="session")
def embedder(default_model: InstalledModel) -> Embedder:
    """The default model, loaded once."""
    return load_embedder(default_model, EmbeddingSettings())


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that this process and its children use."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder
