"""Every process of a workspace sees a phase set by hand at once; a damaged file sets none."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from cairn.errors import InvalidRequestError
from cairn.operations.control import (
    OVERRIDE_NAME,
    OverrideReader,
    OverrideUnavailableError,
    PhaseOverride,
    write_override,
)


def test_no_file_sets_no_phase(tmp_path: Path) -> None:
    assert OverrideReader(tmp_path / "none").read() == PhaseOverride()
    assert OverrideReader(tmp_path).read().phase is None


@pytest.mark.parametrize("phase", [0, 1, 2, 3, None])
def test_a_written_phase_is_read_back(tmp_path: Path, phase: int | None) -> None:
    write_override(tmp_path / "new", phase, by="a test")
    assert OverrideReader(tmp_path / "new").read() == PhaseOverride(phase)


def test_every_change_is_seen_at_once(tmp_path: Path) -> None:
    reader = OverrideReader(tmp_path)
    for number in range(300):
        phase = (3, 0, 1, 2, None)[number % 5]
        write_override(tmp_path, phase, by="a test")
        assert reader.read().phase == phase
    (tmp_path / OVERRIDE_NAME).unlink()
    assert reader.read().phase is None
    assert list(tmp_path.iterdir()) == []


def test_the_file_time_has_nanoseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_700)
        write_override(tmp_path, 2, by="a test")
    assert (tmp_path / OVERRIDE_NAME).stat().st_mtime_ns == 1_700_000_000_123_456_700


def test_the_file_is_read_once_for_each_change(tmp_path: Path) -> None:
    write_override(tmp_path, 2, by="a test")
    reader = OverrideReader(tmp_path)
    first = reader.read()
    assert first.phase == 2
    assert all(reader.read() is first for _ in range(10))


def test_a_reader_finds_the_whole_old_or_new_file(tmp_path: Path) -> None:
    write_override(tmp_path, 0, by="a test")
    done = threading.Event()
    found: list[PhaseOverride] = []

    def read() -> None:
        while not done.is_set():
            found.append(OverrideReader(tmp_path).read())

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(300):
        write_override(tmp_path, number % 4, by="x" * (number % 50))
    done.set()
    thread.join()
    assert found
    assert {override.problem for override in found} == {None}
    assert {override.phase for override in found} <= {0, 1, 2, 3}


DAMAGED = [
    b"", b"{", b"\xff\xfe", b"[]", b"3", b"{}x", b"[" * 9_000,
    b'{"phase": 4}', b'{"phase": -1}', b'{"phase": "2"}', b'{"phase": true}', b'{"phase": 2.0}',
]  # fmt: skip


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_sets_nothing_and_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / OVERRIDE_NAME).write_bytes(content)
    override = OverrideReader(tmp_path).read()
    assert override.phase is None
    assert override.problem is not None
    assert "cairn phase" in override.problem


def test_a_file_with_only_a_phase_is_enough(tmp_path: Path) -> None:
    (tmp_path / OVERRIDE_NAME).write_text('{"phase": 1, "since": 5}')
    assert OverrideReader(tmp_path).read() == PhaseOverride(1)
    (tmp_path / OVERRIDE_NAME).write_text("{}")
    assert OverrideReader(tmp_path).read() == PhaseOverride()


def test_the_file_says_who_set_the_phase_and_when(tmp_path: Path) -> None:
    write_override(tmp_path, 2, by="a test")
    values = json.loads((tmp_path / OVERRIDE_NAME).read_text())
    assert values.pop("since").endswith("+00:00")
    assert values == {"phase": 2, "by": "a test"}


@pytest.mark.parametrize("phase", [4, -1, True, 2.0, "2"])
def test_an_invalid_phase_is_not_set(tmp_path: Path, phase: object) -> None:
    with pytest.raises(InvalidRequestError, match="expected 0, 1, 2 or 3"):
        write_override(tmp_path, phase, by="a test")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_an_error_and_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in place of the folder")
    with pytest.raises(OverrideUnavailableError, match="CAIRN_DATA_DIR"):
        write_override(tmp_path / "data", 1, by="a test")
    assert OverrideReader(tmp_path / "data").read().phase is None


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / OVERRIDE_NAME).mkdir()
    (tmp_path / OVERRIDE_NAME / "content").touch()
    assert OverrideReader(tmp_path).read().problem is not None
    with pytest.raises(OverrideUnavailableError):
        write_override(tmp_path, 1, by="a test")
    assert [path.name for path in tmp_path.iterdir()] == [OVERRIDE_NAME]
