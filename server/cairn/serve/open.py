"""`cairn open`: gets a one-time link to the page of a running server.

A token goes only to the server that it is for. A server of this user proves itself first, and gets a proof
instead of the token. A team's token goes to `team.url` or, without that setting, over TLS to the server that
the user names. No request follows a redirect, which could lead to another server.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from cairn.attach.time_limit import ended_after
from cairn.errors import CairnError, InvalidRequestError
from cairn.text.uris import numeric

_TIMEOUT_SECONDS = 30.0
_MOST_BYTES = 4_096
_PORTS = {"http": 80, "https": 443}
_LINK = re.compile(r"/ui/sign-in\?code=([\w-]{1,100})", re.ASCII)
_FAILURES = (URLError, http.client.HTTPException, OSError, ValueError)


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
    from cairn.serve.page import recorded_url

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
    from cairn.web.identity import NONCE, SCHEME, credentials

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
