"""The trial server: starting and stopping it, and its folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.postgres import execute

from cairn.paths import data_dir, private_folder
from cairn.team import trial


def test_trial_goes_up_and_down_and_keeps_its_data(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = private_folder(server_folder)
    monkeypatch.setenv("CAIRN_DATA_DIR", str(data))
    folder = trial.trial_folder()
    assert folder == data / "team-trial"
    nothing = trial.state(folder)
    assert (nothing.exists, nothing.running, nothing.url) == (False, False, None)
    assert trial.down(folder) == nothing
    assert not folder.exists()

    # The server outlives the process that starts it.
    program = "import pathlib, sys; from cairn.team import trial; trial.up(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=60)
    first = trial.state(folder)
    assert first.running
    assert first.url
    execute(first.url, "CREATE TABLE kept AS SELECT '[1,2]'::vector AS a")
    assert trial.up(folder) == first == trial.state(folder)

    # Only PostgreSQL's account can pass through the data folder. The trial of an earlier version, whose data
    # folder was open to all and is closed by now, can be stopped and started as well.
    assert sys.platform == "win32" or stat.S_IMODE(data_dir().stat().st_mode) & 0o067 == 0
    data.chmod(0o755)
    assert sys.platform == "win32" or stat.S_IMODE(data_dir().stat().st_mode) == 0o700
    stopped = trial.down(folder)
    assert (stopped.exists, stopped.running, stopped.url) == (True, False, first.url)
    assert trial.down(folder) == stopped

    assert trial.up(folder) == first
    assert execute(first.url, "SELECT a::text FROM kept") == [("[1,2]",)]


def test_trial_folder_is_the_data_folder_where_the_server_can_reach_it(
    tmp_path: Path, server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(server_folder / "data"))
    assert trial.trial_folder() == server_folder / "data" / "team-trial"
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / "data"))
    is_root = sys.platform != "win32" and os.geteuid() == 0
    expected = "/var/lib/cairn/team-trial" if is_root else tmp_path / "data" / "team-trial"
    assert trial.trial_folder() == Path(expected)
