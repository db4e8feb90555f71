"""A real `cairn serve` over a small project, and a client that keeps its cookie as a browser does."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest
from attrs import define
from tests.data_folder import made_data_dir
from tests.harbour import HARBOUR
from tests.serving import PATIENCE_SECONDS, Answer, Served, serving, until

HOSTILE = "<img src=x onerror=alert(1)>"
"""What must be shown as it is wherever it stands."""


@define
class Browser:
    """Asks as a page of this server does, or as a person who follows a link."""

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
        """The text of a page that must be there."""
        answer = self.ask(f"{path}?{urlencode(values)}" if values else path)
        assert answer.status == 200, answer
        return answer.body.decode()

    def fragment(self, path: str, /, **values: str) -> str:
        """The text of a part of a page, as a script asks for it."""
        answer = self.ask(f"{path}?{urlencode(values)}", headers={"Cairn-Fragment": "1"})
        assert answer.status == 200, answer
        return answer.body.decode()


def signed_in(served: Served) -> Browser:
    """A browser with a session of its own."""
    browser = Browser(served)
    link = served.ask("/ui/link", method="POST", body=b"").body.decode()
    assert browser.ask(link).status == 303
    return browser


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_nothing_foreign(page: str) -> None:
    """Nothing of the workspace or of a question has become a tag, an attribute or an address that runs something."""
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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project, with names and texts that a page must not take for its own."""
    folder = tmp_path_factory.mktemp("web") / "harbour"
    for name, text in HARBOUR.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (folder / f"{HOSTILE.replace('/', '')}.py").write_text(
        f'def lighthouse_keeper():\n    """{HOSTILE}"""\n    return "<script>alert(2)</script>"\n'
    )
    return folder


@pytest.fixture(scope="module")
def served(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server, with the project indexed."""
    with pytest.MonkeyPatch.context() as patch:
        data = made_data_dir(tmp_path_factory.mktemp("web-data") / "data")
        patch.setenv("CAIRN_DATA_DIR", str(data))
        with serving(str(project), "--no-lsp") as running:
            until(lambda: running.call("status", {})["state"] == "ready")
            yield running


@pytest.fixture
def browser(served: Served) -> Browser:
    """Signed in."""
    return signed_in(served)
