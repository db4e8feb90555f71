"""Excerpts of real files: near-copies do not fill the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.discovery.excerpts import Quoter
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.render import estimate_tokens
from cairn.protocol.evidence import Excerpt
from cairn.retrieval.meaning import StaticMeaning
from cairn.text.uris import file_uri

URI = "file:///port"
MOORING = '''def moor_ship(harbour, ship):
    """Moor the ship at the first berth that is long enough."""
    for berth in harbour.berths_by_length():
        if berth.length >= ship.length + SAFETY_MARGIN:
            return harbour.assign(berth, ship)
    raise HarbourFullError(f"no berth for {ship.name}")
'''
TWIN = MOORING.replace("def moor", "async def moor").replace("return harbour", "return await harbour")
GUIDE = """# Mooring

A ship is moored at the first berth that is long enough for it.

The harbour master keeps the margin between the ship and the berth.
"""
OTHER = '''def unmoor_ship(harbour, ship):
    """Let the ship go, and its berth be free again."""
    harbour.release(ship.berth)
'''


@pytest.fixture
def quoted(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], list[Excerpt]]]:
    made: list[IndexedFolder] = []

    def quote(files: dict[str, str]) -> list[Excerpt]:
        folder = IndexedFolder(tmp_path, files)
        made.append(folder)
        meaning = StaticMeaning(folder.models.table)
        searcher = IndexedSearcher(
            [URI], [folder.reader], meaning, folder.settings.search, lambda: False, {}, everywhere=True
        )
        searcher.search(["where is a ship moored at a berth"], [], 10)

        def lines_now(uri: str) -> Sequence[str] | None:
            return next(
                (text.splitlines() for path, text in files.items() if file_uri(URI, path) == uri), None
            )

        return Quoter([URI], lines_now, estimate_tokens).quote(searcher.passages(), 4000)

    yield quote
    for folder in made:
        folder.close()


@pytest.mark.parametrize(
    ("first", "second", "text", "copy"),
    [
        ("port/mooring.py", "third_party/port/mooring.py", MOORING, MOORING),
        ("port/mooring.py", "port/aio/mooring.py", MOORING, TWIN),
        ("docs/v1/mooring.md", "docs/v2/mooring.md", GUIDE, GUIDE.replace("# Mooring", "# Mooring ships")),
    ],
)
def test_a_copy_is_not_shown_beside_its_original(
    quoted: Callable[[dict[str, str]], list[Excerpt]], first: str, second: str, text: str, copy: str
) -> None:
    shown = [excerpt.path for excerpt in quoted({first: text, second: copy, "port/leaving.py": OTHER})]
    assert len([path for path in shown if path in (first, second)]) == 1
    assert "port/leaving.py" in shown


def test_what_is_said_otherwise_is_no_copy(quoted: Callable[[dict[str, str]], list[Excerpt]]) -> None:
    other = MOORING.replace("first berth", "cheapest berth").replace("by_length", "by_price")
    other = other.replace("berth.length >= ship.length + SAFETY_MARGIN", "berth.price <= ship.budget")
    shown = [excerpt.path for excerpt in quoted({"port/mooring.py": MOORING, "port/cheap.py": other})]
    assert sorted(shown) == ["port/cheap.py", "port/mooring.py"]
