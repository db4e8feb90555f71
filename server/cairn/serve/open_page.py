"""`cairn open`: gets a one-time link to the page of a running server, and opens it in the browser.

A token goes only to the server that it is for. A server of this user proves itself first, and gets a proof
instead of the token. A team's token goes to `team.url` or, without that setting, over TLS to the server that
the user names. No request follows a redirect, which could lead to another server.

All users of a machine can read command lines, and the first one who uses the link is signed in. So the
browser's command line names a private file that leads to the link, which is deleted when the link was used.
"""

from __future__ import annotations

import atexit
import html
import http.client
import os
import re
import secrets
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from cairn.errors import CairnError, InvalidRequestError
from cairn.paths import data_dir, write_private
from cairn.startup.timers import ended_after
from cairn.text.uris import numeric

_TIMEOUT_SECONDS = 30.0
_MOST_BYTES = 4_096
_PORTS = {"http": 80, "https": 443}
_LINK = re.compile(r"/ui/sign-in\?code=([\w-]{1,100})", re.ASCII)
_FAILURES = (URLError, http.client.HTTPException, OSError, ValueError)
USE_SECONDS = 20.0
"""How long to wait until the browser uses the link. A browser takes up to ten seconds to start."""
_POLL_SECONDS = 0.2
_OLD_SECONDS = 600.0
_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Cairn</title>
<meta http-equiv="refresh" content="0; url={link}">
<p><a href="{link}">Continue to Cairn</a></p>
"""
_SNAP = re.compile(r"([a-z0-9-]+)_[\w.-]+\.desktop")
"""The name of a desktop file of a snap."""


def is_address(place: str) -> bool:
    return place.lower().startswith(("http://", "https://"))


def link_at(url: str) -> str:
    """Request a link from a server of this user or of a team. Raises CairnError."""
    from cairn.settings.layers import Layers

    base, team = _base(url), Layers().without_workspace().settings.team.url
    team_base = _base(team) if team else ""
    if base.startswith("https://"):
        if team_base not in ("", base):
            raise CairnError(
                f"Your token is for {team_base}, the server of team.url. Open {base}/ui/sign-in in a browser "
                "with a token of that server, or change team.url."
            )
        return _team_link(base)
    if base == team_base and urlsplit(base).hostname in ("127.0.0.1", "::1"):
        with suppress(CairnError):
            return _own_link(base)
        return _team_link(base)
    return _own_link(base)


def running_link(folder: Path) -> str:
    """Request a link to the page of a running server that has the folder open; "" if no server has."""
    from cairn.serve.page_records import recorded_url

    url = recorded_url(folder)
    if not url:
        return ""
    try:
        return _own_link(url)
    except CairnError:  # The server was killed, or another one uses its port.
        return ""


def is_unused(link: str) -> bool | None:
    """Return whether the link can still sign in a browser; None if its server does not say."""
    from cairn.web.addresses import LINK_STATE

    parts = urlsplit(link)
    code = parts.query.removeprefix("code=").encode()
    try:
        return _sent(f"{parts.scheme}://{parts.netloc}{LINK_STATE}", code, {}) == "unused"
    except _FAILURES:
        return None


# --- a server of this user -----------------------------------------------------------------------------


def _own_link(base: str) -> str:
    """Request a link from a server that proves to know this machine's token. Raises CairnError.

    The link has the IP address of the connection, since a browser could connect to another one of the host.
    """
    from cairn.attach.proof import fresh_nonce
    from cairn.operations.tokens import serve_token, token_path
    from cairn.web.addresses import IDENTITY, LINK
    from cairn.web.sessions import NONCE, SCHEME, credentials

    nonce, proved, path = fresh_nonce(), None, ""
    try:
        with _connected(base) as (connection, address):
            if token_path().exists():
                answer = _answer(connection, IDENTITY, {NONCE: nonce})
                proved = credentials(serve_token().value, address, nonce, answer)
            if proved is not None:
                path = _answer(connection, LINK, {"Authorization": f"{SCHEME} {proved}"})
    except _FAILURES as problem:
        raise _silent(base, problem) from None
    if proved is None:
        raise CairnError(
            f"{base} does not prove that it is your `cairn serve`, so it gets no token. Restart your server "
            "if it is of an older version. Name a team's server by its https:// URL or, if it is on this "
            "machine, in team.url."
        )
    return _link(_place("http", *address), path)


@contextmanager
def _connected(base: str) -> Iterator[tuple[http.client.HTTPConnection, tuple[str, int]]]:
    """Connect without a proxy, for half a minute. Yield the connection and its IP address and port.

    The limit also holds for a server that sends byte by byte. Raises OSError.
    """
    parts = urlsplit(base)
    connection = http.client.HTTPConnection(
        numeric(parts.hostname or ""), parts.port, timeout=_TIMEOUT_SECONDS
    )
    connection.connect()
    connection.auto_open = 0  # Another program could listen by the time of a second connection.
    opened = connection.sock
    try:
        connection.host, connection.port = opened.getpeername()[:2]  # This also sets the header `Host`.
        with ended_after(opened, _TIMEOUT_SECONDS):
            yield connection, (connection.host, connection.port)
    finally:
        connection.close()


def _answer(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> str:
    """Return the text of a successful response, else ""."""
    connection.request("POST", path, b"", dict(headers))
    response = connection.getresponse()
    text = response.read(_MOST_BYTES).decode("ascii", "replace")
    return text if response.status in (200, 201) else ""


# --- a team's server -----------------------------------------------------------------------------------


def _team_link(base: str) -> str:
    from cairn.settings.team_token import team_token
    from cairn.web.addresses import LINK

    try:
        token = team_token()
    except InvalidRequestError as problem:
        raise CairnError(f"{base} needs a token: {problem}") from None
    try:
        return _link(base, _sent(base + LINK, b"", {"Authorization": f"Bearer {token}"}))
    except HTTPError as problem:
        if problem.code == 401:
            raise CairnError(f"{base} does not accept your token.") from None
        raise CairnError(f"{base} does not show a page ({problem.code}); is it a `cairn serve`?") from None
    except _FAILURES as problem:
        raise _silent(base, problem) from None


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Return None, so that a redirect raises HTTPError."""


def _sent(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Return the text of the response to a POST request. Raises one of `_FAILURES`."""
    # A proxy cannot reach a server of this machine.
    proxies = [ProxyHandler({})] if url.startswith("http://") else []
    request = Request(url, body, {"Content-Type": "text/plain", **headers}, method="POST")
    with build_opener(_NoRedirects, *proxies).open(request, timeout=_TIMEOUT_SECONDS) as answer:
        text: str = answer.read(_MOST_BYTES).decode("ascii", "replace")
    return text


# --- URLs ----------------------------------------------------------------------------------------------


def _base(url: str) -> str:
    """Return the server's URL without a path. Raises InvalidRequestError if it is not the URL of a server."""
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:  # An example is a URL with an unclosed bracket of an IPv6 address.
        scheme, host, port = "", "", None
    if scheme not in _PORTS or not host or not host.isascii() or port == 0 or "@" in parts.netloc:
        raise InvalidRequestError("url", f"{url!r} is not the URL of a server, such as http://127.0.0.1:7420")
    return _place(scheme, host if scheme == "https" else numeric(host), port or _PORTS[scheme])


def _place(scheme: str, host: str, port: int) -> str:
    """Return the URL of a server, without the usual port of the scheme."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" if port == _PORTS[scheme] else f"{scheme}://{shown}:{port}"


def _link(base: str, path: str) -> str:
    """Return the link to `path`, if that is the address of a sign-in. Raises CairnError."""
    if not _LINK.fullmatch(path):
        raise CairnError(f"{base} gives no link to a page; is it a `cairn serve` of this version?")
    return base + path


def _silent(base: str, problem: BaseException) -> CairnError:
    reason = getattr(problem, "reason", problem)
    return CairnError(f"{base} does not answer ({reason}). Is `cairn serve` running there?")


# --- the browser ---------------------------------------------------------------------------------------


def show(link: str) -> bool:
    """Open the link in the browser. Return False if there is no browser, or it does not use the link."""
    if not _has_desktop():
        return False
    try:
        with _page(link) as page:
            return _is_used(link, page.as_uri())
    except OSError:  # The file cannot be written.
        return False


def _is_used(link: str, address: str) -> bool:
    """Open the address in the browser, and wait until the link is used. Return False if it is not."""
    opened: list[bool] = []
    # A browser in the terminal returns when it ends.
    browser = threading.Thread(target=lambda: opened.append(_open(address)), name="cairn-browser")
    browser.daemon = True
    browser.start()
    deadline = time.monotonic() + USE_SECONDS
    while (unused := is_unused(link)) is not False:
        if opened == [False]:
            return False
        if time.monotonic() > deadline:
            return unused is None  # The server does not say.
        time.sleep(_POLL_SECONDS)
    browser.join()
    return True


def show_soon(link: str) -> None:
    """Open the link in the browser, on a thread, since this process has to serve the page."""
    threading.Thread(target=show, args=(link,), daemon=True, name="cairn-show").start()


def _open(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def _has_desktop() -> bool:
    # A browser inside the terminal would hide the server's output.
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _page(link: str) -> Iterator[Path]:
    """Write a private page that leads to the link, and delete it afterwards. Raises OSError."""
    folder = _folder_of_snap() or data_dir() / "links"
    for old in folder.glob("*.html"):  # A killed process leaves its file behind.
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - _OLD_SECONDS:
                old.unlink()
    file = folder / f"{secrets.token_hex(8)}.html"

    def delete() -> None:
        with suppress(OSError):  # On Windows, the browser may be reading it.
            file.unlink()

    atexit.register(delete)  # A thread may still wait at the end of the process.
    try:
        write_private(file, _PAGE.format(link=html.escape(link)))
        yield file.absolute()
    finally:
        delete()
        atexit.unregister(delete)


def _folder_of_snap() -> Path | None:
    """Return a folder that the default browser can read if it is a snap; these read no hidden folders."""
    if sys.platform != "linux" or os.environ.get("BROWSER"):
        return None
    try:
        command = ["xdg-settings", "get", "default-web-browser"]
        named = subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    snap = _SNAP.fullmatch(named)
    folder = Path.home() / "snap" / snap[1] / "common" if snap else None
    return folder / "cairn" if folder is not None and folder.is_dir() else None
