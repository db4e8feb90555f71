"""The benchmark of the panel: what counts as judged, and what stands beside a place now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from context.__main__ import Passage, Place, agreement, asked, by_kind, figures, places

from tests.harbour import HARBOUR, write_files

SETS = sorted((Path(__file__).parents[2] / "benchmarks" / "context" / "sets").glob("*.json"))


def passage(first: int, last: int, *verdicts: int, path: str = "a.py") -> Passage:
    return Passage(path, range(first, last + 1), verdicts)


def place(*passages: Passage, kind: str = "code", path: str = "a.py", line: int = 1) -> Place:
    return Place("harbour", kind, path, line, passages, {"old": passages})


def test_a_passage_counts_once_for_each_judge() -> None:
    good, mixed, bad = passage(1, 5, 2, 2), passage(6, 9, 2, 0), passage(10, 12, 1, 0)
    beside = place(good, mixed, bad)
    measured = figures([(beside, [good, mixed, bad]), (beside, [])])
    assert (measured["places"], measured["passages"], measured["without_passages"]) == (2, 3, 1)
    assert (measured["useful"], measured["noise"]) == (0.5, 0.333)
    assert (measured["first_useful"], measured["useful_beside_a_place"]) == (1.0, 0.75)
    assert agreement([beside]) == 0.333


def test_passages_without_a_verdict_count_only_as_not_judged() -> None:
    measured = figures([(place(), [passage(1, 5, 2, 2), passage(6, 9)])])
    assert (measured["judged"], measured["useful"], measured["noise"]) == (0.5, 1.0, 0.0)


@pytest.mark.parametrize(
    ("shown", "verdicts"),
    [
        (passage(1, 10), (2, 1)),
        (passage(1, 6), (2, 1)),
        (passage(9, 20), ()),
        (passage(1, 10, path="b.py"), ()),
    ],
)
def test_a_passage_has_the_verdicts_of_the_nearest_that_was_judged(
    shown: Passage, verdicts: tuple[int, ...]
) -> None:
    assert place(passage(1, 10, 2, 1), passage(30, 40, 0, 0)).judged(shown).verdicts == verdicts


def test_the_present_version_is_asked_beside_a_place(tmp_path: Path, bare_data_dir: Path) -> None:
    write_files(tmp_path / "harbour", HARBOUR)
    path, line = next(
        (path, number)
        for path, text in HARBOUR.items()
        for number, each in enumerate(text.split("\n"), 1)
        if each.startswith("def assign_berths")
    )
    ((_, unjudged),) = asked(tmp_path, bare_data_dir, [place(path=path, line=line)])
    assert unjudged
    known = [Passage(each.path, each.lines, (2, 2)) for each in unjudged]
    beside = asked(tmp_path, bare_data_dir, [place(*known, path=path, line=line)])
    assert by_kind(beside)["code"]["useful"] == 1.0


@pytest.mark.parametrize("judged", SETS, ids=lambda path: path.stem)
def test_a_set_has_commits_and_the_verdicts_of_two_judges(judged: Path) -> None:
    repositories = json.loads(judged.read_text(encoding="utf-8"))["repositories"]
    every = places(judged)
    assert {each.repository for each in every} == repositories.keys()
    assert all(each["address"].startswith("https://github.com/") for each in repositories.values())
    assert all(len(each["commit"]) in (12, 40) for each in repositories.values())
    assert all(len(found.verdicts) == 2 for each in every for found in each.passages)
    assert {each.kind for each in every} == {"code", "doc"}
