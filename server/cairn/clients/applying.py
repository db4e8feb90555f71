"""Writes the changes that `planning` decided on."""

from __future__ import annotations

import subprocess

from cairn.clients import files, record
from cairn.clients.editing import UneditableSettingsError, UnreadableSettingsError
from cairn.clients.hidden import own_command_shown
from cairn.clients.planning import WRITES, Change
from cairn.clients.table import Machine
from cairn.errors import CairnError

_SECONDS = 60
"""The timeout for running a client's own command."""


class NotWrittenError(CairnError):
    """A file could not be written as planned, and is unchanged."""


def apply(change: Change, machine: Machine) -> None:
    """Apply a change. Raise NotWrittenError if that fails."""
    path = change.path
    if change.state not in WRITES or path is None:
        return
    if change.commands:
        for command in change.commands:
            _run(command, change, machine)
        return
    try:
        if files.read(path, change.project) != change.before:
            raise NotWrittenError(f"{path} was changed in the meantime; run this again")
        if change.after is None:
            files.delete(path, change.project, with_folder=change.made.folder)
        else:
            # A client's settings may get a token later; instructions are for everyone.
            files.write(path, change.after, change.project, new_mode=0o600 if change.client else 0o666)
        if change.state == "added":
            record.remember(path, change.made)
        elif change.state == "removed":
            record.forget(path)
    except (UneditableSettingsError, UnreadableSettingsError) as problem:
        raise NotWrittenError(f"{path}: {problem}") from None
    except OSError as problem:
        raise NotWrittenError(f"{path}: {problem.strerror or problem}") from None


def _run(command: tuple[str, ...], change: Change, machine: Machine) -> None:
    program = machine.find(command[0])
    shown = own_command_shown(command, change.known)
    if program is None:
        raise NotWrittenError(f"`{shown}` cannot be run: there is no {command[0]} on the PATH")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            env=dict(machine.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotWrittenError(f"`{shown}` did not end within {_SECONDS} s") from None
    except OSError as problem:
        raise NotWrittenError(f"`{shown}` cannot be run: {problem}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise NotWrittenError(f"`{shown}` failed: {said or f'exit code {done.returncode}'}")
