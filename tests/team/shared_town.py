"""A team's server over two repositories, of which not every reader sees both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests.git_repository import GitRepository
from tests.postgres import new_database
from tests.serving import Answer, Served
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, TeamStore, machine, on_machine, team_serving

from cairn.index.postgres.team_schema import prepare
from cairn.team.trial import LocalServer

PLACE = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}
BERTHS = {"uri": "cairn-team:///harbour/src/harbour/berths.py"}
QUERIES: list[tuple[str, Any]] = [
    ("context", {"textDocument": BERTHS, "range": PLACE}),
    ("search", {"query": "moor a ship", "explain": True}),
    ("search", {"query": "kindle the lamp"}),
    ("search", {"query": '"400 + 12"'}),
    ("discover", {"query": "how does the lamp of the lighthouse warn ships"}),
    ("references", {"symbol": "moor_ship", "depth": 2}),
    ("references", {"symbol": "kindle_lamp"}),
    ("related", {"textDocument": BERTHS, "range": PLACE}),
    ("fetch_page", {"path": "README.md"}),
    ("fetch_page", {"path": "src/lighthouse/lamp.py"}),
    ("collections", {}),
    ("status", {}),
    ("filter_collections", {"query": "the lamp of the lighthouse"}),
    ("expand_queries", {"query": "kindle lamps"}),
    ("search", {"query": "lamp", "filter": {"path": ["lighthouse"]}}),
    ("search", {"query": "lamp", "filter": {"collection": ["lighthouse-source"]}}),
]


@frozen
class Town:
    """The store, its server, and tokens of ada, who sees the harbour, and of bob, who sees both."""

    store: TeamStore
    served: Served
    harbour: GitRepository
    ada: str
    bob: str
    before: dict[int, Any]
    """The answers, by index in QUERIES, to a reader of the harbour before there was a lighthouse."""
    machine: Path

    @property
    def url(self) -> str:
        return str(self.served.addresses["url"])

    def index(self, repository: GitRepository, ref: str | None = None, **given: Any) -> None:
        with on_machine(self.machine):
            index(self.store.url, repository, ref, **given)

    def ask(self, token: str, name: str, params: Any, workspace: str = "") -> Answer:
        place = f"?workspace={workspace}" if workspace else ""
        return self.served.ask(f"/api/v1/{name}{place}", params, token=token)


@pytest.fixture(scope="session")
def town(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    log, before = folder / "log", dict[int, Any]()
    with new_database(postgres_server, prepare) as url:
        store = TeamStore.prepared(url)
        with on_machine(folder):
            index(url, repository := harbour(folder / "harbour"))
        ada, alone = store.reader("ada", "harbour"), store.reader("alone", "harbour")
        with team_serving(store.server_url, log=log, environment=machine(folder)) as served:
            for number, (name, params) in enumerate(QUERIES):
                before[number] = comparable(served.ask(f"/api/v1/{name}", params, token=alone))
            with on_machine(folder):
                index(url, GitRepository(folder / "lighthouse", LIGHTHOUSE))
            bob = store.reader("bob", "harbour", "lighthouse")
            yield Town(store, served, repository, ada, bob, before, folder)
        logged = log.read_text()
        assert all(token not in logged for token in (ada, bob, alone))


def comparable(answer: Answer) -> tuple[int, Any]:
    """The status and the data of an answer, without times and counters of the process."""
    return answer.status, still(answer.json)


def still(data: Any) -> Any:
    """The data of an answer without times and counters of the process."""
    if isinstance(data, dict):
        moving = {"timings", "metrics", "memory", "latency", "since", "p95Ms", "queries"}
        return {key: still(value) for key, value in data.items() if key not in moving}
    return [still(each) for each in data] if isinstance(data, list) else data
