"""The page of a file in a team's index, which only its readers see."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from attrs import frozen
from tests.git_repository import GitRepository
from tests.postgres import postgres_server
from tests.serving import Served
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, own_store, team_serving
from tests.web.conftest import Browser, assert_nothing_foreign

from cairn.team.trial import LocalServer
from cairn.web.addresses import file_address

__all__ = ["postgres_server"]

BERTHS, LAMP = "src/harbour/berths.py", "src/lighthouse/lamp.py"


@frozen
class Town:
    """A server, and the tokens of two readers."""

    served: Served
    ada: str
    """The token of a reader of the harbour."""
    bob: str
    """The token of a reader of the harbour and the lighthouse."""

    def browser(self, token: str) -> Browser:
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
    page = town.browser(town.ada).page(f"{file_address(BERTHS, (12, 12))}&panel=1")
    assert_nothing_foreign(page)
    for part in (
        '<span class="k">class</span> <span class="nc">Berth</span>',
        'title="method Berth.moor_ship"',
        "Called by",
        "src/harbour/schedule.py:11</a>",
        "Commits",
        "Imported by",
        "not their subjects",
    ):
        assert part in page
    assert "vscode://" not in page
    assert "has changed since" not in page


def test_links_name_the_repository_if_there_are_several(town: Town) -> None:
    page = town.browser(town.bob).page(f"{file_address(BERTHS, (12, 12))}&panel=1")
    repository = "repository=cairn-team%3A%2F%2F%2Fharbour"
    assert f'href="/ui/file/src/harbour/schedule.py?lines=11&amp;{repository}"' in page
    assert f"panel=1&amp;{repository}#L12" in page


def test_file_is_hidden_from_other_readers(town: Town) -> None:
    assert "kindle_lamp" in town.browser(town.bob).page(file_address(LAMP))
    ada = town.browser(town.ada)
    for repository in ("", "cairn-team:///lighthouse", "lighthouse"):
        page = file_address(LAMP, None, repository)
        panel = page.replace("/ui/file/", "/ui/file-panel/")
        for answer in (ada.ask(page), ada.ask(panel, headers={"Cairn-Fragment": "1"})):
            assert answer.status in (400, 404)
            assert b"kindle" not in answer.body
