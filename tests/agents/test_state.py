"""Remarks on what an answer lacks: one line with what to do, never with advice to index."""

from __future__ import annotations

from typing import Any

import pytest

from cairn import protocol
from cairn.agents.index_state import NOTHING_TO_DO, freshness, lacking, without_index_advice
from cairn.engine.status import NOT_BEING_INDEXED


class StillIndexing:
    """A request to an index that lacks files and vectors."""

    def __init__(self, complete: bool = False, **status: Any) -> None:
        self._complete = complete
        self._status = status

    @property
    def folders(self) -> StillIndexing:
        return self

    def progress(self) -> Any:
        return type("Progress", (), {"complete": self._complete})()

    def status(self) -> Any:
        known = {
            "files": protocol.FileCounts(400, 120),
            "generation": 1,
            "chunks": 900,
            "embedded": 30,
            "model": protocol.ModelInfo("m", 2, "m@1"),
            "paused": False,
            "seconds_left": None,
            "state": "indexing",
            "last_error": None,
            "remaining": ("files", "vectors"),
        }
        return type("Status", (), {**known, **self._status})()


@pytest.fixture(autouse=True)
def staged_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.engine.status.status_of", lambda request: request.status())
    monkeypatch.setattr("cairn.engine.status.progress_of", lambda folders: folders.progress())


DONE: Any = StillIndexing(complete=True)


def test_complete_index_gives_no_remark() -> None:
    assert freshness(DONE) == ""
    assert lacking(DONE, protocol.AnsweredIn(), protocol.IndexState(1, True)) == ""


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, "120 of 400 files read; 30 of 900 passages have vectors. Ask again in some seconds"),
        ({"seconds_left": 41.0}, "Ask again in about 40 s"),
        ({"paused": True}, "It will stay so for now"),
        ({"state": "degraded", "last_error": "The disk is full."}, "The disk is full. Use your own search"),
        ({"files": protocol.FileCounts(0, 0), "generation": 0}, "no file read yet"),
    ],
)
def test_incomplete_index_is_described_with_what_to_do(status: dict[str, Any], message: str) -> None:
    text = freshness(StillIndexing(**status))  # type: ignore[arg-type]
    assert message in text
    assert "\n" not in text
    assert "your own search" in text


def test_index_without_an_indexer_gives_no_advice_to_index() -> None:
    text = freshness(StillIndexing(state="degraded", last_error=NOT_BEING_INDEXED))  # type: ignore[arg-type]
    assert "cairn index" not in text
    assert "your own search" in text


def test_answer_without_vectors_says_why() -> None:
    lowered = protocol.AnsweredIn(2, 3, "", "searches took too long")
    text = lacking(DONE, lowered, protocol.IndexState(1, True))
    assert text == "Answered from keywords alone (searches took too long)."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The disk is full.", "The disk is full."),
        ("The index is incomplete. Run `cairn index`.", "The index is incomplete."),
        ("Run `cairn reindex`.", NOTHING_TO_DO),
        ("Vectors are missing. Run `cairn resume`.", "Vectors are missing."),
        ("Vectors are missing. Run `cairn model install`.", "Vectors are missing."),
        ("not read yet; `cairn index` reads it, and so does an editor", "not read yet"),
        ("It is damaged (x). It is made anew once Cairn indexes the folder.", "It is damaged (x)."),
        ("", ""),
    ],
)
def test_advice_to_index_is_left_out(text: str, left: str) -> None:
    assert without_index_advice(text) == left
