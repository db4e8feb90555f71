"""The token of whoever tries the store out on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.index.remote.token import FILE
from cairn.settings.sources import user_file
from cairn.team.store import OwnedStore

READER = "me"


def keep_own_token(store: OwnedStore) -> Path:
    """The file with a token that sees everything, made where there is none that works."""
    file = user_file().with_name(FILE)
    store.grant(READER, (), everything=True)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w", encoding="ascii") as opened:
            opened.write(store.token(READER, "the trial on this machine") + "\n")
    return file
