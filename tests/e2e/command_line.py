"""The command line as a process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.serving import PATIENCE_SECONDS


def run_cairn(
    *arguments: str,
    code: int = 0,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
    stdin: str | None = None,
    encoding: str | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run `cairn`, and assert that it ends with `code` and without a traceback."""
    if encoding:
        environment = {"PYTHONIOENCODING": encoding, **environment}
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "cairn", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding=encoding,
        timeout=2 * PATIENCE_SECONDS,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def without_progress(errors: str) -> str:
    """Return a command's stderr without the lines that say, on a busy machine, what it waits for."""
    return "".join(line for line in errors.splitlines(keepends=True) if not line.endswith(" …\n"))


def run_cairn_json(*arguments: str, **options: Any) -> Any:
    return json.loads(run_cairn(*arguments, "--json", **options).stdout)


async def run_cairn_beside(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `cairn` while the event loop serves other clients."""
    return await asyncio.to_thread(run_cairn, *arguments, **options)
