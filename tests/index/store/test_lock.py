"""Who writes an index: the lock decides, the note beside it tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cairn.index.store.lock import holder, is_held, note_holder, writer_lock


def test_the_lock_is_seen_while_it_is_held_and_not_after(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with writer_lock(tmp_path).acquire(blocking=False):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)


def test_the_note_names_process_command_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["cairn", "search", "where is the treasure"])
    before = time.time()
    note_holder(tmp_path)
    found = holder(tmp_path)
    assert found is not None
    assert (found.pid, found.command) == (os.getpid(), "cairn search")
    assert before <= found.since <= time.time()
    assert "treasure" not in (tmp_path / "writer.json").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["writer.json"]


def test_an_argument_that_is_no_command_is_not_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["python", "/home/ada/secret plan.py"])
    note_holder(tmp_path)
    found = holder(tmp_path)
    assert found is not None
    assert found.command == "cairn"


def test_the_note_of_a_process_that_ended_says_nothing(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    note = {"pid": ended.pid, "command": "cairn lsp", "since": time.time()}
    (tmp_path / "writer.json").write_text(json.dumps(note))
    assert holder(tmp_path) is None


def test_a_number_that_another_process_was_given_since_says_nothing(tmp_path: Path) -> None:
    before_this_process = psutil.Process().create_time() - 60
    note = {"pid": os.getpid(), "command": "cairn lsp", "since": before_this_process}
    (tmp_path / "writer.json").write_text(json.dumps(note))
    assert holder(tmp_path) is None


@pytest.mark.parametrize(
    "note",
    [
        "", "{", "[]", "null", "[" * 100_000, '{"pid": 1}', '{"pid": "1", "command": "cairn", "since": 1}',
        '{"pid": -1, "command": "cairn", "since": 9e9}', '{"pid": 1e999, "command": "cairn", "since": 9e9}',
        '{"pid": 1, "command": ["rm"], "since": 9e9}', '{"pid": 99999999999, "command": "cairn", "since": 9e9}',
    ],
)  # fmt: skip
def test_a_note_that_is_none_says_nothing(tmp_path: Path, note: str) -> None:
    (tmp_path / "writer.json").write_text(note)
    assert holder(tmp_path) is None


def test_a_note_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "writer.json").mkdir()
    note_holder(tmp_path)
    assert holder(tmp_path) is None
