"""The page of `cairn serve`, and the record by which `cairn open` finds a server."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import frozen
from starlette.types import ASGIApp

from cairn.engine.engine import Engine
from cairn.engine.runner import Runner
from cairn.operations.tokens import Callers, Token
from cairn.paths import data_dir, read_private, workspace_dir, write_private
from cairn.settings.tree import ServeSettings
from cairn.startup.figures import asked
from cairn.web.addresses import sign_in_address
from cairn.web.app import pages_app
from cairn.web.authentication import Authentication
from cairn.web.rendering import Served
from cairn.web.sessions import Identity, Links, MemorySessions, Sessions, SignedSessions

logger = logging.getLogger(__name__)

_RECORD = "page.json"
_MOST_BYTES = 1_024
_HOUR = 3_600.0


@frozen
class Pages:
    app: ASGIApp
    link: Callable[[], str]
    """Makes a one-time link and returns its path; "" if each reader has a separate token."""


def pages_for(url: str, runner: Runner, settings: ServeSettings, callers: Callers, engine: Engine) -> Pages:
    """Return the pages of `engine` at `url`, for clients with a token that `callers` accepts."""
    seconds = _HOUR * settings.session_hours
    own = callers if isinstance(callers, Token) else None
    file = sessions_file(url, [folder.root for folder in engine.folders])
    sessions: Sessions = SignedSessions(own, seconds, file) if own else MemorySessions(seconds)
    links = Links(sessions)
    served = Served(runner, settings, has_several=lambda: own is None or len(engine.folders) > 1)
    identity = Identity(own) if own else None
    app = pages_app(served, Authentication(callers, sessions, links, seconds, identity))
    return Pages(app, lambda: sign_in_address(links.make(own.value)) if own else "")


def sessions_file(url: str, folders: Iterable[Path]) -> Path:
    """Return the file for the sessions of the server that shows these folders at this URL."""
    server = json.dumps([url, *sorted(map(str, folders))])
    digest = hashlib.blake2b(server.encode(), digest_size=16).hexdigest()
    return data_dir() / "sessions" / f"{digest}.json"


@contextmanager
def page_records(url: str, folders: Iterable[Path]) -> Iterator[None]:
    """Within the context, record in the data folders of `folders` that the server at `url` shows them."""
    record: dict[str, object] = {"url": url, **_process_identity(os.getpid())}
    written = []
    for folder in folders:
        path = workspace_dir(folder) / _RECORD
        try:
            write_private(path, json.dumps(record))
        except OSError as problem:
            logger.warning("`cairn open` will not find this server for %s: %s", folder, problem)
        else:
            written.append(path)
    try:
        yield
    finally:
        for path in written:
            if _read(path) == record:
                with suppress(OSError):
                    path.unlink()


def recorded_url(folder: Path) -> str:
    """Return the URL of this user's running server that shows the folder; "" if there is none.

    A killed server leaves its record behind, and another process may get its number.
    """
    record = _read(workspace_dir(folder) / _RECORD)
    number = record.get("processId")
    runs = isinstance(number, int) and _process_identity(number).items() <= record.items()
    return str(record.get("url", "")) if runs else ""


def _process_identity(number: int) -> dict[str, object]:
    """Return the number and the start time of a process of this user, which together identify it uniquely."""

    def identity(psutil: Any) -> dict[str, object]:
        process = psutil.Process(number)
        is_own = process.username() == psutil.Process().username()
        return {"processId": number if is_own else None, "began": process.create_time()}

    return asked(identity) or {"processId": None}


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(read_private(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
