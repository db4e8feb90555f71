"""The benchmark of a few words asks real searches, and counts what leads to the wanted places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palette.__main__ import Place, Wanted, figures, repositories, shown, unwanted, written

from cairn.engine.host import Host
from cairn.settings.tree import Settings
from tests.harbour import HARBOUR, write_files


def wanted(query: str, *places: str) -> Wanted:
    return Wanted("harbour", query, "name", tuple(map(Place.of, places)))


def test_rows_are_right_near_a_wanted_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path))
    folder = write_files(tmp_path / "harbour", HARBOUR)
    (path, line) = next(
        (path, number)
        for path, text in HARBOUR.items()
        for number, each in enumerate(text.split("\n"), 1)
        if each.startswith("def assign_berths")
    )
    asked = [wanted("assign berths", f"{path}:{line}"), wanted("assign berths", "nowhere.py:1")]
    right, wrong = shown(folder, tmp_path / "data", asked, Host(Settings().embedding))
    assert right.rank == 0
    assert right.rows[0].tells
    assert wrong.rank is None
    measured = figures([right, wrong])
    assert (measured["first"], measured["nowhere"]) == (0.5, 0.5)
    assert json.loads(written(right))["rows"][0]["row"] == f"assign_berths  {path}:{line}"


def test_queries_name_places_and_half_of_the_repositories_are_kept() -> None:
    from palette.__main__ import QUERIES

    kept = [name for name, _ in repositories(QUERIES, "kept")]
    every = dict(repositories(QUERIES, ""))
    assert len(every) == 15
    assert len(kept) == 8
    assert all(each.places for queries in every.values() for each in queries)


def test_unwanted_rows_are_those_judged_zero(tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    rows = [{"row": "a  a.py:1", "judged": 2}, {"row": "b  b.py:1", "judged": 0}]
    judged.write_text(json.dumps({"repo": "harbour", "query": "a", "rows": rows}) + "\n", encoding="utf-8")
    assert unwanted(judged, frozenset({"harbour"})) == {"rows": 2, "not_wanted": 0.5}
    assert unwanted(judged, frozenset({"other"}))["rows"] == 0
