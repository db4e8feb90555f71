"""The addresses of the pages. All are below one path, to which the session cookie is restricted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlencode, urlsplit

from cairn.protocol import Range

ROOT = "/ui"
SEARCH = f"{ROOT}/"
ANSWER = f"{ROOT}/answer"
ANSWER_EVENTS = f"{ROOT}/answer-events"
FILE = f"{ROOT}/file/"
FILE_PANEL = f"{ROOT}/file-panel/"
INDEX = f"{ROOT}/index"
CHANGE = f"{ROOT}/change"
SIGN_IN = f"{ROOT}/sign-in"
SIGN_OUT = f"{ROOT}/sign-out"
LINK = f"{ROOT}/link"
"""The address at which a client that has the token requests a one-time link."""
IDENTITY = f"{ROOT}/identity"
"""The address at which this machine's user can make the server prove itself."""
LINK_STATE = f"{ROOT}/link-state"
"""The address that says whether a link can still be used."""
STATIC = f"{ROOT}/static/"
_LOCAL = "file://"


def address(path: str, values: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> str:
    """Return the path with a query string of those values that are not empty."""
    pairs = values.items() if isinstance(values, Mapping) else values
    query = urlencode([(name, value) for name, value in pairs if value not in ("", None)])
    return f"{path}?{query}" if query else path


def file_address(path: str, lines: tuple[int, int] | None = None, repository: str = "") -> str:
    """Return the address of a file's page; `lines` are 1-based and inclusive."""
    shown = "" if lines is None else f"{lines[0]}" if lines[0] >= lines[1] else f"{lines[0]}-{lines[1]}"
    return address(FILE + quote(path, errors="surrogateescape"), {"lines": shown, "repository": repository})


def numbered(shown: Range) -> tuple[int, int]:
    """Convert a range to 1-based, inclusive lines."""
    return shown.start.line + 1, max(shown.start.line + 1, shown.end.line)


def sign_in_address(code: str) -> str:
    """Return the address that signs in the first browser that opens it."""
    return address(SIGN_IN, {"code": code})


def own_address(given: str) -> str:
    """Return `given` if it is the address of a page of this server, without a host; else the first page's."""
    try:
        parts = urlsplit(given)
    except ValueError:  # An example is `//[`.
        return SEARCH
    is_below = parts.path.startswith(SEARCH) and ".." not in unquote(parts.path).split("/")
    is_own = is_below and not parts.scheme and not parts.netloc and "\\" not in given
    return given if is_own and given.isprintable() else SEARCH


def editor_address(uri: str, line: int) -> str:
    """Return the address that opens a local file in VS Code, at a 1-based line; "" for other files."""
    return f"vscode://file{uri.removeprefix(_LOCAL)}:{line}" if uri.startswith(_LOCAL) else ""
