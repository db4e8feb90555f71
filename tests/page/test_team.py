"""The page of a team's server, on which readers see only their own repositories."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from attrs import frozen
from playwright.sync_api import BrowserContext, expect

from cairn.team.trial import LocalServer
from tests.git_repository import GitRepository
from tests.page.browsing import PHONE, SCHEMES, Browsing, grave_violations, overhang, places, wait_until
from tests.page.hostile_repository import CODE_FILE, SCRIPT, hostile_repository
from tests.page.site import Site, answer_path, search_path
from tests.postgres import postgres_server
from tests.serving import wait_for
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, TeamStore, own_store, team_serving

__all__ = ["postgres_server"]

HIDDEN = "kindle_lamp"
"""A word of the repository that only one reader may see."""
QUESTION = "kindle the lamp"


@frozen
class Town:
    """A server with three repositories."""

    store: TeamStore
    site: Site
    ada: str
    """The token of a reader of the harbour."""
    bob: str
    """The token of a reader of all three repositories."""


@pytest.fixture(scope="module")
def town(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    with own_store(postgres_server, folder) as store:
        index(store.url, harbour(folder / "harbour"))
        index(store.url, GitRepository(folder / "lighthouse", LIGHTHOUSE))
        index(store.url, hostile_repository(folder))
        ada, bob = store.reader("ada", "harbour"), store.reader("bob", everything=True)
        with team_serving(store.server_url, log=folder / "log") as served:
            yield Town(store, Site(served, folder), ada, bob)


@pytest.fixture
def ada(town: Town, browsing: Browsing) -> BrowserContext:
    return browsing.shared_context("ada", lambda context: town.site.sign_in(context, town.ada))


@pytest.fixture
def bob(town: Town, browsing: Browsing) -> BrowserContext:
    return browsing.shared_context("bob", lambda context: town.site.sign_in(context, town.bob))


def signed_in(town: Town, browsing: Browsing, token: str) -> BrowserContext:
    context = browsing.context()
    town.site.sign_in(context, token)
    return context


def test_readers_find_only_their_repositories(town: Town, ada: BrowserContext, bob: BrowserContext) -> None:
    page = town.site.open(bob, search_path(QUESTION))
    assert "src/lighthouse/lamp.py" in places(page)[0]
    assert HIDDEN in page.content()
    page = town.site.open(ada, search_path(QUESTION))
    assert HIDDEN not in page.content()
    assert "lighthouse" not in page.content().lower()
    page.goto(town.site.url + search_path("moor a ship"))
    assert "src/harbour/berths.py" in " ".join(places(page))


def test_hidden_repository_is_like_a_missing_one(town: Town, browsing: Browsing, ada: BrowserContext) -> None:
    browsing.faults.allow("40[0-9]")
    hidden, unknown = (
        town.site.open(ada, search_path(QUESTION, repository=name)).get_by_role("main").inner_text()
        for name in ("lighthouse", "nowhere")
    )
    assert HIDDEN not in hidden
    assert hidden.replace("lighthouse", "nowhere") == unknown


def test_answers_contain_only_own_repositories(town: Town, ada: BrowserContext, bob: BrowserContext) -> None:
    path = answer_path("how does the lamp of the lighthouse burn through the fog")
    page = town.site.open(bob, path)
    expect(page.locator("#copy-prompt")).to_be_visible()
    assert HIDDEN in page.locator("#prompt").text_content()
    page = town.site.open(ada, path)
    expect(page.locator("#found .verdict, #copy-prompt").first).to_be_visible()
    wait_until(page, "!document.getElementById('found').hasAttribute('aria-busy')")
    assert HIDDEN not in page.content()


def test_hidden_file_is_like_a_missing_one(
    town: Town, browsing: Browsing, ada: BrowserContext, bob: BrowserContext
) -> None:
    browsing.faults.expect("404")
    path = "/ui/file/src/lighthouse/lamp.py"
    assert HIDDEN in town.site.open(bob, path).locator("#code").inner_text()
    hidden, unknown = (
        town.site.open(ada, each).get_by_role("main").inner_text()
        for each in (path, "/ui/file/src/lighthouse/none.py")
    )
    assert hidden == unknown.replace("none", "lamp")


def test_addresses_work_for_other_readers(town: Town, ada: BrowserContext, bob: BrowserContext) -> None:
    page = town.site.open(bob, search_path("ships"))
    page.get_by_role("link", name=re.compile("^Repository: harbour")).click()
    assert "repository=" in page.url
    address = page.url.removeprefix(town.site.url)
    assert places(town.site.open(ada, address)) == places(page)


def test_revoked_repository_is_hidden(town: Town, browsing: Browsing) -> None:
    token = town.store.reader("eve", "harbour", "lighthouse")
    context = signed_in(town, browsing, token)
    page = town.site.open(context, search_path(QUESTION))
    assert HIDDEN in page.content()
    town.store.owned.revoke("eve", ["lighthouse"])

    def is_hidden() -> bool:
        page.reload()
        return HIDDEN not in page.content()

    wait_for(is_hidden)
    assert page.locator("#q").count(), "the reader is still signed in"


def test_expired_token_ends_the_session(town: Town, browsing: Browsing) -> None:
    browsing.faults.expect("401")
    context = signed_in(town, browsing, town.store.expiring_token("bob", 3))
    page = town.site.open(context, search_path(QUESTION))
    assert HIDDEN in page.content()

    def is_out() -> bool:
        page.reload()
        return not page.locator("#q").count()

    wait_for(is_out)
    assert HIDDEN not in page.content()


def test_second_sign_in_replaces_the_session(
    town: Town, browsing: Browsing, ada: BrowserContext, bob: BrowserContext
) -> None:
    (of_ada,), (of_bob,) = ada.cookies(), bob.cookies()
    assert of_ada["value"] != of_bob["value"]
    both = signed_in(town, browsing, town.bob)
    town.site.sign_in(both, town.ada)
    assert HIDDEN not in town.site.open(both, search_path(QUESTION)).content()


def test_hostile_repository_of_a_team_is_shown_as_text(town: Town, bob: BrowserContext) -> None:
    page = town.site.open(bob, search_path("unload the ship after it is moored"))
    row = page.locator(".row").filter(has_text=CODE_FILE).first
    expect(row).to_be_visible()
    row.locator(".title").click()
    expect(page.locator("#code")).to_contain_text(SCRIPT)
    wait_until(page, "document.getElementById('known') !== null")
    assert page.locator("img[src=x], script:not([src])").count() == 0


@pytest.mark.parametrize("path", [search_path("ships"), answer_path("how are ships moored"), "/ui/index"])
def test_pages_of_a_team_are_accessible_and_fit_a_phone(town: Town, browsing: Browsing, path: str) -> None:
    context = browsing.context(size=PHONE)
    town.site.sign_in(context, town.bob)
    page = town.site.open(context, path)
    expect(page.locator(".row, #copy-prompt, .servers li").first).to_be_visible()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert grave_violations(page) == []
    assert overhang(page) == 0


def test_team_pages_have_no_editor_links(town: Town, bob: BrowserContext) -> None:
    page = town.site.open(bob, search_path("ships"))
    assert places(page)
    assert page.locator("a[href^='vscode:']").count() == 0
