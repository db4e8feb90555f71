"""Fixtures: a real `cairn serve` over a small project, and a client that stores its cookie like a browser."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest
from attrs import define
from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files
from tests.serving import PATIENCE_SECONDS, Answer, Served, serving, wait_for

HOSTILE = "<img src=x onerror=alert(1)>"
"""A text that pages must escape."""
_CODE_OR_SPACE = re.compile(r"(<(code|pre)\b.*?</\2>)|\s+", re.DOTALL)


@define
class Browser:
    """Sends requests like a page of this server, or like a person who follows a link."""

    served: Served
    cookie: str = ""

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        if self.cookie:
            sent["Cookie"] = f"cairn_session_{self.served.port}={self.cookie}"
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, {**sent, **(headers or {})})
            got = connection.getresponse()
            answer = Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()
        name, _, rest = answer.headers.get("set-cookie", "").partition("=")
        if name == f"cairn_session_{self.served.port}":
            self.cookie = rest.partition(";")[0].strip('"')
        return answer

    def page(self, path: str, /, **values: str) -> str:
        """Return the HTML of an existing page."""
        return self._html(f"{path}?{urlencode(values)}" if values else path, {})

    def fragment(self, path: str, /, **values: str) -> str:
        """Return the HTML of a part of a page, as a script requests it."""
        return self._html(f"{path}?{urlencode(values)}", {"Cairn-Fragment": "1"})

    def _html(self, path: str, headers: dict[str, str]) -> str:
        answer = self.ask(path, headers=headers)
        assert answer.status == 200, answer
        return html_of(answer)


def html_of(answer: Answer) -> str:
    """Return the HTML of an answer, with single spaces outside of code."""
    return _CODE_OR_SPACE.sub(lambda found: found[1] or " ", answer.body.decode())


def one_time_link(served: Served) -> str:
    return served.ask("/ui/link", method="POST", body=b"").body.decode()


def signed_in(served: Served) -> Browser:
    """Return a browser with a new session."""
    browser = Browser(served)
    assert browser.ask(one_time_link(served)).status == 303
    return browser


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_nothing_foreign(page: str) -> None:
    """Assert that no text of the workspace or of a query has become a script, a tag or a foreign address."""
    parser = _Tags()
    parser.feed(page)
    for tag, attributes in parser.found:
        source = attributes.get("src") or "/ui/static/"
        assert source.startswith("/ui/static/"), (tag, attributes)
        assert tag != "script" or "src" in attributes
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        for name in ("href", "action", "formaction"):
            leads_to = attributes.get(name) or "/ui/"
            assert leads_to.startswith(("/ui/", "vscode://file/", "#", "?lines=")), (tag, attributes)


@contextmanager
def indexed(data: Path, *folders: Path) -> Iterator[Served]:
    """Serve the folders, once they are indexed. Only the server's start sees the new data folder."""
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(data)))
            running = stack.enter_context(serving(*map(str, folders), "--no-lsp"))
        wait_for(lambda: running.call("status", {})["state"] == "ready")
        yield running


@pytest.fixture(scope="package")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project with hostile names and texts."""
    name = f"{HOSTILE.replace('/', '')}.py"
    text = f'def lighthouse_keeper():\n    """{HOSTILE}"""\n    return "<script>alert(2)</script>"\n'
    return write_files(tmp_path_factory.mktemp("web") / "harbour", {**HARBOUR, name: text})


@pytest.fixture(scope="package")
def served(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with indexed(tmp_path_factory.mktemp("web-data") / "data", project) as running:
        yield running


@pytest.fixture
def browser(served: Served) -> Browser:
    return signed_in(served)
