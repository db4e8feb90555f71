"""A file of a team's index in the browser: each sees only what they may."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from attrs import frozen
from tests.postgres import postgres_server
from tests.serving import Served
from tests.team.git_repositories import GitRepository, harbour, index
from tests.team.team_server import LIGHTHOUSE, own_store, team_serving
from tests.web.conftest import Browser, assert_nothing_foreign

from cairn.team.local_server import LocalServer
from cairn.web.addresses import file_address

__all__ = ["postgres_server"]

BERTHS, LAMP = "src/harbour/berths.py", "src/lighthouse/lamp.py"


@frozen
class Town:
    """A server, and the tokens of two readers."""

    served: Served
    ada: str
    """Sees the harbour."""
    bob: str
    """Sees the lighthouse, too."""

    def browser(self, token: str) -> Browser:
        """Signed in with the token."""
        browser = Browser(self.served)
        answer = browser.ask("/ui/sign-in", method="POST", body=urlencode({"token": token}))
        assert answer.status == 303, answer
        return browser


@pytest.fixture(scope="module")
def town(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("file-town")
    with own_store(postgres_server, folder) as store:
        index(store.url, harbour(folder / "harbour"))
        index(store.url, GitRepository(folder / "lighthouse", LIGHTHOUSE))
        ada, bob = store.reader("ada", "harbour"), store.reader("bob", "harbour", "lighthouse")
        with team_serving(store.server_url, log=folder / "log") as served:
            yield Town(served, ada, bob)


def test_file_of_a_team_has_outline_callers_and_counts(town: Town) -> None:
    browser = town.browser(town.ada)
    page = browser.page(f"{file_address(BERTHS, (12, 12))}&panel=1")
    assert_nothing_foreign(page)
    assert "class Berth" in page.replace(
        '<span class="k">class</span> <span class="nc">Berth</span>', "class Berth"
    )
    assert 'title="method Berth.moor_ship"' in page
    assert "Called by" in page
    assert "src/harbour/schedule.py:11</a>" in page
    assert "Commits" in page
    assert "Imported by" in page
    assert "not the subjects" in page
    assert "vscode://" not in page
    assert "has changed since" not in page


def test_links_of_a_team_name_the_repository_where_there_are_several(town: Town) -> None:
    page = town.browser(town.bob).page(f"{file_address(BERTHS, (12, 12))}&panel=1")
    repository = "repository=cairn-team%3A%2F%2F%2Fharbour"
    assert f'href="/ui/file/src/harbour/schedule.py?lines=11&amp;{repository}"' in page
    assert f"panel=1&amp;{repository}#L12" in page


def test_file_of_a_team_is_hidden_from_who_may_not_see_it(town: Town) -> None:
    assert "kindle_lamp" in town.browser(town.bob).page(file_address(LAMP))
    ada = town.browser(town.ada)
    for address in (
        file_address(LAMP),
        file_address(LAMP, None, "cairn-team:///lighthouse"),
        file_address(LAMP, None, "lighthouse"),
    ):
        for headers in ({}, {"Cairn-Fragment": "1"}):
            answer = ada.ask(
                address.replace("/ui/file/", "/ui/file-panel/") if headers else address, headers=headers
            )
            assert answer.status in (400, 404)
            assert b"kindle" not in answer.body
