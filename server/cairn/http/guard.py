"""Who may ask over HTTP: only a client that names this server, has its token, and is no web page of another
origin.

The port is open to every program of the machine, browsers with any page in them included. A page cannot set
the token's header across origins, and one whose name was made to lead here (DNS rebinding) names the wrong
host.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from cairn.errors import InvalidRequestError
from cairn.http.errors import RefusedError
from cairn.operations.tokens import Callers

_HTTP_PORT = 80
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback_host(host: str) -> bool:
    """Whether a `Host` header names this machine by a name that means it everywhere."""
    place = _place(host)
    return place is not None and _bracketed(place[0]) in _LOOPBACK


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches the IP address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


class Guard:
    """Looks at the head of each request."""

    def __init__(self, callers: Callers, address: str, port: int, names: Collection[str] = ()) -> None:
        """`address` is the IP address and `port` the port that the server listens at, `names` what else it is called."""
        self._callers = callers
        self._port = port
        self._names = {*_LOOPBACK, _bracketed(address)}
        self._elsewhere = frozenset(name.lower() for name in names)
        # Whom the user has let in from outside reaches this machine by a name or address of its own.
        self._any_address = not is_loopback(address)
        if self._any_address:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def check_place(self, headers: Headers) -> None:
        """Raises RefusedError for a request that was sent to somebody else, or by a page of somebody else."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_here(hosts[0]):
            raise RefusedError("wrongHost", f"Host must name this server, such as localhost:{self._port}.")
        for origin in headers.getlist("origin"):
            if not self._is_own(origin, hosts[0]):
                raise RefusedError("forbiddenOrigin", "Web pages of other origins may not ask here.")

    async def caller(self, headers: Headers) -> str:
        """Whose request it is. Raises RefusedError for one without a token that is known here."""
        given = headers.getlist("authorization")
        scheme, _, value = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        found = await self._callers.caller(value.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            message = f"Send {self._callers.remedy} as `Authorization: Bearer …`."
            raise RefusedError("unauthorized", message, headers={"www-authenticate": 'Bearer realm="cairn"'})
        return found

    def _is_here(self, host: str) -> bool:
        if host.lower() in self._elsewhere:
            return True
        name, port = _place(host) or ("", 0)
        is_known = _bracketed(name) in self._names or (self._any_address and _is_address(name))
        return is_known and port == self._port

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page of the origin came from where the request goes: from this server, by the same name."""
        scheme, _, named = origin.partition("://")
        # A proxy of the user's own adds TLS under a name that the user gave.
        if scheme.lower() == "https" and host.lower() in self._elsewhere:
            return named.lower() == host.lower()
        place = _place(named)
        if scheme.lower() != "http" or place is None:
            return False
        # The names of loopback are one place, where this listens there: no page of another machine has them.
        is_loopback_name = _bracketed(place[0]) in _LOOPBACK and place[1] == self._port
        return place == _place(host) or (is_loopback_name and not self._any_address)


def _place(host: str) -> tuple[str, int] | None:
    """The name in lower case and the port that a `Host` header names; None for what is none."""
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
    """An address cannot be made to lead elsewhere, as a name can."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def resolved(host: str, *, allow_remote: bool) -> str:
    """The IP address to listen at. Raises InvalidRequestError where others could reach it, unless that is
    allowed."""
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise InvalidRequestError("--host", f"{host!r} is no address of this machine ({problem})") from None
    addresses = [str(address[0]) for *_, address in found]
    if not allow_remote and not all(map(is_loopback, addresses)):
        raise InvalidRequestError(
            "--host",
            f"other machines may reach {host!r}. Use 127.0.0.1, or add --allow-remote: whoever has the token, which "
            "crosses the network unencrypted, can then read all that is indexed",
        )
    return addresses[0]
