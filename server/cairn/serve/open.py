"""`cairn open`: opens the page of a running server, or of a server in this process, in the browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from cairn.errors import CairnError, InvalidRequestError

_TIMEOUT_SECONDS = 10.0
_MOST_BYTES = 4_096


class _UnknownTokenError(CairnError):
    """The server does not accept the token."""


def is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def link_of(url: str, token: str) -> str:
    """Request a one-time link to the page of the server at `url`. Raises CairnError."""
    from cairn.web.addresses import LINK

    base = _base(url)
    request = Request(f"{base}{LINK}", b"", {"Authorization": f"Bearer {token}"}, method="POST")
    # A proxy cannot reach a server of this machine.
    opener = build_opener(ProxyHandler({})) if _is_here(base) else build_opener()
    try:
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            path = answer.read(_MOST_BYTES).decode("ascii", "replace")
    except HTTPError as problem:
        if problem.code == 401:
            raise _UnknownTokenError(f"{base} does not accept your token.") from None
        raise CairnError(f"{base} does not show a page ({problem.code}); is it a `cairn serve`?") from None
    except (URLError, HTTPException, OSError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        raise CairnError(f"{base} does not answer ({reason}). Is `cairn serve` running there?") from None
    return f"{base}{path}"


def link_at(url: str) -> str:
    """Request a link with this machine's own token or with a team's. Raises CairnError."""
    from cairn.engine.team import team_token
    from cairn.operations.tokens import TokenError, serve_token, token_path

    url = _base(url)
    if _is_here(url) and token_path().exists():
        with suppress(_UnknownTokenError, TokenError):
            return link_of(url, serve_token().value)
    try:
        token = team_token()
    except InvalidRequestError as problem:
        raise CairnError(f"{url} needs a token: {problem}") from None
    return link_of(url, token)


def running_link(folder: Path) -> str:
    """Request a link to the page of a running server that has the folder open; "" if no server has."""
    from cairn.operations.tokens import serve_token
    from cairn.serve.page import recorded_url

    url = recorded_url(folder)
    if not url:
        return ""
    try:
        return link_of(url, serve_token().value)
    except CairnError:  # The server was killed, or another one uses its port.
        return ""


def show(link: str) -> bool:
    """Open the link in the browser; return False if that fails."""
    return _has_desktop() and _open(link)


def show_soon(link: str) -> None:
    """Open the link in the browser, on a thread, since this process has to serve the page."""
    if _has_desktop():
        threading.Thread(target=_open, args=(link,), daemon=True, name="cairn-browser").start()


def _open(link: str) -> bool:
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


def _has_desktop() -> bool:
    # A browser inside the terminal would hide the server's output.
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _base(url: str) -> str:
    """Return the server's URL without a path. Raises InvalidRequestError if it is not the URL of a server."""
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0:
            return f"{parts.scheme}://{parts.netloc}"
    except ValueError:  # An example is a URL with an unclosed bracket of an IPv6 address.
        pass
    raise InvalidRequestError("url", f"{url!r} is not the URL of a server, such as http://127.0.0.1:7420")


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
