"""Tests of packed pairs: copies and held-back repositories are out, and a batch has texts of one
repository."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pack
import pytest
from packed import Packed, Rows
from sources import Source

_WORDS = [f"{first}{second}o" for first in "bdfgklmnprst" for second in "aeiou"]
"""60 words of pairs, each a piece, as are those of questions."""
_ASKING = "how does do is are where which what find to we code that function logic for of file".split()


def row(number: int, source: Source = Source.COMMENT, text: str = "") -> list[str]:
    """Return a pair of its own: no other number has its words in this order."""
    order = np.random.default_rng(number).permutation(len(_WORDS))
    words = [_WORDS[place] for place in order]
    place = f"a.py:{number}"
    return [
        source.name,
        " ".join(words[:5]),
        text or " ".join(words[5:25]),
        " ".join(words[25:40]),
        "a.py",
        place,
    ]


def run_pack(
    monkeypatch: pytest.MonkeyPatch, folder: Path, pairs: dict[str, list[list[str]]], *more: str
) -> Path:
    """Run `pack.py` over a file for each repository, and return the output folder."""
    (folder / "pairs").mkdir()
    for repository, rows in pairs.items():
        lines = "".join(json.dumps(each) + "\n" for each in rows)
        (folder / "pairs" / f"{repository}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "pieces.txt").write_text("\n".join([*_ASKING, *_WORDS, ""]), encoding="utf-8")
    arguments = [str(folder / name) for name in ("pairs", "packed", "pieces.txt")]
    monkeypatch.setattr(sys, "argv", ["pack.py", *arguments[:2], "--vocabulary", arguments[2], *more])
    assert pack.main() == 0
    return folder / "packed"


def counts(packed: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((packed / "counts.json").read_text())
    return found


def texts(rows: Rows) -> list[str]:
    pieces = [*_ASKING, *_WORDS]
    return [
        " ".join(pieces[number] for number in rows.ids[start : start + length])
        for start, length in zip(rows.starts, rows.lengths, strict=True)
    ]


def test_a_pair_comes_back_as_it_was_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(number) for number in range(70)]
    rows[3][3] = ""  # Prose has no body.
    packed = Packed.read(run_pack(monkeypatch, tmp_path, {"harbour+tide": rows}), 12)
    chosen = np.array([3, 0, 69])
    assert texts(packed.queries.take(chosen)) == [rows[number][1] for number in chosen]
    assert texts(packed.texts.take(chosen)) == [" ".join(rows[number][2].split()[:12]) for number in chosen]
    assert texts(packed.bodies.take(chosen)) == [rows[number][3] for number in chosen]


def test_text_of_another_repository_is_packed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = row(100, text=row(0)[2])
    pairs = {"a+first": [row(0), row(1)], "b+copies": [copy, row(2)]}
    found = counts(run_pack(monkeypatch, tmp_path, pairs))
    assert found["by repository"] == {"a/first": 2, "b/copies": 1}
    assert found["before near-duplicates were removed"] == 4


def test_one_repository_may_ask_in_several_ways_but_not_twice_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = row(100, Source.COMMIT, text=row(0)[2])
    found = counts(run_pack(monkeypatch, tmp_path, {"a+first": [row(0), again, row(0), again]}))
    assert found["by source"] == {Source.COMMIT.value: 1, Source.COMMENT.value: 1}


def test_pairs_that_share_question_text_or_place_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(number) for number in range(66)]
    rows[1][1] = rows[0][1]
    rows[2][2] = rows[0][2]
    rows[3][5] = rows[0][5]
    rows[4][5] = rows[5][5] = ""  # The pairs have no place, which does not count as a shared one.
    right = Packed.read(run_pack(monkeypatch, tmp_path, {"a+first": rows}), 96).right
    shared = (right[:, None] == right[None]).any(axis=2)
    assert [np.flatnonzero(shared[number]).tolist() for number in (0, 4, 6)] == [[0, 1, 2, 3], [4], [6]]


def test_sources_are_drawn_as_often_as_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(number) for number in range(70)]
    rows[7] = row(7, Source.MESSAGE)
    packed = Packed.read(run_pack(monkeypatch, tmp_path, {"a+first": rows}), 96, "", "MESSAGE=3")
    assert np.bincount(packed.order).tolist() == [3 if number == 7 else 1 for number in range(70)]
    assert packed.bounds.tolist() == [0, 72]


def test_pairs_with_too_few_known_words_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = ["COMMENT", "xyz", row(5)[2], "", "a.py", ""]
    empty = ["COMMENT", row(6)[1], "bao", "", "a.py", ""]
    assert counts(run_pack(monkeypatch, tmp_path, {"a+first": [silent, row(0), empty]}))["pairs"] == 1


def test_listed_repositories_are_left_out_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    excluded = tmp_path / "held_back.tsv"
    excluded.write_text("tide\tc\thttps://example.org/Harbour/Tide.git\t0123abc\t.\n\n", encoding="utf-8")
    pairs = {"harbour+tide": [row(0)], "harbour+quay": [row(1)], "other+tide": [row(2)]}
    packed = run_pack(monkeypatch, tmp_path, pairs, "--leave-out", str(excluded))
    assert set(counts(packed)["by repository"]) == {"harbour/quay", "other/tide"}


def test_of_a_large_repository_always_the_same_pairs_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        rows = [row(number) for number in range(90)]
        packed = run_pack(monkeypatch, tmp_path / name, {"a+first": rows}, "--per-repository", "70")
        found.append(texts(Packed.read(packed, 96).queries.take(np.arange(70))))
    assert found[0] == found[1]
    assert found[0] != [row(number)[1] for number in range(70)]


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packed:
    """Return 80 pairs of one repository, half of them of commits, 120 of another, and too few of a third."""
    sources = (Source.COMMENT, Source.COMMIT)
    pairs = {
        "a+first": [row(number, sources[number % 2]) for number in range(80)],
        "b+few": [row(number) for number in range(100, 120)],
        "c+second": [row(number) for number in range(200, 320)],
    }
    return Packed.read(run_pack(monkeypatch, tmp_path, pairs), 96)


def test_blocks_of_a_batch_have_one_repository_with_enough_pairs(packed: Packed) -> None:
    blocks = packed.batch(np.random.default_rng(1), 12, 30).reshape(12, 30)
    numbers = np.repeat([0, 1, 2], [80, 20, 120])[blocks]
    assert (numbers == numbers[:, :1]).all()
    assert set(numbers[:, 0].tolist()) == {0, 2}
    assert all(len(set(block)) == 30 for block in blocks.tolist())


def test_sources_can_be_left_out_of_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = (Source.COMMENT, Source.COMMIT)
    rows = [row(number, sources[number % 2]) for number in range(160)]
    packed = Packed.read(run_pack(monkeypatch, tmp_path, {"a+first": rows}), 96, "COMMIT,PATH")
    assert (packed.batch(np.random.default_rng(1), 4, 40) % 2 == 0).all()


def test_dropout_keeps_the_order_and_a_token_of_each_text_that_has_any(packed: Packed) -> None:
    whole = packed.texts.take(np.arange(40))
    whole = Rows(whole.ids, np.append(whole.lengths, 0))  # One row has a text without tokens.
    some, least = (whole.dropped(np.random.default_rng(1), share) for share in (0.5, 1.0))
    assert least.lengths.tolist() == [1] * 40 + [0]
    assert 0.4 < len(some.ids) / len(whole.ids) < 0.6
    for rest, text in zip(texts(some), texts(whole), strict=True):
        assert [word for word in text.split() if word in rest.split()] == rest.split()


def test_words_of_a_question_stand_before_the_queries(packed: Packed) -> None:
    queries = packed.queries.take(np.arange(200))
    with_question_words = packed.with_question_words(queries, np.random.default_rng(1), 0.5)
    begun = 0
    for question, query in zip(texts(with_question_words), texts(queries), strict=True):
        assert question.endswith(query)
        before = question.removesuffix(query).split()
        assert set(before) <= set(_ASKING)
        begun += bool(before)
    assert 60 < begun < 140
    assert texts(packed.with_question_words(queries, np.random.default_rng(1), 0.0)) == texts(queries)
