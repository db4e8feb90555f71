"""The pages of a team's index, on which readers see only their own repositories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from attrs import evolve, frozen
from tests.git_repository import GitRepository
from tests.postgres import postgres_server
from tests.serving import Served, wait_for
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, TeamStore, own_store, team_serving
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign, html_of, one_time_link, signed_in

from cairn.team.trial import LocalServer
from cairn.web.addresses import file_address

__all__ = ["postgres_server"]

BERTHS, LAMP = "src/harbour/berths.py", "src/lighthouse/lamp.py"


@frozen
class Town:
    """A server, its store, and the tokens of two readers."""

    served: Served
    store: TeamStore
    ada: str
    """The token of a reader of the harbour."""
    bob: str
    """The token of a reader of the harbour and the lighthouse."""

    def browser(self, token: str) -> Browser:
        return signed_in(evolve(self.served, token=token))


@pytest.fixture(scope="module")
def town(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("file-town")
    with own_store(postgres_server, folder) as store:
        index(store.url, harbour(folder / "harbour", **{f"{HOSTILE}.py": "def lure(): ...\n"}))
        index(store.url, GitRepository(folder / "lighthouse", LIGHTHOUSE))
        ada, bob = store.reader("ada", "harbour"), store.reader("bob", everything=True)
        with team_serving(store.server_url, log=folder / "log") as served:
            yield Town(served, store, ada, bob)


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


@pytest.mark.parametrize(
    ("address", "hidden", "missing"),
    [
        ("/ui/file/src/lighthouse/{}.py", "lamp", "none"),
        ("/ui/file-panel/src/lighthouse/{}.py", "lamp", "none"),
        ("/ui/?q=kindle+the+lamp&whole=1&repository={}", "lighthouse", "nowhere"),
        ("/ui/answer?q=kindle+the+lamp&whole=1&repository={}", "lighthouse", "nowhere"),
        ("/ui/index?repository={}", "lighthouse", "nowhere"),
        ("/ui/change?repository={}&base=main", "lighthouse", "nowhere"),
        ("/ui/file/README.md?repository=cairn-team%3A%2F%2F%2F{}", "lighthouse", "nowhere"),
    ],
)
def test_hidden_file_or_repository_is_like_a_missing_one(
    town: Town, address: str, hidden: str, missing: str
) -> None:
    def answer(token: str, name: str) -> tuple[int, bytes]:
        """Return the status, and the body without the name."""
        headers = {"Cairn-Fragment": "1"} if "-panel" in address else {}
        got = town.browser(token).ask(address.format(name), headers=headers)
        return got.status, got.body.replace(name.encode(), b"name")

    assert answer(town.bob, hidden)[0] == 200
    assert answer(town.ada, hidden) == answer(town.ada, missing)
    assert answer(town.ada, hidden)[0] in (400, 404)


def test_answers_are_from_repositories_of_the_reader(town: Town) -> None:
    ada, bob = town.browser(town.ada), town.browser(town.bob)
    for path in ("/ui/", "/ui/answer"):
        question = {"q": "kindle the lamp", "whole": "1"}
        page = bob.page(path, **question)
        assert "kindle_lamp" in page
        assert "vscode:" not in page
        assert "kindle_lamp" not in ada.page(path, **question)
        for repository in ("lighthouse", "nowhere"):
            assert ada.ask(f"{path}?q=kindle&whole=1&repository={repository}").status == 400


def test_access_that_ends_is_gone_in_an_open_session(town: Town) -> None:
    eve = town.browser(town.store.reader("eve", "harbour", "lighthouse"))
    expiring = town.browser(town.store.expiring_token("bob", 2))
    for browser in (eve, expiring):
        assert "kindle_lamp" in browser.page(file_address(LAMP))
    town.store.owned.revoke("eve", ["lighthouse"])
    wait_for(lambda: eve.ask(file_address(LAMP)).status == 404)
    assert eve.ask(file_address(BERTHS)).status == 200
    town.store.owned.revoke("eve", [])
    wait_for(lambda: eve.ask(file_address(BERTHS)).status == 401)
    wait_for(lambda: expiring.ask(file_address(LAMP)).status == 401)


def test_second_sign_in_replaces_the_session(town: Town) -> None:
    browser = town.browser(town.bob)
    assert "kindle_lamp" in browser.page(file_address(LAMP))
    assert browser.ask(one_time_link(evolve(town.served, token=town.ada))).status == 303
    assert browser.ask(file_address(LAMP)).status == 404
    assert browser.ask(file_address(BERTHS)).status == 200


# --- the index -------------------------------------------------------------------------------------------


def shown(browser: Browser, **values: str) -> str:
    def look() -> str | None:
        page = browser.page("/ui/index", **values)
        return None if "being counted" in page or "being asked" in page else page

    return str(wait_for(look))


def repositories(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/ui/index\?repository=[^"]*">([^<]*)</a>', page)


def test_readers_see_their_own_repositories_and_the_servers(town: Town) -> None:
    ada, bob = town.browser(town.ada), town.browser(town.bob)
    assert repositories(shown(bob)) == ["harbour", "lighthouse"]
    page = shown(ada)
    assert repositories(page) == ["harbour"]
    assert "lighthouse" not in page.lower()
    assert "primary" in page
    assert re.search(r"<td>main\b", page)
    assert "1 repository can be searched" in page
    assert_nothing_foreign(page)
    assert ada.ask("/ui/index?repository=lighthouse").status == 400
    lamp = "src/lighthouse/lamp.py"
    assert "no rule excludes it" in shown(bob, repository="lighthouse", path=lamp)
    assert "not there" in shown(ada, path=lamp)
    page = shown(ada, path=f"{HOSTILE}.py")
    assert_nothing_foreign(page)
    assert "no rule excludes it" in page
    assert "main at " in page
    assert "a team's index leaves out" in page


# --- a change --------------------------------------------------------------------------------------------

RENAMED = """--- a/src/lighthouse/lamp.py
+++ b/src/lighthouse/lamp.py
@@ -1 +1 @@
-kindle
+light
"""


def test_diff_of_a_team_shows_only_repositories_of_the_reader(town: Town) -> None:
    berths = RENAMED.replace(LAMP, BERTHS)
    for token in (town.ada, town.bob):
        browser = town.browser(token)
        page = browser.page("/ui/change")
        assert_nothing_foreign(page)
        assert ("<option>lighthouse</option>" in page) is (token == town.bob)
        body = urlencode({"diff": berths, "repository": "harbour"})
        answer = browser.ask("/ui/change", method="POST", body=body)
        assert answer.status == 200
        assert f'href="/ui/file/{BERTHS}' in html_of(answer)


def test_branches_of_a_team_are_compared(town: Town) -> None:
    browser = town.browser(town.bob)
    page = browser.page("/ui/change", repository="harbour@main", base="main")
    assert "Nothing changed" in page
    refused = browser.ask("/ui/change?repository=harbour&base=no-such-branch")
    assert refused.status == 400
    assert "no-such-branch" in html_of(refused)
