"""Makes the development environment on first use, and checks it in milliseconds afterwards.

It needs only Python 3.11 with pip and venv, so the scripts beside this file run on a fresh machine.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"

_STAMP = ENVIRONMENT / "cairn-environment"
"""Contains the fingerprint of the environment; written last, so that a broken set-up is repeated."""
_BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")


def prepare() -> None:
    """Make the environment unless it exists and is current. Exits with a message on failure."""
    # Containers often set this variable. Without compiled modules, each of the tests' processes takes a third
    # longer.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sys.version_info < (3, 11):  # noqa: UP036 - a fresh machine may have any
        sys.exit(f"Cairn needs Python 3.11 or later; this is {sys.version.split()[0]}.")
    wanted = _fingerprint()
    if _STAMP.exists() and _STAMP.read_text() == wanted:
        return
    print(f"Setting up {ENVIRONMENT.name} (once, about a minute) …", file=sys.stderr)
    try:
        if not tool("python").exists():
            venv.create(ENVIRONMENT, with_pip=True)
        _pip("--require-hashes", "-r", str(LOCK))
        _pip("--no-deps", "--no-build-isolation", "-e", str(ROOT))
    except subprocess.CalledProcessError as problem:
        sys.exit(f"Setting up failed: {problem}. Check the network, then run the command again.")
    _STAMP.write_text(wanted)


def tool(name: str) -> Path:
    """Return the path of a command inside the environment."""
    return _BIN / (f"{name}.exe" if os.name == "nt" else name)


def _pip(*arguments: str) -> None:
    # Python compiles what it imports; compiling all installed modules takes a quarter of a set-up.
    quick = ("-qq", "--disable-pip-version-check", "--no-compile")
    command = [tool("python"), "-m", "pip", "install", *quick, *arguments]
    subprocess.run(command, check=True)


def _fingerprint() -> str:
    """Return a digest of everything the environment depends on, with its path."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}".encode())
    for path in (LOCK, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    prepare()
