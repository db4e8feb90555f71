"""Files as `file:` URIs below the URI of their folder, without a look at the disk."""

from __future__ import annotations

from urllib.parse import quote, unquote


def file_uri(folder: str, path: str) -> str:
    """The URI of the file at `path` in the folder whose URI is `folder`; "" where that is not known."""
    return _inside(folder) + quote(path, errors="surrogateescape") if folder else ""


def path_below(folder: str, uri: str) -> str | None:
    """The path in the folder of the file that `file_uri` gave `uri`; None where it does not lie there."""
    inside = _inside(folder)
    return unquote(uri.removeprefix(inside), errors="surrogateescape") if uri.startswith(inside) else None


def _inside(folder: str) -> str:
    return folder.removesuffix("/") + "/"
