"""The overview of a team's index: each caller sees its own repositories and the state of the servers."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest
from attrs import evolve
from tests.conftest import ask
from tests.serving import wait_for
from tests.team.git_repositories import harbour, index
from tests.team.team_server import LIGHTHOUSE, TeamStore, own_store

from cairn import protocol
from cairn.engine import stored
from cairn.engine.left_out import why_indexed
from cairn.engine.overview import Overview, overview
from cairn.engine.stored import StoredEngine
from cairn.index.postgres.transactions import Store
from cairn.operations.why import Why
from cairn.team.trial import LocalServer


@pytest.fixture(scope="module")
def store(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamStore]:
    folder = tmp_path_factory.mktemp("overview")
    with own_store(postgres_server, folder) as store:
        hostile = {"<img src=x onerror=alert(1)>.py": "def lure(): ...\n", "blob": "\0\1"}
        repository = harbour(folder / "harbour", **hostile)
        index(store.url, repository)
        repository.git("checkout", "--quiet", "-b", "pier")
        repository.commit("A pier")
        index(store.url, repository)
        index(store.url, harbour(folder / "lighthouse", **LIGHTHOUSE))
        store.reader("ada", everything=True)
        store.reader("bob", "harbour")
        store.reader("eve")
        yield store


@pytest.fixture(scope="module")
def engine(store: TeamStore) -> Iterator[StoredEngine]:
    made = StoredEngine(Store([store.server_url]))
    yield made
    made.stop()


def seen_by(engine: StoredEngine, reader: str, repository: str = "") -> Overview:
    def look() -> Overview:
        with engine.asked(reader, repository) as asked:
            return overview(asked)

    wait_for(lambda: not look().is_changing)
    return look()


def why_of(engine: StoredEngine, path: str) -> Why:
    with engine.asked("bob", "harbour") as asked:
        ((_, answer),) = why_indexed(asked, path)
    return answer


def test_each_caller_sees_its_own_repositories(engine: StoredEngine) -> None:
    names = {reader: seen_by(engine, reader) for reader in ("ada", "bob", "eve")}
    assert {
        reader: [each.name for each in seen.team.repositories] for reader, seen in names.items() if seen.team
    } == {"ada": ["harbour", "lighthouse"], "bob": ["harbour"], "eve": []}
    assert names["eve"].health.level == "warn"
    assert [folder.label for folder in names["bob"].folders] == ["harbour"]
    assert "lighthouse" not in repr(names["bob"])


def test_repository_has_its_commit_age_and_size(engine: StoredEngine) -> None:
    seen = seen_by(engine, "bob")
    assert seen.team is not None
    (found,) = seen.team.repositories
    (folder,) = seen.folders
    assert (found.ref, found.refs, found.newest_ref) == ("main", 2, "pier")
    assert found.newest_at - found.committed_at == datetime.timedelta(minutes=1)
    assert found.commit == (folder.revision.commit if folder.revision else "")
    assert (found.files, found.chunks) == (folder.files, folder.chunks)
    assert folder.shares is not None
    assert sum(each.chunks for each in folder.shares) == found.chunks
    assert folder.left_out is None
    assert folder.writer is None


def test_overview_shows_whether_servers_answer(engine: StoredEngine) -> None:
    seen = seen_by(engine, "bob")
    assert seen.team is not None
    assert seen.team.servers is not None
    assert [(each.role, each.answers) for each in seen.team.servers] == [("primary", True)]


def test_server_that_is_gone_is_shown_and_the_others_answer(store: TeamStore) -> None:
    gone = "postgresql://ann:Secret-9@127.0.0.1:9/nowhere"
    other = StoredEngine(Store([store.url, gone]))
    try:
        seen = seen_by(other, "ada")
        assert seen.team is not None
        assert seen.team.servers is not None
        assert [each.answers for each in seen.team.servers] == [True, False]
        assert seen.health.level == "warn"
        assert "127.0.0.1:9/nowhere" in seen.health.text
        assert "Secret-9" not in repr(seen)
    finally:
        other.stop()


def test_more_repositories_than_are_searched_at_once_are_all_listed(
    engine: StoredEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_MOST_AT_ONCE", 1)
    seen = seen_by(engine, "ada")
    assert seen.team is not None
    assert [each.name for each in seen.team.repositories] == ["harbour", "lighthouse"]
    assert seen.folders == ()
    assert seen.health.level == "good"
    (folder,) = seen_by(engine, "ada", "lighthouse").folders
    assert folder.shares


def test_timings_of_all_callers_do_not_contain_their_queries(engine: StoredEngine) -> None:
    with engine.asked("ada", "") as asked:
        ask(asked, "search", protocol.SearchParams("kindle the lamp"))
    seen = seen_by(engine, "bob")
    assert [(each.method, each.failed) for each in seen.timings.questions] == [("search", False)]
    assert not seen.is_logged
    assert "lamp" not in repr(seen.timings)


def test_place_is_looked_up_in_each_ref_of_a_repository(engine: StoredEngine) -> None:
    for path in ("src/harbour/berths.py", "harbour/src/harbour/berths.py"):
        with engine.asked("bob", "harbour@main,harbour@pier") as asked:
            answer = ask(asked, "references", {"symbol": f"{path}:12"})
            one = ask(evolve(asked, folders=asked.folders[:1]), "references", {"symbol": "moor_ship"})
        assert [each.symbol for each in answer.definitions] == ["Berth.moor_ship"] * 2
        assert one.references
        assert len(answer.references) == 2 * len(one.references)


@pytest.mark.parametrize(
    ("path", "exists", "indexed", "rule"),
    [
        ("src/harbour/berths.py", True, True, "no rule excludes it"),
        ("src", True, True, "no rule excludes it"),
        ("<img src=x onerror=alert(1)>.py", True, True, "no rule excludes it"),
        ("blob", True, False, "left out by its content"),
        ("deploy/.env", True, False, "built-in: may hold secrets"),
        ("nowhere.py", False, False, ""),
    ],
)
def test_path_is_explained_from_the_indexed_commit(
    engine: StoredEngine, path: str, exists: bool, indexed: bool, rule: str
) -> None:
    answer = why_of(engine, path)
    assert (answer.exists, answer.indexed, answer.rule) == (exists, indexed, rule)
    assert "main at " in answer.state
