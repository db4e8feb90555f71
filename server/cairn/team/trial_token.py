"""The access token for the trial store on this machine."""

from __future__ import annotations

from pathlib import Path

from cairn.paths import write_private
from cairn.settings.sources import user_file
from cairn.settings.team_token import FILE
from cairn.team.store import OwnedStore

READER = "me"


def ensure_trial_token(store: OwnedStore, folder: Path) -> Path:
    """Return a file with a valid token for all repositories, and create it if it is missing.

    This is the user's token file, or a file in `folder` if the user's has the token of another store.
    """
    store.grant(READER, (), everything=True)
    usual, own = user_file().with_name(FILE), folder / FILE
    for file in (usual, own):
        if not file.exists():
            write_private(file, store.token(READER, "the trial on this machine") + "\n")
            return file
        if store.knows(_read(file)):
            return file
    own.unlink()
    write_private(own, store.token(READER, "the trial on this machine") + "\n")
    return own


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # The path belongs to another user, or is a folder.
        return ""
