"""Fixtures: the browser, and a server over a real repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from scripts.page_browser import launched
from scripts.system_packages import headless_browser

from tests.page.browsing import PATIENCE_MS, Browsing, Shared
from tests.page.other_site import ELSEWHERE, REBOUND, OtherSite, other_site
from tests.page.site import Site, change_signature, clone_of_this_project, own_machine, site

expect.set_options(timeout=PATIENCE_MS)

Opened = Callable[..., Page]
"""Opens a path of the real repository's server, with arguments of `Browsing.context`."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium or Chrome."""
    program = os.environ.get("CAIRN_TEST_BROWSER") or headless_browser()
    if not program:
        pytest.skip("Neither Chromium nor Chrome is installed; run scripts/test-page.")
    names = ", ".join(f"MAP {name} 127.0.0.1" for name in (ELSEWHERE, REBOUND))
    with launched(program, f"--host-resolver-rules={names}") as browser:
        yield browser


@pytest.fixture(scope="session")
def shared(browser: Browser) -> Shared:
    return Shared(browser)


@pytest.fixture
def browsing(shared: Shared) -> Iterator[Browsing]:
    """The windows of the test, which fails if there are faults in them."""
    own = Browsing(shared)
    yield own
    own.close()
    own.faults.check()


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over a real repository with a change, for tests that do not change it."""
    folder = tmp_path_factory.mktemp("project")
    clone = change_signature(clone_of_this_project(folder / "cairn"))
    with own_machine(folder), site(clone) as served:
        yield served


@pytest.fixture
def opened(browsing: Browsing, project: Site) -> Opened:
    def open_page(path: str = "/ui/", **options: object) -> Page:
        context = browsing.shared_context(project.url, project.sign_in, **options)
        return project.open(context, path)

    return open_page


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[OtherSite]:
    """A site of another origin."""
    with other_site() as site:
        yield site
