"""URIs of files and of a team's repositories, without reading the disk; and the hosts of URLs."""

from __future__ import annotations

from urllib.parse import quote, unquote

TEAM_SCHEME = "cairn-team"
"""The scheme of the URIs of a team's repositories and of their files."""


def repository_uri(repository: str) -> str:
    return f"{TEAM_SCHEME}:///{quote(repository)}"


def repository_name(uri: str) -> str:
    """Return the display name of the folder or the repository with this URI."""
    team = f"{TEAM_SCHEME}:///"
    return unquote(uri.removeprefix(team) if uri.startswith(team) else uri.rstrip("/").rpartition("/")[2])


def file_uri(folder: str, path: str) -> str:
    """Return the URI of the file at `path` in the folder whose URI is `folder`; "" if `folder` is unknown."""
    return _inside(folder) + quote(path, errors="surrogateescape") if folder else ""


def path_below(folder: str, uri: str) -> str | None:
    """Return the path in the folder of a `uri` that `file_uri` made; None if it is not in the folder."""
    inside = _inside(folder)
    return unquote(uri.removeprefix(inside), errors="surrogateescape") if uri.startswith(inside) else None


def numeric(host: str) -> str:
    """Return 127.0.0.1 for `localhost` and names below it, and any other host unchanged.

    Programs may connect to [::1] for `localhost`, where another user may listen.
    """
    name = host.lower().removesuffix(".")
    return "127.0.0.1" if name == "localhost" or name.endswith(".localhost") else host


def _inside(folder: str) -> str:
    return folder.removesuffix("/") + "/"
