"""The lock decides which process writes an index; the file beside it describes that process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cairn.index.store.coordination import holder, is_locked, note_holder, writer_lock


def test_lock_is_seen_while_a_process_has_it(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    with writer_lock(tmp_path).acquire(blocking=False):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        pytest.param(["cairn", "search", "treasure"], "cairn search", id="command"),
        pytest.param(["python", "/home/ada/treasure.py"], "cairn", id="path"),
    ],
)
def test_file_names_process_command_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], command: str
) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    before = time.time()
    note_holder(tmp_path)
    found = holder(tmp_path)
    assert found is not None
    assert (found.pid, found.command) == (os.getpid(), command)
    assert before <= found.since <= time.time()
    assert "treasure" not in (tmp_path / "writer.json").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["writer.json"]


def test_file_of_an_ended_process_describes_none(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    reused = (os.getpid(), psutil.Process().create_time() - 60)
    for pid, since in ((ended.pid, time.time()), reused):
        note = {"pid": pid, "command": "cairn lsp", "since": since}
        (tmp_path / "writer.json").write_text(json.dumps(note))
        assert holder(tmp_path) is None


@pytest.mark.parametrize(
    "note",
    [
        "", "{", "[]", "null", "[" * 100_000, '{"pid": 1}', '{"pid": "1", "command": "cairn", "since": 1}',
        '{"pid": -1, "command": "cairn", "since": 9e9}', '{"pid": 1e999, "command": "cairn", "since": 9e9}',
        '{"pid": 1, "command": ["rm"], "since": 9e9}',
        '{"pid": 99999999999, "command": "cairn", "since": 9e9}',
    ],
)  # fmt: skip
def test_invalid_file_describes_no_process(tmp_path: Path, note: str) -> None:
    (tmp_path / "writer.json").write_text(note)
    assert holder(tmp_path) is None


def test_file_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "writer.json").mkdir()
    note_holder(tmp_path)
    assert holder(tmp_path) is None
