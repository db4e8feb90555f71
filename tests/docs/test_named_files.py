"""The documents name files of this project; each of them exists."""

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
"""Documents name files relative to one of these, or to their own folder."""
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|ts))`|\]\(((?!https?:)[^)#\s]+)[^)]*\)")
"""Source files in backticks, and the targets of links."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    found = [quoted or linked for quoted, linked in NAMED.findall(document.read_text(encoding="utf-8"))]
    places = [*PLACES, document.parent]
    missing = [name for name in found if not any((place / name).exists() for place in places)]
    assert missing == []
