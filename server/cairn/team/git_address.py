"""The address of a repository: a folder, or a clone URL without secrets."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attrs import field, frozen

from cairn.errors import InvalidRequestError

PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""The allowed protocols. Git's `ext` is not allowed, because it runs any program that a URL names."""
_SCP = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//|:)[^\s\0]+")
"""The notation of `scp`: `git@host:group/project.git`."""


@frozen
class Address:
    folder: Path | None
    """The folder; None for a clone URL."""
    url: str
    """The URL without user and password, or the folder's path. It may be shown and stored."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The last part of the URL or path, without `.git`."""
        last = re.split(r"[/\\:]", self.url.rstrip("/\\"))[-1]
        return last.removesuffix(".git") or "repository"

    @property
    def place(self) -> str:
        """The result of `place_of` for the URL; "" for a folder."""
        return place_of(self.url) if self.folder is None else ""


def place_of(url: str) -> str:
    """Return the host and path of a clone URL, the same for all protocols; "" for a local URL."""
    if "://" in url:
        parts = urlsplit(url)
        if parts.scheme not in PROTOCOLS or parts.scheme == "file":
            return ""
        host, path = parts.hostname or "", parts.path
    elif _SCP.fullmatch(url):
        host, _, path = url.rpartition("@")[2].partition(":")
    else:
        return ""
    return f"{host}/{path.strip('/').removesuffix('.git')}".lower()


def read_address(source: str) -> Address:
    """Return the address of a folder or clone URL. Raise InvalidRequestError for anything else."""
    folder = Path(source)
    if source and folder.is_dir():
        return Address(folder.resolve(), str(folder.resolve()))
    if "://" in source:
        return _url(source)
    if _SCP.fullmatch(source) and len(source.partition(":")[0]) > 1:  # A single letter is a Windows drive.
        return Address(None, source)
    raise InvalidRequestError(
        "repository",
        f"{_shown(source)} is neither a folder nor a clone URL such as https://host/group/project.git",
    )


def without_secrets(url: str) -> str:
    """Return a URL without user and password. The user of an ssh URL is not secret, and is kept."""
    if "://" not in url:
        return url
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if scheme == "ssh" and at:
        host = f"{user.partition(':')[0]}@{host}"
    return f"{scheme}://{host}{slash}{path}"


def _url(source: str) -> Address:
    scheme = source.partition("://")[0]
    if scheme not in PROTOCOLS or re.search(r"[\s\0]", source):
        raise InvalidRequestError(
            "repository",
            f"{_shown(source)} is not a clone URL; its protocol must be one of {', '.join(PROTOCOLS)}",
        )
    try:
        parts = urlsplit(source)
    except ValueError:
        raise InvalidRequestError("repository", f"{_shown(source)} is not a valid URL") from None
    if parts.netloc.startswith("-") or (parts.hostname or "").startswith("-"):
        raise InvalidRequestError("repository", f"{_shown(source)} has a name that begins with a dash")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if scheme not in ("http", "https"):
        user = password = ""
    return Address(None, without_secrets(source), user, password)


def _shown(source: str) -> str:
    return repr(without_secrets(source))[1:-1][:200] or "nothing"
