"""The token that identifies this machine's user to a team's server."""

from __future__ import annotations

import os
import re
import stat

from cairn.errors import InvalidRequestError
from cairn.settings.sources import user_file

VARIABLE = "CAIRN_TEAM_TOKEN"
FILE = "team-token"


def team_token() -> str:
    """Return the token from the environment, or from the file `team-token` beside the user's settings. Raises
    InvalidRequestError for a missing or malformed token, and for a file that others can read."""
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
        is_missing = isinstance(problem, FileNotFoundError)
        reason = f"there is no {VARIABLE} and no {path}" if is_missing else f"{path}: {problem.strerror}"
        raise InvalidRequestError("team.url", f"is set without a token: {reason}") from problem
    if not token:
        raise InvalidRequestError("team.url", f"is set without a token: {path} is empty")
    return _usable(token, str(path))


def _usable(token: str, place: str) -> str:
    """Return the token. Raises InvalidRequestError, without quoting it, if it would alter an HTTP header."""
    if not re.fullmatch(r"[!-~]{1,500}", token):
        raise InvalidRequestError("team.url", f"is set without a token: {place} has something else in it")
    return token
