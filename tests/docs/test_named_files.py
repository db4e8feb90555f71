"""Each file of the project that a document names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    ROOT / "benchmarks" / "README.md",
    ROOT / "editor_client" / "README.md",
]
PLACES = [ROOT, ROOT / "server" / "cairn", ROOT / "editor_client" / "src"]
"""Named files are relative to one of these, or to the document's folder."""
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|ts))`|\]\(((?!https?:)[^)#\s]+)[^)]*\)")
"""Source files in backticks, and the targets of links."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(document: Path) -> None:
    found = [quoted or linked for quoted, linked in NAMED.findall(document.read_text(encoding="utf-8"))]
    places = [*PLACES, document.parent]
    missing = [name for name in found if not any((place / name).exists() for place in places)]
    assert missing == []
