"""The browser, and a server over a real repository, for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from scripts.system_packages import browser as found_browser

from tests.page.browsing import LAUNCH, Browsing
from tests.page.site import Site, clone_of_this_project, own_machine, site


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium or Chrome, without a window on the screen."""
    program = os.environ.get("CAIRN_TEST_BROWSER") or found_browser()
    if not program:
        pytest.skip("Neither Chromium nor Chrome is installed; scripts/test-page tries to.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=[*LAUNCH])
        yield launched
        launched.close()


@pytest.fixture
def browsing(browser: Browser) -> Iterator[Browsing]:
    """The windows of the test; it fails by whatever went wrong in them."""
    own = Browsing(browser)
    yield own
    own.close()
    own.faults.check()


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A real repository, served: for tests that change nothing of it."""
    folder = tmp_path_factory.mktemp("project")
    with own_machine(folder), site(clone_of_this_project(folder / "cairn")) as served:
        yield served
