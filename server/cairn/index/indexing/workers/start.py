"""Starts and ends child processes that exchange pickles with this one over standard input and output."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
from typing import Any

LOST = (OSError, EOFError, pickle.UnpicklingError)
"""Errors of an exchange with a process that has ended."""
_END_SECONDS = 5.0


def start(program: str) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs `program`. Raises OSError on failure."""
    # The search path is the same, but without the current directory, whose modules are the user's code.
    path = [entry for entry in sys.path if entry]
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path!r}; {program}"]
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, creationflags=flags)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, which has no state to save, and free its resources."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)


def exchange(process: subprocess.Popen[bytes], request: object) -> Any:
    """Send a request and return the answer. Raises one of LOST if the process ends meanwhile."""
    assert process.stdin
    assert process.stdout
    pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()
    return pickle.load(process.stdout)
