"""Runs git for a team's index: it asks nobody, runs no hooks, and its messages contain no password."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from cairn.errors import TeamError
from cairn.team.git_address import PROTOCOLS, Address
from cairn.workspace.git import Git, GitError

_SECONDS = 600.0
"""A command that reads a local repository ends after this long: one on a hung network drive must come to an end."""
_SETTINGS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
             "-c", "maintenance.auto=false", "-c", "protocol.ext.allow=never")  # fmt: skip
_CREDENTIALS = r'!f() { printf "username=%s\npassword=%s\n" "$CAIRN_GIT_USER" "$CAIRN_GIT_PASSWORD"; }; f'
"""A credential helper for git: arguments of programs, unlike their environment, are seen by every user of the machine."""


def run_git(folder: Path, *arguments: str, given: str = "", seconds: float = _SECONDS) -> bytes:
    """What a git command that needs no network writes. Raises TeamError."""
    return b"".join(stream_git(folder, *arguments, given=given, seconds=seconds))


def stream_git(folder: Path, *arguments: str, given: str = "", seconds: float = _SECONDS) -> Iterator[bytes]:
    """What a git command that needs no network writes, as it comes. Raises TeamError."""
    safe = ("-c", f"core.hooksPath={os.devnull}", *arguments)
    try:
        yield from Git(folder, time.monotonic() + seconds).run(safe, given)
    except GitError as problem:
        raise TeamError(f"The git repository {folder} cannot be read. {problem}") from None


def new_repository(folder: Path, *, bare: bool = False, sha256: bool = False) -> None:
    """Make an empty repository without hooks."""
    arguments = ["init", "--quiet", "--template=", f"--object-format={'sha256' if sha256 else 'sha1'}"]
    if bare:
        arguments.append("--bare")
    folder.mkdir(parents=True)
    run_git(folder, *arguments)


def over_network(address: Address, folder: Path, *arguments: str) -> str:
    """What a git command that speaks with another machine writes, which asks nobody. Raises TeamError."""
    program = shutil.which("git")
    if program is None or not Path(program).is_absolute():
        raise TeamError("git was not found: install it, or add it to PATH.")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_SSH", "GIT_SSL", "GIT_EXEC_PATH"))
    }
    own = {
        "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "LC_ALL": "C",
    }
    if not kept.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} and not configured(folder, "core.sshCommand"):
        own["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"  # which asks for no password either
    if address.user or address.password:
        own |= {
            "CAIRN_GIT_USER": address.user,
            "CAIRN_GIT_PASSWORD": address.password,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "credential.helper",
            "GIT_CONFIG_VALUE_0": _CREDENTIALS,
        }
    done = subprocess.run(
        (program, "--no-pager", *_SETTINGS, *arguments),
        cwd=folder,
        env=kept | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip()
        for secret in filter(None, (address.password, address.user if address.password else "")):
            told = told.replace(secret, "***")
        raise TeamError(
            f"git cannot fetch {address.url}: {told or f'it ended with code {done.returncode}'}\n"
            "Check the URL and that this machine may read the repository: git asks nobody for a password here."
        )
    return done.stdout.decode("utf-8", "replace")


def configured(folder: Path, key: str) -> str:
    """A value of git's configuration, "" where there is none."""
    try:
        return run_git(folder, "config", "--get", key).decode("utf-8", "replace").strip()
    except TeamError:  # git ends with code 1 then
        return ""
