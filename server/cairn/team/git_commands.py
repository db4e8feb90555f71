"""Run git for a team's index, without prompts, without hooks, and without passwords in messages."""

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
"""The timeout of a command that reads a local repository, which may be on a hung network drive."""
_SETTINGS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
             "-c", "maintenance.auto=false", "-c", "protocol.ext.allow=never")  # fmt: skip
_CREDENTIALS = r'!f() { printf "username=%s\npassword=%s\n" "$CAIRN_GIT_USER" "$CAIRN_GIT_PASSWORD"; }; f'
"""A credential helper for git. It reads the environment, because all users can see a program's arguments."""


def run_git(folder: Path, *arguments: str, given: str = "", seconds: float = _SECONDS) -> bytes:
    """Return the output of a git command that needs no network. Raise TeamError."""
    return b"".join(stream_git(folder, *arguments, given=given, seconds=seconds))


def stream_git(folder: Path, *arguments: str, given: str = "", seconds: float = _SECONDS) -> Iterator[bytes]:
    """Yield the output of a git command that needs no network. Raise TeamError."""
    safe = ("-c", f"core.hooksPath={os.devnull}", *arguments)
    try:
        yield from Git(folder, time.monotonic() + seconds).run(safe, given)
    except GitError as problem:
        raise TeamError(f"The git repository {folder} cannot be read. {problem}") from None


def new_repository(folder: Path, *, bare: bool = False, sha256: bool = False) -> None:
    arguments = ["init", "--quiet", "--template=", f"--object-format={'sha256' if sha256 else 'sha1'}"]
    if bare:
        arguments.append("--bare")
    folder.mkdir(parents=True)
    run_git(folder, *arguments)


def over_network(address: Address, folder: Path, *arguments: str) -> str:
    """Return the output of a git command that uses the network, without prompts. Raise TeamError."""
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
        own["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"  # In batch mode, ssh also does not prompt.
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
        problem = done.stderr.decode("utf-8", "replace").strip() or f"it ended with code {done.returncode}"
        for secret in filter(None, (address.password, address.user if address.password else "")):
            problem = problem.replace(secret, "***")
        raise TeamError(
            f"git cannot fetch {address.url}: {problem}\n"
            "Check the URL and that this machine may read the repository: git cannot ask for a password here."
        )
    return done.stdout.decode("utf-8", "replace")


def configured(folder: Path, key: str) -> str:
    """Return a value of git's configuration, or "" if it is not set."""
    try:
        return run_git(folder, "config", "--get", key).decode("utf-8", "replace").strip()
    except TeamError:  # git exits with code 1 if the value is not set.
        return ""
