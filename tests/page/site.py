"""A running `cairn serve` with a page, and how a browser gets in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from playwright.sync_api import BrowserContext, Page

from tests.serving import Served, serving, until
from tests.team.team_server import machine

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

    def link(self) -> str:
        """A fresh one-time link, as `cairn open` makes it."""
        raise NotImplementedError

    def sign_in(self, context: BrowserContext) -> None:
        """Give the context a session of its own."""
        page = context.new_page()
        page.goto(self.link())
        page.close()

    def open(self, context: BrowserContext, path: str = "/ui/") -> Page:
        page = context.new_page()
        page.goto(self.url + path)
        return page


@contextmanager
def site(folder: Path, *arguments: str) -> Iterator[Site]:
    """The folder, served, with all of it indexed."""
    with serving(*arguments, str(folder)) as served:
        until(lambda: is_indexed(served.call("status", {})))
        yield Site(served, folder)


def is_indexed(status: Any) -> bool:
    return bool(
        status["activity"] == "idle"
        and status["state"] in ("ready", "degraded")
        and 0 < status["files"]["indexed"] == status["files"]["total"]
    )


@contextmanager
def own_machine(folder: Path) -> Iterator[None]:
    """In it, this process and its children have data and settings of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in machine(folder).items():
            patch.setenv(name, value)
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
