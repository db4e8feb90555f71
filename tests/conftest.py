"""Data folders of their own for tests, with the real model or without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.embedding.model_files import find_model
from cairn.paths import data_dir


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
    """An empty data folder that this process and its children use: no index, no model."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def model_data_dir(real_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own that shares the installed model and the unpacked grammars."""
    real = real_models.parent
    folder = tmp_path / "data"
    folder.mkdir()
    for shared in ("models", "grammars"):
        (real / shared).mkdir(parents=True, exist_ok=True)
        (folder / shared).symlink_to(real / shared, target_is_directory=True)
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project with source, a test and documents."""
    root = tmp_path / "harbour"
    for path, text in _HARBOUR.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


_HARBOUR = {
    "pyproject.toml": '[project]\nname = "harbour"\n',
    "README.md": (
        "# Harbour\n\nHarbour is a small library that schedules ships into the berths of a port.\n\n"
        "## Berths\n\nA berth is a place where one ship at a time can be moored and unloaded safely.\n"
    ),
    "src/harbour/berths.py": '''"""Berths of the port."""


class Berth:
    """A place where one ship at a time can be moored."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.ship = None

    def moor_ship(self, ship):
        """Moor a ship here; raises ValueError if the berth is taken already."""
        if self.ship is not None:
            raise ValueError("berth is taken")
        self.ship = ship
''',
    "src/harbour/tides.py": '''"""Tide tables."""


def high_water(day: int, constituents: list[tuple[float, float]]) -> float:
    """Return the hour of high water for a day, from its harmonic constituents."""
    return sum(amplitude * day % period for amplitude, period in constituents)
''',
    "src/harbour/schedule.py": '''"""Which ship goes where, and when."""

from harbour.berths import Berth


def assign_berths(ships, berths: list[Berth]):
    """Assign each arriving ship to the shortest free berth that is long enough for it."""
    for ship in sorted(ships, key=lambda ship: -ship.length):
        for berth in sorted(berths, key=lambda berth: berth.length):
            if berth.ship is None and berth.length >= ship.length:
                berth.moor_ship(ship)
                break
''',
    "tests/test_berths.py": """from harbour.berths import Berth


def test_a_taken_berth_cannot_be_moored_at():
    berth = Berth(10)
    berth.moor_ship("Ada")
""",
}
