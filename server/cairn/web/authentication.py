"""Access control of the pages: a request needs a session, and must not come from a page of another origin.

Browsers send a cookie to every port of a host, so a page of another server on this machine can send requests
with Cairn's cookie. Each request must therefore come from a page of this server or be a navigation.

During the sign-in, a thread loads the modules and templates of the first answer, which saves half a second.
"""

from __future__ import annotations

import functools
import importlib
import threading
from urllib.parse import parse_qs

from attrs import frozen
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cairn.engine.methods import METHODS
from cairn.http.refusals import RefusedError
from cairn.operations.tokens import Callers
from cairn.web.addresses import LINK, ROOT, SEARCH, SIGN_IN, own_address, sign_in_address
from cairn.web.code_markup import code_lines
from cairn.web.rendering import compile_templates, plain_page
from cairn.web.sessions import NONCE, SCHEME, Identity, Links, Sessions

_MOST_FORM_BYTES = 4_096
_ELSEWHERE = ("cross-site", "same-site")
_USED = "This link was used already, or is too old. Run `cairn open` for another one."


@frozen
class Authentication:
    """Signs browsers in and out, and finds the caller of a request."""

    callers: Callers
    sessions: Sessions
    links: Links
    seconds: float
    identity: Identity | None
    """The proofs for this machine's token; None if each reader has a token."""

    def check_navigation(self, request: Request) -> None:
        """Raise RefusedError for a request from a page of another origin."""
        headers = request.headers
        if headers.get("sec-fetch-site") in _ELSEWHERE and (
            request.method != "GET"
            or headers.get("sec-fetch-mode") != "navigate"
            or headers.get("sec-fetch-dest") != "document"
        ):
            raise RefusedError("forbiddenOrigin", "Web pages of other origins may not send requests here.")

    async def caller(self, request: Request) -> str | None:
        """Return the name of the caller; None without a valid session."""
        token = self.sessions.token(self._cookie(request))
        return None if token is None else await self.callers.caller(token)

    def lacks_cookie(self, request: Request) -> bool:
        """Return whether the browser sent no cookie because it followed a link of another site."""
        return request.headers.get("sec-fetch-site") in _ELSEWHERE and not self._cookie(request)

    async def identify(self, request: Request) -> Response:
        """Answer `POST /ui/identity` with a nonce, and the proof that this server knows the user's token."""
        nonce = request.headers.get(NONCE, "")
        if self.identity is None or not nonce:
            raise RefusedError(
                "notFound", "Only a server of folders proves itself, to a client with a nonce."
            )
        return Response(self.identity.answer(request.scope["server"], nonce), media_type="text/plain")

    async def link(self, request: Request) -> Response:
        """Answer `POST /ui/link` of a client that has the token with an address that signs in one browser."""
        preload()
        token = await self._token(request)
        if token is None:
            raise RefusedError("unauthorized", f"Send {self.callers.remedy} as `Authorization: Bearer …`.")
        address = sign_in_address(self.links.make(token))
        return Response(address, media_type="text/plain", status_code=201)

    async def _token(self, request: Request) -> str | None:
        """Return the token that the request contains or proves to know; None if it has no valid one."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        given = given.strip()
        if scheme.lower() == "bearer":
            return given if await self.callers.caller(given) is not None else None
        if scheme.lower() != SCHEME or self.identity is None:
            return None
        return self.identity.proved_token(request.scope["server"], given)

    async def link_state(self, request: Request) -> Response:
        """Answer whether the link with the code in the body can be used; only the link's maker knows it."""
        code = (await self._body(request)).decode("ascii", "replace")
        return Response("unused" if self.links.is_unused(code) else "over", media_type="text/plain")

    async def sign_in(self, request: Request) -> Response:
        """Answer a `GET` with the code of a one-time link, or a `POST` of the form with the token."""
        if request.method == "POST":
            form = await self._form(request)
            token, wanted = form.get("token", "").strip(), form.get("next", "")
            if await self.callers.caller(token) is None:
                return self.sign_in_page(request, "The server does not know this token.", wanted)
            return self._signed_in(request, self.sessions.begin(token), wanted)
        code = request.query_params.get("code", "")
        wanted = request.query_params.get("next", "")
        if not code:
            return self.sign_in_page(request, "", wanted)
        cookie = self.links.use(code)
        return (
            self._signed_in(request, cookie, wanted) if cookie else self.sign_in_page(request, _USED, wanted)
        )

    async def sign_out(self, request: Request) -> Response:
        self.sessions.end(self._cookie(request))
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(cookie_name(request), path=ROOT, httponly=True, samesite="strict")
        return answer

    def sign_in_page(self, request: Request, problem: str = "", wanted: str = "") -> Response:
        """Return the page with the form for the token, which leads to the page `wanted` or the requested
        one."""
        shown = own_address(wanted or _address(request))
        shown = SEARCH if shown.startswith((SIGN_IN, LINK)) else shown
        return plain_page(
            request, "sign_in.html", 401, problem=problem, wanted=shown, remedy=self.callers.remedy
        )

    def _signed_in(self, request: Request, cookie: str, wanted: str) -> Response:
        preload()
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
        return request.cookies.get(cookie_name(request), "")

    async def _form(self, request: Request) -> dict[str, str]:
        body = await self._body(request)
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        return {name: values[0] for name, values in fields.items()}

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_FORM_BYTES:
                raise RefusedError("tooLarge", f"The form has more than {_MOST_FORM_BYTES:,} bytes.")
        return bytes(body)


def cookie_name(request: Request) -> str:
    """Return the cookie's name. It contains the port, since all ports of a host share their cookies."""
    port = request.url.port
    return f"cairn_session_{port}" if port else "cairn_session"


def _address(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


_METHODS = ("search", "discover", "fetchPage", "references", "related")


@functools.cache
def preload() -> None:
    """Load everything on a thread, once per process."""
    threading.Thread(target=_load, name="cairn-page", daemon=True).start()


def _load() -> None:
    compile_templates()
    for name in _METHODS:
        METHODS[name].handle()
    importlib.import_module("psutil")
    code_lines("pass", "python", "a.py")
