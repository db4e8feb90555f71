"""A running `cairn serve` with a page, and the sign-in of browsers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from attrs import frozen
from playwright.sync_api import BrowserContext, Page
from scripts.page_browser import is_indexed, sign_in

from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files
from tests.serving import Served, serving, wait_for

ROOT = Path(__file__).parents[2]
PLACES = ("server/cairn/web", "server/cairn/http", "docs")
"""The folders of this project that are the tests' real repository: 70 files with their whole history."""
CHANGED = "server/cairn/web/query_string.py"
BEFORE, AFTER = "def chosen(question: Question)", "def chips_of(question: Question, most: int)"
"""The head of a function in the file CHANGED, in the last commit and in the real repository's files."""
INDEXING_SECONDS = 900
"""Indexing takes half a minute, but makes way for other programs that use all cores."""


@frozen
class Site:
    """A server over a folder."""

    served: Served
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.served.port}"

    def link(self, token: str | None = None) -> str:
        """Request a new one-time link, like `cairn open`."""
        made = self.served.ask("/ui/link", body=b"", method="POST", token=token)
        assert made.status == 201, made
        return self.url + made.body.decode()

    def sign_in(self, context: BrowserContext, token: str | None = None) -> None:
        """Give the context a new session."""
        sign_in(context, self.url, token or self.served.token)

    def open(self, context: BrowserContext, path: str = "/ui/") -> Page:
        """Open the page at a path in the context. On a busy machine, the first answer can be partial."""
        page = context.new_page()
        page.goto(self.url + path)
        if path.startswith("/ui/change"):
            wait_for(lambda: not page.locator("#partial").count() or (page.reload() and None))
        return page


def search_path(question: str, **filters: str) -> str:
    return f"/ui/?{urlencode({'q': question, **filters})}"


def answer_path(question: str, **filters: str) -> str:
    return f"/ui/answer?{urlencode({'q': question, **filters})}"


def citations(page: Page) -> list[str]:
    """Return the citation of each excerpt of an answer."""
    return [each.get_attribute("aria-label") for each in page.locator(".excerpt .citation").all()]


@contextmanager
def site(folder: Path, *arguments: str) -> Iterator[Site]:
    """Serve the folder, and yield once it is indexed."""
    with serving(*arguments, str(folder)) as served:
        wait_for(lambda: is_indexed(served.call("status", {})), INDEXING_SECONDS)
        yield Site(served, folder)


@contextmanager
def own_machine(folder: Path) -> Iterator[None]:
    """Give this process and its children new data and settings within the context."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(folder / "data")))
        patch.setenv("CAIRN_CONFIG_DIR", str(folder / "config"))
        yield


@contextmanager
def harbour_site(folder: Path, **more: str) -> Iterator[Site]:
    """Serve the small project of the tests and `more` files, with new data and settings."""
    with own_machine(folder), site(write_files(folder / "harbour", {**HARBOUR, **more})) as served:
        yield served


def clone_of_this_project(folder: Path, *places: str) -> Path:
    """Check out the last commit of the places, or of PLACES, with their history."""
    for arguments in (
        ("clone", "--quiet", "--no-tags", "--no-checkout", str(ROOT), str(folder)),
        ("-C", str(folder), "sparse-checkout", "set", *(places or PLACES)),
        ("-C", str(folder), "checkout", "--quiet"),
    ):
        subprocess.run(["git", *arguments], check=True, capture_output=True)
    return folder


def change_signature(clone: Path) -> Path:
    """Change the head of a function that other files of the clone call, and do not commit it."""
    text = (clone / CHANGED).read_text(encoding="utf-8")
    assert BEFORE in text
    (clone / CHANGED).write_text(text.replace(BEFORE, AFTER), encoding="utf-8")
    return clone
