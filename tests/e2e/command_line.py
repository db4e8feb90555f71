"""The command line, called in this process or run as another."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from attrs import asdict, frozen

from cairn.__main__ import main
from cairn.cli.output import Display, display
from tests.serving import PATIENCE_SECONDS


@frozen
class Ran:
    """What a command printed."""

    stdout: str
    stderr: str


def run_cairn(
    *arguments: str,
    code: int | None = 0,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
    stdin: str | None = None,
    encoding: str | None = None,
    is_process: bool = False,
    **environment: str,
) -> Ran:
    """Run `cairn`, and assert that it ends with `code`, or any if that is None, and without a traceback.

    It runs in this process, which has imported everything, unless `is_process`, `prefix` or `encoding`
    require another.
    """
    if is_process or prefix or encoding:
        ended, ran = _process(
            (*prefix, sys.executable, "-m", "cairn", *arguments), cwd, stdin, encoding, environment
        )
    else:
        ended, ran = call_main(arguments, cwd, stdin, environment)
    assert code in (ended, None), ran.stderr
    assert "Traceback" not in ran.stderr
    return ran


def _process(
    command: Sequence[str],
    cwd: Path | None,
    stdin: str | None,
    encoding: str | None,
    environment: Mapping[str, str],
) -> tuple[object, Ran]:
    variables = {**os.environ, **({"PYTHONIOENCODING": encoding} if encoding else {}), **environment}
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        encoding=encoding,
        timeout=2 * PATIENCE_SECONDS,
        cwd=cwd,
        env=variables,
        check=False,
    )
    return done.returncode, Ran(done.stdout, done.stderr)


def call_main(
    arguments: Sequence[str],
    cwd: Path | None = None,
    stdin: str | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> tuple[object, Ran]:
    """Call `cairn` in this process, and return the exit code and what was printed."""
    streams = {name: TextIOWrapper(BytesIO(), "utf-8", write_through=True) for name in ("stdout", "stderr")}
    given = TextIOWrapper(BytesIO((stdin or "").encode()), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cairn", *arguments])
        patch.setattr(sys, "stdin", given)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        for name, value in environment.items():
            patch.setenv(name, value)
        # The options of a command outlive it in this process, and would be those of the tests after it.
        for field, value in asdict(Display()).items():
            patch.setattr(display, field, value)
        if cwd is not None:
            patch.chdir(cwd)
        with pytest.raises(SystemExit) as ended:
            main()
    texts = (stream.buffer.getvalue().decode() for stream in streams.values())
    return ended.value.code or 0, Ran(*texts)


def without_progress(errors: str) -> str:
    """Return a command's stderr without the lines that say, on a busy machine, what it waits for."""
    return "".join(line for line in errors.splitlines(keepends=True) if not line.endswith(" …\n"))


def run_cairn_json(*arguments: str, **options: Any) -> Any:
    return json.loads(run_cairn(*arguments, "--json", **options).stdout)


async def run_cairn_beside(*arguments: str, **options: Any) -> Ran:
    """Call `cairn` while the event loop serves other clients."""
    return await asyncio.to_thread(run_cairn, *arguments, **options)
