"""Starts and ends processes that work for this one and speak with it in pickles, over their standard input and output."""

from __future__ import annotations

import contextlib
import subprocess
import sys

_END_SECONDS = 5.0
"""A process that was ended and is still there after so long is left to the system."""


def start(program: str) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs `program`. Raises OSError where the system refuses."""
    # With the same search path, and without the current directory, whose modules are somebody's workspace.
    path = [entry for entry in sys.path if entry]
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path!r}; {program}"]
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, creationflags=flags)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, which has nothing to lose, and free what the system keeps for it."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
