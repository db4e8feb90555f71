"""A system that refuses figures about processes, as phones and sandboxes do, gets the same answers."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from cairn.startup import ending
from tests.e2e.command_line import run_cairn

PATCH = """
import psutil

def refuse(*_, **__):
    raise {problem}

for name in ("cpu_times", "Process", "pid_exists", "process_iter", "sensors_battery", "virtual_memory"):
    setattr(psutil, name, refuse)
"""
PROBLEMS = {
    "PermissionError": "PermissionError(13, 'Permission denied')",
    "EINVAL": "OSError(22, 'Invalid argument')",
    "RuntimeError": "RuntimeError('no such figure')",
}


@pytest.fixture(params=PROBLEMS)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Return variables with which Python's start replaces functions of psutil."""
    (tmp_path / "start").mkdir()
    patch = PATCH.format(problem=PROBLEMS[request.param])
    (tmp_path / "start" / "sitecustomize.py").write_text(patch)
    places = [str(tmp_path / "start"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


@pytest.mark.usefixtures("bare_data_dir")
def test_commands_answer_without_figures(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "ferry.py").write_text("def moor():\n    return 1\n")
    check = subprocess.run(
        [sys.executable, "-c", "import psutil; psutil.cpu_times()"],
        env=os.environ | environment, capture_output=True, check=False,
    )  # fmt: skip
    assert check.returncode, "psutil is not replaced"
    for command in ("index", "search moor", "search moor", "callers moor", "status", "doctor"):
        ran = run_cairn(*command.split(), cwd=folder, is_process=True, **environment)
        assert "Errno" not in ran.stdout + ran.stderr
        if command == "search moor":
            assert ran.stdout.startswith("ferry.py:1-2")


@pytest.mark.parametrize("problem", [OSError(errno.EINVAL, "Invalid argument"), psutil.AccessDenied(1)])
def test_a_process_of_which_nothing_is_known_is_taken_to_run(
    monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert ending.runs(os.getpid())
    assert not ending.runs(ended.pid)

    def refuse(*_: object) -> None:
        raise problem

    monkeypatch.setattr(psutil, "pid_exists", refuse)
    monkeypatch.setattr(psutil, "Process", refuse)
    monkeypatch.setattr(ending, "_LOOK_SECONDS", 0.01)
    assert ending.runs(ended.pid)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(ending.ended(ended.pid), 0.2))
