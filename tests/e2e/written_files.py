"""Files that tests write into a workspace."""

from __future__ import annotations

import os
import random
from pathlib import Path


def write_function(path: Path, name: str) -> Path:
    """Write a Python file with one function, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"def {name}(vessel):\n    return vessel\n")
    return path


def rename_unnoticed(path: Path, before: str = "high_water", after: str = "deep_water") -> None:
    """Rename a function but keep the file's size and time, so that only a reindex finds the change."""
    status = path.stat()
    path.write_text(path.read_text().replace(before, after))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


def write_notes(root: Path, count: int) -> None:
    """Write documents of about 13 kB each, all different."""
    chance = random.Random(count)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(20_000)]
    for number in range(count):
        paragraphs = (" ".join(chance.choices(words, k=60)) for _ in range(25))
        (root / f"note{number}.md").write_text(f"# Note {number}\n\n" + "\n\n".join(paragraphs))


def write_wordy_notes(root: Path, count: int) -> None:
    """Write documents of 40 words that no other file has."""
    for number in range(count):
        words = " ".join(f"word{number * 40 + n}" for n in range(40))
        (root / f"note{number}.md").write_text(f"# Note {number}\n\n{words}\n")


def write_ship_notes(root: Path, count: int) -> None:
    """Write documents that all match `SHIP_QUESTION`, so that answering it takes long."""
    for number in range(count):
        words = " ".join(f"ship berth tide pilot word{number}x{n}." for n in range(60))
        (root / f"note{number}.md").write_text(f"# Note {number}\n\n{words}\n")


SHIP_QUESTION = "which ship has which berth and pilot at what tide"
