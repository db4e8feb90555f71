"""Fixtures of all tests: new data folders, and a small project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from attrs import evolve

from cairn.engine.engine import Engine
from cairn.engine.methods import Tell
from cairn.engine.request import Request
from cairn.engine.runner import answer
from cairn.index.store.deadline import Cancelled, never
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files

# With these set, pytest prints compared values whole, thousands of lines after the names of the failed tests.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)
hypothesis.settings.register_profile("busy machine", deadline=None, derandomize=True)
hypothesis.settings.load_profile("busy machine")
IDLE = "CAIRN_AGENTS__IDLE_MINUTES"


@pytest.fixture(scope="session", autouse=True)
def no_idle_engines() -> Iterator[None]:
    """End each background engine with its last client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(IDLE, "0")
        yield


@pytest.fixture(autouse=True)
def no_user_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the developer's settings file."""
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "no-settings"))


@pytest.fixture
def bare_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new data folder of this process and its children, without index, but with quick starts."""
    folder = create_data_dir(tmp_path / "data")
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project with source, a test and documents."""
    return write_files(tmp_path / "harbour", HARBOUR)


def ask(
    asked: Engine | Request,
    method: str,
    params: Any,
    cancelled: Cancelled = never,
    tell: Tell | None = None,
) -> Any:
    """Call a method with params, which are JSON data or an object of their class."""
    request = asked if isinstance(asked, Request) else asked.request()
    return answer(evolve(request, cancelled=cancelled), method, params, tell=tell, as_json=False)
