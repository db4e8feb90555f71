"""A running `cairn serve` with a page, and how a browser gets in."""

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

from tests.data_folder import made_data_dir
from tests.serving import Served, serving, until

ROOT = Path(__file__).parents[2]
PLACES = ("server/cairn", "docs")
"""Of this project, what is the real repository of the tests: 500 files, indexed within seconds, and the whole history of them."""


@frozen
class Site:
    """A server over a folder."""

    served: Served
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.served.port}"

    def link(self, token: str | None = None) -> str:
        """A fresh one-time link, as `cairn open` makes it."""
        made = self.served.ask("/ui/link", body=b"", method="POST", token=token)
        assert made.status == 201, made
        return self.url + made.body.decode()

    def sign_in(self, context: BrowserContext, token: str | None = None) -> None:
        """Give the context a session of its own."""
        sign_in(context, self.url, token or self.served.token)

    def open(self, context: BrowserContext, path: str = "/ui/") -> Page:
        """The page at a path, as the context sees it."""
        page = context.new_page()
        page.goto(self.url + path)
        return page


def search_path(question: str, **filters: str) -> str:
    """The address of a search."""
    return f"/ui/?{urlencode({'q': question, **filters})}"


def answer_path(question: str, **filters: str) -> str:
    """The address of an answer."""
    return f"/ui/answer?{urlencode({'q': question, **filters})}"


@contextmanager
def site(folder: Path, *arguments: str) -> Iterator[Site]:
    """The folder, served, with all of it indexed."""
    with serving(*arguments, str(folder)) as served:
        until(lambda: is_indexed(served.call("status", {})))
        yield Site(served, folder)


@contextmanager
def own_machine(folder: Path) -> Iterator[None]:
    """In it, this process and its children have data and settings of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(made_data_dir(folder / "data")))
        patch.setenv("CAIRN_CONFIG_DIR", str(folder / "config"))
        yield


def clone_of_this_project(folder: Path) -> Path:
    """A checkout of PLACES of this project, with its history."""
    # A test of uncommitted changes is one of the last commit: what is searched here need not be what is tested.
    _git("clone", "--quiet", "--no-tags", "--no-checkout", str(ROOT), str(folder))
    _git("-C", str(folder), "sparse-checkout", "set", *PLACES)
    _git("-C", str(folder), "checkout", "--quiet")
    return folder


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)
