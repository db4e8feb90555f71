"""A small project with source, a test and a document: file paths and their texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HARBOUR = {
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

MOOR_DIFF = """\
--- a/src/harbour/berths.py
+++ b/src/harbour/berths.py
@@ -11 +11 @@
-    def moor_ship(self, ship):
+    def moor_ship(self, ship, at):
"""
"""A diff that changes a signature, so that a call in `schedule.py` and one in the test are stale."""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files, texts by relative path, below `folder`, and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
