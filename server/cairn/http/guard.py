"""Access control of HTTP: a request needs a `Host` header for this server, a token, and no foreign origin.

Every program of the machine can connect, even a browser that shows a hostile page. A page of another origin
cannot set the token's header, and a page whose host name was redirected to this machine (DNS rebinding) names
the wrong host.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from cairn.errors import InvalidRequestError
from cairn.http.refusals import RefusedError
from cairn.operations.tokens import Callers
from cairn.text.uris import numeric

_HTTP_PORT = 80
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback_host(host: str) -> bool:
    """Return whether a `Host` header names loopback."""
    place = _place(host)
    return place is not None and _bracketed(place[0]) in _LOOPBACK


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches the IP address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


class Guard:
    """Checks the head of each request."""

    def __init__(self, callers: Callers, address: str, port: int, names: Collection[str] = ()) -> None:
        """Create the guard of a server at this address; `names` are the `Host` values that proxies send."""
        self._callers = callers
        self._port = port
        self._names = {*_LOOPBACK, _bracketed(address)}
        self._proxied = frozenset(name.lower() for name in names)
        # Other machines reach this one by its host name or any of its addresses.
        self._any_address = not is_loopback(address)
        if self._any_address:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def check_place(self, headers: Headers) -> None:
        """Raise RefusedError for a request with another host, or from a web page of another origin."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_here(hosts[0]):
            raise RefusedError("wrongHost", f"Host must name this server, such as 127.0.0.1:{self._port}.")
        for origin in headers.getlist("origin"):
            if not self._is_own(origin, hosts[0]):
                raise RefusedError(
                    "forbiddenOrigin", "Web pages of other origins may not send requests here."
                )

    async def caller(self, headers: Headers) -> str:
        """Return the name of the caller. Raises RefusedError for a request without a valid token."""
        given = headers.getlist("authorization")
        scheme, _, value = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        found = await self._callers.caller(value.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            message = f"Send {self._callers.remedy} as `Authorization: Bearer …`."
            raise RefusedError("unauthorized", message, headers={"www-authenticate": 'Bearer realm="cairn"'})
        return found

    def _is_here(self, host: str) -> bool:
        if host.lower() in self._proxied:
            return True
        name, port = _place(host) or ("", 0)
        is_known = _bracketed(name) in self._names or (self._any_address and _is_address(name))
        return is_known and port == self._port

    def _is_own(self, origin: str, host: str) -> bool:
        """Return whether the origin is this server, under the name that the request uses."""
        scheme, _, named = origin.partition("://")
        # The user's proxy adds TLS under the name that the user has configured.
        if scheme.lower() == "https" and host.lower() in self._proxied:
            return named.lower() == host.lower()
        place = _place(named)
        if scheme.lower() != "http" or place is None:
            return False
        # Every name of loopback means this server: a page of another machine cannot have such an origin.
        is_loopback_name = _bracketed(place[0]) in _LOOPBACK and place[1] == self._port
        return place == _place(host) or (is_loopback_name and not self._any_address)


def _place(host: str) -> tuple[str, int] | None:
    """Return the name in lower case and the port of a `Host` header; None if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port or _HTTP_PORT
    except ValueError:
        return None
    if not host or parts.netloc != host or "@" in host:
        return None
    return (parts.hostname or "").removesuffix("."), port


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _is_address(name: str) -> bool:
    # DNS rebinding redirects names only, so an address is safe.
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def resolved(host: str, *, allow_remote: bool) -> str:
    """Return the IP address to listen at. For `localhost` that is 127.0.0.1, which clients use.

    Raises InvalidRequestError if other machines could reach it, unless `allow_remote` is set.
    """
    host = numeric(host)
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        message = f"{host!r} is not an address of this machine ({problem})"
        raise InvalidRequestError("--host", message) from None
    addresses = [str(address[0]) for *_, address in found]
    if not allow_remote and not all(map(is_loopback, addresses)):
        raise InvalidRequestError(
            "--host",
            f"other machines may reach {host!r}. Use 127.0.0.1, or add --allow-remote: then everyone with "
            "the token, which crosses the network unencrypted, can read the whole index",
        )
    return addresses[0]
