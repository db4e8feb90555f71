"""The pages of a team's server in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from cairn.team.trial import LocalServer
from tests.page.browsing import PHONE, SCHEMES, Browsing, grave_violations, overhang, wait_until
from tests.page.hostile_repository import CODE_FILE, SCRIPT, hostile_repository
from tests.page.site import Site, answer_path, search_path
from tests.postgres import postgres_server
from tests.team.git_repositories import harbour, index
from tests.team.team_server import own_store, team_serving

__all__ = ["postgres_server"]

Shown = Callable[[str], Page]
Town = tuple[Site, str]
"""A server with two repositories, and the token of a reader."""


@pytest.fixture(scope="module")
def town(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    with own_store(postgres_server, folder) as store:
        index(store.url, harbour(folder / "harbour"))
        index(store.url, hostile_repository(folder))
        with team_serving(store.server_url, log=folder / "log") as served:
            yield Site(served, folder), store.reader("bob", everything=True)


@pytest.fixture
def shown(town: Town, browsing: Browsing) -> Shown:
    """A function that opens a path on a phone, signed in."""
    site, token = town
    context = browsing.context(size=PHONE)
    site.sign_in(context, token)
    return lambda path: site.open(context, path)


def test_hostile_repository_of_a_team_is_shown_as_text(shown: Shown) -> None:
    page = shown(search_path("unload the ship after it is moored"))
    row = page.locator(".row").filter(has_text=CODE_FILE).first
    expect(row).to_be_visible()
    row.locator(".title").click()
    expect(page.locator("#code")).to_contain_text(SCRIPT)
    wait_until(page, "document.getElementById('known') !== null")
    assert page.locator("img[src=x], script:not([src])").count() == 0


@pytest.mark.parametrize(
    "path", [search_path("ships"), answer_path("how are ships moored"), "/ui/index", "/ui/change"]
)
def test_pages_of_a_team_are_accessible_and_fit_a_phone(shown: Shown, path: str) -> None:
    page = shown(path)
    expect(page.locator(".row, #copy-prompt, .servers li, #diff").first).to_be_visible()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == []
    assert overhang(page) == 0
