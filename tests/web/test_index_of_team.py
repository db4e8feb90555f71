"""The page about a team's index, on which readers see only their own repositories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve, frozen
from tests.postgres import postgres, postgres_server
from tests.serving import Served, wait_for
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, TeamStore, machine, team_serving
from tests.web.conftest import HOSTILE, Browser, assert_nothing_foreign, signed_in

__all__ = ["postgres", "postgres_server"]


@frozen
class Town:
    """A server over two repositories, and the tokens of two readers."""

    served: Served
    ada: str
    """The token of a reader of both repositories."""
    bob: str
    """The token of a reader of the harbour."""

    def browser(self, token: str) -> Browser:
        return signed_in(evolve(self.served, token=token))


@pytest.fixture
def town(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    for name, value in machine(tmp_path / "machine").items():
        monkeypatch.setenv(name, value)
    store = TeamStore.prepared(postgres)
    index(store.url, harbour(tmp_path / "harbour", **{f"{HOSTILE}.py": "def lure(): ...\n"}))
    index(store.url, harbour(tmp_path / "lighthouse", **LIGHTHOUSE))
    ada, bob = store.reader("ada", everything=True), store.reader("bob", "harbour")
    with team_serving(store.server_url, log=tmp_path / "log") as served:
        yield Town(served, ada, bob)


def shown(browser: Browser, **values: str) -> str:
    def look() -> str | None:
        page = browser.page("/ui/index", **values)
        return None if "being counted" in page or "being asked" in page else page

    return str(wait_for(look))


def repositories(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/ui/index\?repository=[^"]*">([^<]*)</a>', page)


def test_readers_see_their_own_repositories_and_the_servers(town: Town) -> None:
    ada, bob = town.browser(town.ada), town.browser(town.bob)
    assert repositories(shown(ada)) == ["harbour", "lighthouse"]
    page = shown(bob)
    assert repositories(page) == ["harbour"]
    assert "lighthouse" not in page.lower()
    assert "primary" in page
    assert re.search(r"<td>main\b", page)
    assert "1 repository can be searched" in page
    assert_nothing_foreign(page)
    assert bob.ask("/ui/index?repository=lighthouse").status == 400
    lamp = "src/lighthouse/lamp.py"
    assert "no rule excludes it" in shown(ada, repository="lighthouse", path=lamp)
    assert "not there" in shown(bob, path=lamp)
    page = shown(bob, path=f"{HOSTILE}.py")
    assert_nothing_foreign(page)
    assert "no rule excludes it" in page
    assert "main at " in page
    assert "a team's index leaves out" in page
