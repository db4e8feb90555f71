"""Data folders of their own for tests, with the real model or without any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from cairn.embedding.model_files import find_model
from cairn.engine.engine import Engine
from cairn.engine.request import Tell
from cairn.engine.runner import answer
from cairn.index.store.deadline import Cancelled, never
from cairn.paths import data_dir
from tests.data_folder import QUICK_STARTS, made_data_dir
from tests.harbour import HARBOUR

hypothesis.settings.register_profile("busy machine", deadline=None)
hypothesis.settings.load_profile("busy machine")
STEADY = "CAIRN_RETRIEVAL__KILL_SWITCH__AUTOMATIC"
IDLE = "CAIRN_AGENTS__IDLE_MINUTES"


@pytest.fixture(scope="session", autouse=True)
def steady() -> Iterator[None]:
    """A busy machine must not make the kill switch change what is answered; its own tests let it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STEADY, "false")
        yield


@pytest.fixture(scope="session", autouse=True)
def no_engine_stays() -> Iterator[None]:
    """An engine that an agent started in the background ends with its last client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(IDLE, "0")
        yield


@pytest.fixture(autouse=True)
def no_user_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings file of whoever runs the tests changes nothing."""
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "no-settings"))


@pytest.fixture(scope="session")
def real_models() -> Path:
    """The folder of the models that set-up installed."""
    if find_model() is None:
        pytest.fail("The default model is not installed. Run `cairn model install` before the tests.")
    return data_dir() / "models"


@pytest.fixture
def bare_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that this process and its children use: no index, no larger model, what makes starts quick."""
    return _own_data_dir(tmp_path, monkeypatch, QUICK_STARTS)


@pytest.fixture
def model_data_dir(real_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with the installed model, for what its vectors decide; they cost every process half a second."""
    return _own_data_dir(tmp_path, monkeypatch, ("models", *QUICK_STARTS))


def _own_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: tuple[str, ...]) -> Path:
    folder = made_data_dir(tmp_path / "data", shared)
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project with source, a test and documents."""
    root = tmp_path / "harbour"
    for path, text in HARBOUR.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def ask(
    engine: Engine, method: str, params: Any, cancelled: Cancelled = never, tell: Tell | None = None
) -> Any:
    """What a method answers to params, which are JSON data or an object of their class."""
    return answer(engine, method, params, cancelled, tell=tell, as_json=False)
