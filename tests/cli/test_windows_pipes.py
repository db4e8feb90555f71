"""Windows calls a pipe without a reader an invalid argument, as it calls other things."""

from __future__ import annotations

import errno
import io
import sys
from typing import Any

import pytest

from cairn.cli import main as module
from cairn.startup.streams import guard_streams


class Output(io.StringIO):
    """A stdout whose reader has gone, if `is_left`."""

    is_left = False

    def write(self, text: str) -> int:
        if self.is_left:
            raise OSError(errno.EINVAL, "Invalid argument")
        return super().write(text)

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "no file")


def run(monkeypatch: pytest.MonkeyPatch, command: Any, *, is_left: bool) -> tuple[int, str]:
    """Run the command line on Windows. Return its exit code, and what it wrote to stderr."""
    out, err = Output(), Output()
    out.is_left = is_left
    for name, value in {"platform": "win32", "stdout": out, "stderr": err, "argv": ["cairn"]}.items():
        monkeypatch.setattr(sys, name, value)
    monkeypatch.setattr(module.cli, "main", command)
    monkeypatch.setattr(module, "leave_stdout", lambda: None)
    guard_streams()
    with pytest.raises(SystemExit) as ended:
        module.main()
    return int(str(ended.value.code)), err.getvalue()


def test_a_reader_that_has_gone_ends_a_command_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, lambda **_: print("an answer"), is_left=True) == (1, "")


def test_an_invalid_argument_elsewhere_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    code, text = run(monkeypatch, refused, is_left=False)
    assert (code, text) == (1, "cairn: [Errno 22] Invalid argument\n")
