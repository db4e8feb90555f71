"""Who may see the pages: browsers that have a session, and that ask for themselves.

Cookies know no ports, so every server of this machine is the same site to a browser, and its pages can make requests that
carry the cookie. Each request therefore must come from a page of this server or be a person's own navigation.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from attrs import frozen
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cairn.http.errors import RefusedError
from cairn.operations.tokens import Callers
from cairn.web.addresses import LINK, ROOT, SEARCH, SIGN_IN, own_address, sign_in_address
from cairn.web.ahead import load_ahead
from cairn.web.rendering import plain_page
from cairn.web.sessions import Links, Sessions

_MOST_FORM_BYTES = 4_096
_ELSEWHERE = ("cross-site", "same-site")
_USED = "This link was used already, or is too old. Run `cairn open` for another one."


@frozen
class Door:
    """Signs browsers in and out, and knows whose session a request has."""

    callers: Callers
    sessions: Sessions
    links: Links
    seconds: float
    """How long a session lasts."""

    def check_navigation(self, request: Request) -> None:
        """Raises RefusedError for a request that a page of another origin made."""
        headers = request.headers
        if headers.get("sec-fetch-site") in _ELSEWHERE and (
            request.method != "GET"
            or headers.get("sec-fetch-mode") != "navigate"
            or headers.get("sec-fetch-dest") != "document"
        ):
            raise RefusedError("forbiddenOrigin", "Web pages of other origins may not ask here.")

    async def caller(self, request: Request) -> str | None:
        """Whose session the request has; None for none that is valid."""
        token = self.sessions.token(self._cookie(request))
        return None if token is None else await self.callers.caller(token)

    def came_from_elsewhere(self, request: Request) -> bool:
        """Whether the browser followed a link of another site, and so kept the cookie back."""
        return request.headers.get("sec-fetch-site") in _ELSEWHERE and not self._cookie(request)

    async def link(self, request: Request) -> Response:
        """`POST /ui/link` with the token: an address that signs in one browser."""
        load_ahead()
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or await self.callers.caller(token.strip()) is None:
            raise RefusedError("unauthorized", f"Send {self.callers.remedy} as `Authorization: Bearer …`.")
        return Response(
            sign_in_address(self.links.make(token.strip())), media_type="text/plain", status_code=201
        )

    async def sign_in(self, request: Request) -> Response:
        """`GET` with the code of a one-time link, or `POST` with a form that has the token."""
        if request.method == "POST":
            form = await self._form(request)
            token = form.get("token", "").strip()
            if await self.callers.caller(token) is None:
                return self.sign_in_page(
                    request, "This is not a token that is known here.", form.get("next", "")
                )
            return self._entered(request, self.sessions.begin(token), form.get("next", ""))
        code = request.query_params.get("code", "")
        wanted = request.query_params.get("next", "")
        if not code:
            return self.sign_in_page(request, "", wanted)
        cookie = self.links.use(code)
        return self._entered(request, cookie, wanted) if cookie else self.sign_in_page(request, _USED, wanted)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        self.sessions.end(self._cookie(request))
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(cookie_name(request), path=ROOT, httponly=True, samesite="strict")
        return answer

    def sign_in_page(self, request: Request, problem: str = "", wanted: str = "") -> Response:
        """What those see who have no session. It leads to the page that they wanted."""
        shown = own_address(wanted or _address(request))
        shown = SEARCH if shown.startswith((SIGN_IN, LINK)) else shown
        return plain_page(
            request, "sign_in.html", 401, problem=problem, wanted=shown, remedy=self.callers.remedy
        )

    def _entered(self, request: Request, cookie: str, wanted: str) -> Response:
        load_ahead()
        answer = RedirectResponse(own_address(wanted), 303)
        answer.set_cookie(
            cookie_name(request),
            cookie,
            max_age=int(self.seconds),
            path=ROOT,
            httponly=True,
            samesite="strict",
            secure=request.headers.get("x-forwarded-proto") == "https",
        )
        return answer

    def _cookie(self, request: Request) -> str:
        return cookie_of(request, cookie_name(request))

    async def _form(self, request: Request) -> dict[str, str]:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_FORM_BYTES:
                raise RefusedError("tooLarge", f"The form has more than {_MOST_FORM_BYTES:,} bytes.")
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        return {name: values[0] for name, values in fields.items()}


def cookie_name(request: Request) -> str:
    """The cookie's name, with the port: servers at several ports of a host would overwrite each other's."""
    port = request.url.port
    return f"cairn_session_{port}" if port else "cairn_session"


def cookie_of(request: Request, name: str) -> str:
    """The value of a cookie; "" where there is none, or what is there cannot be read."""
    try:
        found = SimpleCookie(request.headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _address(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path
