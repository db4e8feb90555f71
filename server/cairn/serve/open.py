"""`cairn open`: the page in the browser, shown by a server that runs already or by this process."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from cairn.errors import CairnError, InvalidRequestError

_PATIENCE_SECONDS = 10.0
_MOST_BYTES = 4_096


def is_address(place: str) -> bool:
    """Whether it is the address of a server, and not a folder."""
    return place.startswith(("http://", "https://"))


def link_of(url: str, token: str) -> str:
    """A one-time link to the page of the server at `url`. Raises CairnError where it cannot be had."""
    from cairn.web.addresses import LINK

    base = _base(url)
    asked = Request(f"{base}{LINK}", b"", {"Authorization": f"Bearer {token}"}, method="POST")
    # A server of this machine is not asked through a proxy.
    opener = build_opener(ProxyHandler({})) if _is_here(base) else build_opener()
    try:
        with opener.open(asked, timeout=_PATIENCE_SECONDS) as answer:
            path = answer.read(_MOST_BYTES).decode("ascii", "replace")
    except HTTPError as problem:
        if problem.code == 401:
            raise CairnError(f"{base} does not know your token.") from None
        raise CairnError(f"{base} does not show a page ({problem.code}); is it a `cairn serve`?") from None
    except (URLError, HTTPException, OSError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        raise CairnError(f"{base} does not answer ({reason}). Is `cairn serve` running there?") from None
    return f"{base}{path}"


def link_at(url: str) -> str:
    """A link to the page of the server at `url`, by this machine's own token or by that of a team. Raises CairnError."""
    from cairn.engine.team import team_token
    from cairn.operations.tokens import serve_token, token_path

    url = _base(url)
    if _is_here(url) and token_path().exists():
        try:
            return link_of(url, serve_token().value)
        except CairnError as problem:
            if "token" not in str(problem):
                raise
    try:
        token = team_token()
    except InvalidRequestError as problem:
        raise CairnError(f"{url} needs a token: {problem}") from None
    return link_of(url, token)


def running_link(folder: Path) -> str:
    """A link to the page of a server that has the folder open; "" where there is none that answers."""
    from cairn.operations.tokens import serve_token
    from cairn.serve.page import recorded_url

    url = recorded_url(folder)
    if not url:
        return ""
    try:
        return link_of(url, serve_token().value)
    except CairnError:  # It was killed, or another server has its port.
        return ""


def show(link: str) -> bool:
    """Open the link in the browser; whether that could be done."""
    return _has_screen() and _opened(link)


def show_soon(link: str) -> None:
    """Open the link in the browser, beside the server that is to show it."""
    if _has_screen():
        threading.Thread(target=_opened, args=(link,), daemon=True, name="cairn-browser").start()


def _opened(link: str) -> bool:
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


def _has_screen() -> bool:
    """A browser that draws in the terminal would take it away from the server."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _base(url: str) -> str:
    """The server's URL, without its page. Raises InvalidRequestError for what is not the URL of a server."""
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0:
            return f"{parts.scheme}://{parts.netloc}"
    except ValueError:  # such as brackets that do not close
        pass
    raise InvalidRequestError("url", f"{url!r} is not the URL of a server, such as http://127.0.0.1:7420")


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
