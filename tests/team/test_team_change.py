"""`cairn/change` over a team's index: branches against each other, and dependents in other repositories."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests.conftest import ask
from tests.git_repository import GitRepository
from tests.harbour import HARBOUR
from tests.postgres import new_database
from tests.serving import Served
from tests.team.git_repositories import harbour, index
from tests.team.team_server import TeamStore, machine, on_machine, team_serving
from tests.team.test_clone import shared

from cairn.index.postgres.team_schema import prepare
from cairn.index.remote.team_server import Located, TeamServer, TeamUnavailableError
from cairn.team.trial import LocalServer

BERTHS = "src/harbour/berths.py"
PILOTS = {
    "pyproject.toml": '[project]\nname = "pilots"\ndependencies = ["harbour"]\n',
    "src/pilots/guide.py": '''"""Guides ships to their berths."""

from harbour.berths import Berth


def guide(ship):
    berth = Berth(12)
    berth.moor_ship(ship)
    return berth
''',
}
TUGS = {
    "src/tugs/pull.py": "from harbour import berths\n\n\ndef pull(ship):\n    return berths.Berth(3)\n",
    "src/tugs/other.py": "def moor_ship(ship):\n    return ship\n\n\nmoor_ship(1)\n",
}


@frozen
class Port:
    """A store with the harbour, its branch `deeper`, and two repositories that use it."""

    served: Served
    store: TeamStore
    harbour: GitRepository
    machine: Path
    ada: str
    """The token of a reader of everything."""
    bob: str
    """The token of a reader of the harbour and the pilots."""

    def change(self, token: str, workspace: str = "", **params: Any) -> Any:
        place = f"?workspace={workspace}" if workspace else ""
        return self.served.ask(f"/api/v1/change{place}", params, token=token)


@pytest.fixture(scope="module")
def port(postgres_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    folder = tmp_path_factory.mktemp("port")
    with new_database(postgres_server, prepare) as url, on_machine(folder):
        store = TeamStore.prepared(url)
        index(url, repository := harbour(folder / "harbour"), "main")
        repository.git("checkout", "--quiet", "-b", "deeper")
        repository.write({BERTHS: _deeper(HARBOUR[BERTHS]), "src/harbour/depths.py": "DEEPEST = 12\n"})
        repository.commit("Depths")
        repository.git("checkout", "--quiet", "main")
        index(url, repository, "deeper")
        for name, files in (("pilots", PILOTS), ("tugs", TUGS)):
            index(url, GitRepository(folder / name, files))
        index(url, GitRepository(folder / "copy", HARBOUR | {"README.md": "# A copy\n"}))
        ada = store.reader("ada", everything=True)
        bob = store.reader("bob", "harbour", "pilots")
        with team_serving(store.server_url, log=folder / "log", environment=machine(folder)) as served:
            yield Port(served, store, repository, folder, ada, bob)


def _deeper(text: str) -> str:
    return text.replace("length: float)", "length: float, depth: float)").replace("moor_ship", "moor")


def _diff(before: str, after: str) -> str:
    lines = [text.splitlines(keepends=True) for text in (before, after)]
    return "".join(difflib.unified_diff(*lines, f"a/{BERTHS}", f"b/{BERTHS}"))


def places(answer: Any) -> set[tuple[str, str, int, bool]]:
    assert answer.status == 200, answer
    return {
        (each["folder"].rpartition("/")[2], each["path"], each["range"]["start"]["line"], each["isStale"])
        for each in answer.json["dependents"]
    }


def refusal(answer: Any) -> str:
    assert answer.status == 400, answer
    message: str = answer.json["error"]["message"]
    return message


ELSEWHERE = {
    ("pilots", "src/pilots/guide.py", 6, True),
    ("pilots", "src/pilots/guide.py", 7, True),
    ("tugs", "src/tugs/pull.py", 4, True),
}


def test_branch_is_compared_with_the_main_one(port: Port) -> None:
    answer = port.change(port.ada, "harbour@deeper")
    files = {each["path"]: each["status"] for each in answer.json["files"]}
    assert files == {BERTHS: "modified", "src/harbour/depths.py": "added"}
    kinds = {each["symbol"]: each["kind"] for each in answer.json["changed"]}
    assert kinds["Berth.__init__"] == "signature"
    assert kinds["Berth.moor"] == "renamed"
    assert kinds["DEEPEST"] == "added"
    assert answer.json["base"] == port.harbour.git("rev-parse", "main").strip()
    assert answer.json["complete"]


def test_branch_shows_its_dependents_in_other_repositories(port: Port) -> None:
    answer = port.change(port.ada, "harbour@deeper", base="main")
    assert places(answer) >= ELSEWHERE
    first = next(each for each in answer.json["dependents"] if each["path"] == "src/pilots/guide.py")
    assert first["line"].strip() in ("berth = Berth(12)", "berth.moor_ship(ship)")
    assert "imports `Berth` from `harbour.berths`" in first["reasons"]
    assert first["uri"] == "cairn-team:///pilots/src/pilots/guide.py"
    assert "[pilots/src/pilots/guide.py#L7-L7]" in answer.json["prompt"]
    shown = {each["repository"] for each in answer.json["index"]["revisions"]}
    assert shown == {"harbour", "pilots", "tugs"}
    assert {each[0] for each in places(answer)} <= shown


def test_diff_is_fitted_to_the_stored_snapshot(port: Port) -> None:
    diff = _diff(HARBOUR[BERTHS], _deeper(HARBOUR[BERTHS]))
    whole = port.change(port.ada, "harbour", diff=diff)
    assert places(whole) >= ELSEWHERE, whole.json
    chosen = port.change(port.ada, diff=diff, folder="cairn-team:///harbour")
    assert places(chosen) >= ELSEWHERE


def test_commit_names_a_base(port: Port) -> None:
    commit = port.harbour.git("rev-parse", "deeper").strip()
    answer = port.change(port.ada, "harbour", base=commit[:10])
    assert {each["symbol"]: each["kind"] for each in answer.json["changed"]}["DEEPEST"] == "removed"


@pytest.mark.parametrize("base", ["nowhere", "HEAD~3", None])
def test_unknown_base_is_refused_with_the_indexed_branches(port: Port, base: str | None) -> None:
    answer = port.change(port.ada, "harbour", **({"base": base} if base else {}))
    assert "the indexed branches of harbour are main, deeper" in refusal(answer)


def test_change_without_a_repository_is_refused(port: Port) -> None:
    assert "several repositories" in refusal(port.change(port.ada, base="main"))


def test_reader_sees_no_dependents_in_hidden_repositories(port: Port) -> None:
    answer = port.change(port.bob, "harbour@deeper")
    assert "tugs" not in answer.body.decode()
    assert {each for each in ELSEWHERE if each[0] == "pilots"} <= places(answer)
    tugs = port.change(port.bob, "tugs", base="main")
    nothing = port.change(port.bob, "bugs", base="main")
    assert refusal(tugs) == refusal(nothing).replace("bugs", "tugs")


def test_clone_shows_dependents_in_other_repositories(
    port: Port, bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_TEAM__URL", str(port.served.addresses["url"]))
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", port.bob)
    clone = port.harbour.clone(tmp_path / "harbour")
    with shared(clone.folder) as engine:
        clone.write({BERTHS: _deeper(HARBOUR[BERTHS])})
        engine.folders[0].queue_changes([BERTHS])
        found = ask(engine, "change", {})
    here = {(each.folder.rpartition("/")[2], each.path, each.range.start.line) for each in found.dependents}
    assert here >= {each[:3] for each in ELSEWHERE if each[0] == "pilots"}
    assert {each[0] for each in here} == {"harbour", "pilots"}
    assert {each.repository for each in found.index.revisions} == {"harbour", "pilots"}
    assert found.complete, found.messages


def test_clone_without_its_server_says_what_was_not_looked_at(
    port: Port, bare_data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_TEAM__URL", str(port.served.addresses["url"]))
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", port.bob)
    clone = port.harbour.clone(tmp_path / "harbour")

    def refused(*_: object) -> list[Located]:
        raise TeamUnavailableError("The team's server does not answer.")

    with shared(clone.folder) as engine:
        monkeypatch.setattr(TeamServer, "importing", refused)
        clone.write({BERTHS: _deeper(HARBOUR[BERTHS])})
        engine.folders[0].queue_changes([BERTHS])
        found = ask(engine, "change", {})
    assert not found.complete
    assert "Not all other repositories were looked at: The team's server" in " ".join(found.messages)


@pytest.mark.parametrize("texts", [None, "harbour", [1], ["x" * 2_000], ["a\0b"]])
def test_importing_repositories_are_asked_for_by_texts(port: Port, texts: Any) -> None:
    answer = port.served.ask("/team/v1/importing/1", {"texts": texts}, token=port.ada)
    assert answer.json["error"]["code"] == "invalidParams"


def test_unknown_snapshot_has_no_importing_repositories(port: Port) -> None:
    answer = port.served.ask("/team/v1/importing/1", {"texts": ["harbour"]}, token=port.ada)
    assert answer.json["error"]["code"] == "notFound"


def test_named_repositories_limit_where_dependents_are_looked_for(port: Port) -> None:
    answer = port.change(port.ada, "harbour@deeper,pilots", folder="cairn-team:///harbour")
    assert {each[0] for each in places(answer)} == {"harbour", "pilots"}
