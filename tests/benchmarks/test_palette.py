"""Tests typing into a palette, with the real daemon."""

from __future__ import annotations

from pathlib import Path

from engine.daemon import Daemon, settled
from engine.palette import type_questions

ACCOUNTED = {"cancelled", "answered before the next keystroke", "answered while being cancelled"}


def test_keystrokes_are_answered_or_cancelled_and_the_last_is_answered(
    workspace: Path, bare_data_dir: Path
) -> None:
    questions = ["moor a ship", "high water"]
    with Daemon(workspace, bare_data_dir, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(settled, 60)
        typed = type_questions(daemon, questions, 0.0, {"limit": 20})
    assert set(typed.outcomes) <= ACCOUNTED
    assert typed.outcomes.total() == sum(len(question) - 1 for question in questions)
    assert len(typed.last) == len(typed.after) == 2
    assert len(typed.cancelled) == typed.outcomes["cancelled"]
