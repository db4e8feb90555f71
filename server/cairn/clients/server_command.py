"""The command with which clients start this installation's `cairn`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from cairn.clients.table import Machine
from cairn.errors import CairnError


def server_command(machine: Machine, started: str = sys.argv[0]) -> str:
    """Return `cairn` if the PATH leads to it without an activated environment, else its full path.

    A client does not run in the activated environment, so it has another PATH. `started` is the command of
    this process. Raise CairnError if this installation has no command.
    """
    own = _own(Path(started))
    active = machine.variables.get("VIRTUAL_ENV")
    path = machine.variables.get("PATH", "")
    kept = [each for each in path.split(os.pathsep) if not (active and Path(each).is_relative_to(active))]
    found = shutil.which("cairn", path=os.pathsep.join(kept))
    if own is None:
        if found is None:
            raise CairnError(
                "The command cairn is not installed. Install Cairn as its README says, then run this again."
            )
        return "cairn"
    return "cairn" if found is not None and _is_same(Path(found), own) else str(own)


def _own(started: Path) -> Path | None:
    """Return the command of this installation: as it was run, or in its environment's scripts folder."""
    name = "cairn.exe" if os.name == "nt" else "cairn"
    places = (started, Path(sysconfig.get_path("scripts")) / name)
    return next(
        (each.absolute() for each in places if each.name.lower() in ("cairn", name) and each.is_file()), None
    )


def _is_same(one: Path, other: Path) -> bool:
    return one == other or one.resolve() == other.resolve()
