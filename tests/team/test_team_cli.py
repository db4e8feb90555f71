"""The commands of `cairn team`: what they do and print, and what they say where that cannot be."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests.postgres import new_database
from tests.team.git_repositories import GitRepository, harbour
from tests.team.team_server import LOGIN, PASSWORD, TeamStore, team_serving

import cairn.index.postgres
import cairn.team
from cairn.__main__ import main
from cairn.team import postgres_programs
from cairn.team.local_server import LocalServer


@frozen
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """Why it failed."""
        assert self.code, self
        return self.err


Run = Callable[..., Done]


@pytest.fixture
def run(
    server_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Runs `cairn team …` on a machine that has nothing yet."""
    # Root runs PostgreSQL as another user, who cannot get into pytest's own folder.
    monkeypatch.setenv("CAIRN_DATA_DIR", str(server_folder / "data"))
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("CAIRN_STORE_URL", raising=False)
    server_folder.joinpath("data").mkdir()

    def team(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["cairn", "team", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        return Done(code, *capsys.readouterr())

    return team


@pytest.fixture
def store(postgres: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> TeamStore:
    """A prepared store, whose owner's URL is in the environment."""
    store = TeamStore.prepared(postgres)
    monkeypatch.setenv("CAIRN_STORE_URL", postgres)
    return store


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return harbour(tmp_path / "harbour")


def test_repository_goes_to_a_server_that_was_added(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path, postgres_server: LocalServer
) -> None:
    with new_database(postgres_server) as second:
        url_file = tmp_path / "second-url"
        url_file.write_text(second)
        assert "chmod 600" in run("add-server", "second", str(url_file)).said
        url_file.chmod(0o600)
        assert "--on second" in run("add-server", "second", str(url_file)).out
        assert "6 files read" in run("index", str(repository.folder), "--on", "second").out
        assert "shards: 1, 1 of them on other servers" in run("status").out
        assert "'third' is not a server" in run("index", str(repository.folder), "--on", "third").said


def test_store_is_filled_granted_looked_at_and_emptied(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path
) -> None:
    assert "Nothing is indexed yet" in run("repositories").out
    assert "cairn team grant READER" in run("readers").out
    indexed = run("index", str(repository.folder))
    head = repository.git("rev-parse", "HEAD")
    assert indexed.out.startswith(f"harbour main at {head[:10]}: 6 of 6 files read, 7 new passages, ")
    assert "main" in run("index", str(repository.folder)).out
    assert "was there" in run("index", str(repository.folder)).out

    (known,) = run("repositories", "--json").json
    assert (known["name"], known["refs"], known["commit"]) == ("harbour", ["main"], head)
    assert (known["files"], known["chunks"]) == (6, 7)
    assert f"harbour  main  {head[:10]}  6 files, 7 passages" in run("repositories").out

    granted = run("grant", "ada", "harbour", "--token")
    token = granted.out.strip()
    assert token.startswith("cairn_")
    assert store.owned.knows(token)
    assert granted.err == "ada sees harbour.\n"
    made = run("grant", "bob", "--all", "--token", "--json").json
    assert made["reader"] == "bob"
    assert store.owned.knows(made["token"])
    assert run("grant", "bob", "--all", "--quiet").out == ""
    assert run("readers").out.splitlines() == ["ada  1 token  harbour", "bob  1 token  everything"]
    assert run("readers", "--json").json[0] == {
        "name": "ada",
        "everything": False,
        "repositories": ["harbour"],
        "tokens": 1,
    }

    state = run("status", "--json").json
    assert (state["repositories"], state["snapshots"], state["chunks"], state["readers"]) == (1, 1, 7, 2)
    assert "repositories: 1; snapshots: 1; passages: 7; " in run("status").out

    assert run("revoke", "ada", "harbour").out == "ada does not see harbour any more.\n"
    assert store.owned.knows(token)
    assert run("revoke", "ada").out == "ada does not see anything any more.\n"
    assert not store.owned.knows(token)

    assert run("gc").out.startswith("Deleted 0 snapshots")
    assert "1 snapshot, 6 files and 7 passages" in run("remove", "harbour").out
    assert run("repositories", "--json").json == []


def test_several_repositories_are_told_one_by_one_until_one_fails(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path
) -> None:
    other = GitRepository(tmp_path / "dock", {"a.md": "# Dock\n"})
    done = run("index", str(repository.folder), str(tmp_path / "nowhere"), str(other.folder))
    assert "nowhere" in done.said
    assert done.out.startswith("harbour main at ")
    both = run("index", str(repository.folder), str(other.folder), "--json").json
    assert [each["repository"] for each in both] == ["harbour", "dock"]


def test_database_is_prepared_and_a_login_of_servers_admitted(
    run: Run, postgres: str, tmp_path: Path
) -> None:
    file = tmp_path / "owner"
    file.write_text(f"{postgres}\n")
    file.chmod(0o600)
    assert "repare" in run("repositories", "--store", str(file)).said
    first = run("prepare", "--store", str(file), "--json").json
    assert run("prepare", "--store", str(file)).out == f"The store has version {first['version']} of its tables.\n"  # fmt: skip
    assert "nobody" in run("prepare", "--store", str(file), "--server-login", "nobody").said
    TeamStore.prepared(postgres)
    assert run("prepare", "--store", str(file), "--server-login", LOGIN).code == 0


def test_others_are_indexed_where_one_cannot_be(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path
) -> None:
    done = run("index", str(tmp_path / "nowhere"), str(repository.folder))
    assert (done.code, done.out[:12]) == (1, "harbour main")
    assert f"{tmp_path / 'nowhere'}: " in done.err
    as_json = run("index", str(repository.folder), str(tmp_path / "nowhere"), "--json")
    assert (as_json.code, [each["repository"] for each in as_json.json]) == (1, ["harbour"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("index",), 2, "Missing argument"),
        (("index", "a", "b", "--name", "c"), 2, "--name is for one repository"),
        (("index", "/nowhere/at/all"), 1, "/nowhere/at/all"),
        (("grant", "ada"), 2, "name repositories, or give --all or --token"),
        (("grant", "ada", "greenhouse"), 1, "'greenhouse' is not in the store; `cairn team repositories` lists"),
        (("grant", "a:da", "--all"), 1, "reader: must be 1 to 57 letters"),
        (("grant", "", "--token"), 1, "reader: must be 1 to 57 letters"),
        (("revoke", "ada", "greenhouse"), 1, "'greenhouse' is not in the store"),
        (("revoke", "a:da"), 1, "reader: must be"),
        (("remove", "greenhouse"), 1, "greenhouse is not in the store"),
        (("status", "--store", "no-such-file"), 1, "no-such-file, cannot be read"),
        (("status", "--store", "mysql://ada:Mole-and-berth-7@127.0.0.1/cairn"), 1, "The store's URL is not valid"),
        (("status", "--store", "postgresql://ada:Mole-and-berth-7@127.0.0.1:1/cairn"), 1, "refuses connections"),
        (("serve", "--store", "postgresql://ada:Mole-and-berth-7@127.0.0.1:1/cairn"), 1, "refuses connections"),
        (("serve", "--port", "70000"), 1, "is no port"),
        (("serve", "--host", "0.0.0.0"), 1, "--allow-remote"),
        (("stauts",), 2, "No such command"),
    ],
)  # fmt: skip
def test_wrong_use_is_told_with_what_to_do(
    run: Run, store: TeamStore, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert PASSWORD not in done.err
    as_json = run(*arguments, "--json")
    assert as_json.code == code
    assert said in as_json.json["error"]["message"]


def test_login_of_a_server_may_not_do_what_the_owner_does(
    run: Run, store: TeamStore, repository: GitRepository
) -> None:
    store.reader("ada", everything=True)
    for arguments in (("index", str(repository.folder)), ("grant", "ada", "--all"), ("prepare",)):
        said = run(*arguments, "--store", store.server_url).said
        assert "URL of the store's owner" in said, arguments
        assert PASSWORD not in said


def test_without_a_store_the_commands_say_how_there_is_one(run: Run) -> None:
    for command in ("status", "repositories", "readers", "gc", "serve"):
        said = run(command).said
        assert "`cairn team up`" in said
        assert "CAIRN_STORE_URL" in said


# --- the trial --------------------------------------------------------------------------------------


def test_trial_goes_up_and_answers_and_keeps_its_data(
    run: Run, repository: GitRepository, tmp_path: Path
) -> None:
    first = run("up", "--json").json
    assert first["running"]
    file = Path(first["tokenFile"])
    assert file == tmp_path / "config" / "team-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().strip()
    again = run("up")
    assert str(file) in again.out
    assert "cairn team index FOLDER_OR_URL" in again.out
    assert file.read_text().strip() == token
    assert run("readers", "--json").json[0]["tokens"] == 1

    assert run("index", str(repository.folder), "--quiet").code == 0
    log = tmp_path / "log"
    with team_serving(log=log, command=("team", "serve")) as served:
        found = served.ask("/api/v1/search", {"query": "moor a ship"}, token=token).json
        assert found["results"][0]["path"] == "src/harbour/berths.py"
    assert token not in log.read_text()

    assert "does not run" in run("down").out
    assert run("down", "--json").json["running"] is False
    assert "`cairn team up`" in run("repositories").said
    assert "`cairn team up`" in run("serve", "--port", "0").said
    assert run("up").code == 0
    assert file.read_text().strip() == token
    assert [each["name"] for each in run("repositories", "--json").json] == ["harbour"]

    # The token of another store, which is not to be lost.
    file.write_text("cairn_of-another-store\n")
    kept = Path(run("up", "--json").json["tokenFile"])
    assert kept != file
    assert file.read_text() == "cairn_of-another-store\n"
    assert "CAIRN_TEAM_TOKEN" in run("up").out
    assert Path(run("up", "--json").json["tokenFile"]) == kept
    assert run("down").code == 0


def test_trial_that_is_not_there_is_taken_down_without_effect(run: Run) -> None:
    done = run("down", "--json").json
    assert done["running"] is False
    assert not Path(done["folder"]).exists()


# --- what is not installed -----------------------------------------------------------------------------


def test_without_the_client_the_commands_say_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_STORE_URL", "postgresql://127.0.0.1:1/cairn")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [each for each in sys.modules if each.startswith(("cairn.team", "cairn.index.postgres"))]:
        monkeypatch.delitem(sys.modules, name)
    # Importing them anew replaces what their packages have by these names, too.
    for package, name in ((cairn, "team"), (cairn.index, "postgres")):
        monkeypatch.setattr(package, name, getattr(package, name))
    for arguments in (
        ("status",),
        ("index", "."),
        ("grant", "ada", "--all"),
        ("gc",),
        ("prepare",),
        ("serve",),
    ):
        assert 'pip install "cairn-ls[serve,team]"' in run(*arguments).said
    assert 'pip install "cairn-ls[serve,team-trial]"' in run("up").said
    assert run("down").code == 0


def test_without_postgresql_the_trial_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_programs.importlib.util, "find_spec", lambda _: None)
    assert "pip install 'cairn-ls[team-trial]'" in run("up").said
    assert run("down").code == 0


def test_help_names_every_command(run: Run) -> None:
    said = run("--help").out
    for (
        command
    ) in "up down prepare add-server index serve status repositories grant revoke readers gc remove".split():
        assert f"  {command} " in said
        assert run(command, "--help").code == 0
    assert os.environ["CAIRN_DATA_DIR"] not in said
