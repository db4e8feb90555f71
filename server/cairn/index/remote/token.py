"""The token by which this machine's user is known to a team's server."""

from __future__ import annotations

import os
import re
import stat

from cairn.errors import InvalidRequestError
from cairn.settings.sources import user_file

VARIABLE = "CAIRN_TEAM_TOKEN"
FILE = "team-token"


def team_token() -> str:
    """The token of the environment, or of the file `team-token` beside the user's settings.

    Raises InvalidRequestError where there is none, for what cannot be one, and for a file that others can read.
    """
    if token := os.environ.get(VARIABLE, "").strip():
        return _usable(token, VARIABLE)
    path = user_file().with_name(FILE)
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise InvalidRequestError(
                    "team.url", f"others can read {path}, which has your token; run: chmod 600 {path}"
                )
            token = file.read(1_000).strip()
    except OSError as problem:
        reason = (
            f"there is no {VARIABLE} and no {path}"
            if isinstance(problem, FileNotFoundError)
            else f"{path}: {problem.strerror}"
        )
        raise InvalidRequestError("team.url", f"is set without a token: {reason}") from problem
    if not token:
        raise InvalidRequestError("team.url", f"is set without a token: {path} is empty")
    return _usable(token, str(path))


def _usable(token: str, place: str) -> str:
    """The token, which is sent in a header. Raises InvalidRequestError for what would make another one of it, without quoting it."""
    if not re.fullmatch(r"[!-~]{1,500}", token):
        raise InvalidRequestError("team.url", f"is set without a token: {place} has something else in it")
    return token
