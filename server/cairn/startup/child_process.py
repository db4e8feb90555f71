"""Starts and ends child processes that exchange pickles with this one over standard input and output."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from typing import Any, BinaryIO

from cairn.startup.streams import guard_streams

LOST = (OSError, EOFError, pickle.UnpicklingError)
"""Errors of an exchange with a process that has ended."""
NICENESS = 5
"""The niceness of processes that work in the background gives editing and queries priority."""
_END_SECONDS = 5.0


def start(program: str, in_background: bool = True) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs `program`, on Windows with low priority if it is `in_background`. Raises
    OSError on failure."""
    # The search path is the same, but without the current directory, whose modules are the user's code.
    path = [entry for entry in sys.path if entry]
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path!r}; {program}"]
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
        flags |= subprocess.BELOW_NORMAL_PRIORITY_CLASS if in_background else 0
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
    send(process.stdin, request)  # type: ignore[arg-type]
    return pickle.load(process.stdout)


# --- in the child process --------------------------------------------------------------------------------


def set_up_child_process(niceness: int = 0) -> tuple[BinaryIO, BinaryIO]:
    """Set up signals and, except on Windows, priority of a child process; return its pipes for requests and
    for results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent process
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(niceness)
    # The streams of `sys` are not used: with PYTHONUNBUFFERED, a signal can cut a write short.
    pipes = open(0, "rb", closefd=False), open(1, "wb", closefd=False)  # noqa: SIM115 - open to the end
    guard_streams()
    sys.stdout = sys.stderr  # a stray print would break the protocol
    return pipes


def send(pipe: BinaryIO, message: object) -> None:
    """Write a pickle. Raises OSError if the reader has ended."""
    pickle.dump(message, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()
