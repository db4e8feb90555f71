"""The commands of `cairn team`: their effects, output and errors."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests.git_repository import GitRepository
from tests.team.team_server import LOGIN, PASSWORD, TeamStore, team_serving

import cairn.index.postgres
import cairn.team
from cairn.__main__ import main
from cairn.paths import data_dir
from cairn.team import postgres_programs
from cairn.team.trial import DATABASE, trial_server


@frozen
class Done:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
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
    """Run `cairn team …` on a machine without data and settings."""
    # Root runs PostgreSQL as another user, who cannot enter pytest's own folder.
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
def store(prepared_postgres: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> TeamStore:
    """A prepared store, whose owner's URL is in the environment."""
    monkeypatch.setenv("CAIRN_STORE_URL", prepared_postgres)
    return TeamStore.prepared(prepared_postgres)


def test_repository_goes_to_a_server_that_was_added(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path, postgres: str
) -> None:
    url_file = tmp_path / "second-url"
    url_file.write_text(postgres)
    assert "chmod 600" in run("add-server", "second", str(url_file)).error
    url_file.chmod(0o600)
    assert "--on second" in run("add-server", "second", str(url_file)).out
    assert "6 files read" in run("index", str(repository.folder), "--on", "second").out
    assert "shards: 1, 1 of them on other servers" in run("status").out
    assert "'third' is not a server" in run("index", str(repository.folder), "--on", "third").error


def test_commands_fill_grant_show_and_empty_the_store(
    run: Run, store: TeamStore, repository: GitRepository
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
    ada = {"name": "ada", "everything": False, "repositories": ["harbour"], "tokens": 1}
    assert run("readers", "--json").json[0] == ada

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


def test_database_is_prepared_and_a_login_of_servers_admitted(
    run: Run, postgres: str, tmp_path: Path
) -> None:
    file = tmp_path / "owner"
    file.write_text(f"{postgres}\n")
    file.chmod(0o600)
    given = ("--store", str(file))
    assert "repare" in run("repositories", *given).error
    version = run("prepare", *given, "--json").json["version"]
    assert run("prepare", *given).out == f"The store has version {version} of its tables.\n"
    assert "absent" in run("prepare", *given, "--server-login", "absent").error
    TeamStore.prepared(postgres)
    assert run("prepare", *given, "--server-login", LOGIN).code == 0


def test_repository_that_fails_does_not_stop_the_others(
    run: Run, store: TeamStore, repository: GitRepository, tmp_path: Path
) -> None:
    other = GitRepository(tmp_path / "dock", {"a.md": "# Dock\n"})
    folders = [str(folder) for folder in (repository.folder, tmp_path / "nowhere", other.folder)]
    done = run("index", *folders)
    assert f"{tmp_path / 'nowhere'}: " in done.error
    assert [line.partition(" at ")[0] for line in done.out.splitlines()] == ["harbour main", "dock main"]
    as_json = run("index", *folders, "--json")
    assert (as_json.code, [each["repository"] for each in as_json.json]) == (1, ["harbour", "dock"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("index",), 2, "Missing argument"),
        (("index", "a", "b", "--name", "c"), 2, "--name is for one repository"),
        (("index", "/nowhere/at/all"), 1, "/nowhere/at/all"),
        (("grant", "ada"), 2, "name repositories, or give --all or --token"),
        (("grant", "ada", "greenhouse"), 1, "'greenhouse' is not in the store; `cairn team repositories`"),
        (("grant", "a:da", "--all"), 1, "reader: must be 1 to 57 letters"),
        (("grant", "", "--token"), 1, "reader: must be 1 to 57 letters"),
        (("revoke", "ada", "greenhouse"), 1, "'greenhouse' is not in the store"),
        (("revoke", "a:da"), 1, "reader: must be"),
        (("remove", "greenhouse"), 1, "greenhouse is not in the store"),
        (("status", "--store", "no-such-file"), 1, "no-such-file, cannot be read"),
        (("status", "--store", f"mysql://ada:{PASSWORD}@127.0.0.1/cairn"), 1, "The store's URL is not valid"),
        (("status", "--store", f"postgresql://ada:{PASSWORD}@127.0.0.1:1/x"), 1, "refuses connections"),
        (("serve", "--store", f"postgresql://ada:{PASSWORD}@127.0.0.1:1/x"), 1, "refuses connections"),
        (("serve", "--port", "70000"), 1, "is not a port"),
        (("serve", "--host", "0.0.0.0"), 1, "--allow-remote"),
        (("stauts",), 2, "No such command"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_with_the_remedy(
    run: Run, store: TeamStore, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert PASSWORD not in done.err
    as_json = run(*arguments, "--json")
    assert as_json.code == code
    assert message in as_json.json["error"]["message"]


def test_login_of_a_server_may_not_do_what_the_owner_does(
    run: Run, store: TeamStore, repository: GitRepository
) -> None:
    store.reader("ada", everything=True)
    for arguments in (("index", str(repository.folder)), ("grant", "ada", "--all"), ("prepare",)):
        error = run(*arguments, "--store", store.server_url).error
        assert "URL of the store's owner" in error, arguments
        assert PASSWORD not in error


def test_without_a_store_the_commands_say_how_to_name_one(run: Run) -> None:
    for command in ("status", "repositories", "readers", "gc", "serve"):
        error = run(command).error
        assert "`cairn team up`" in error
        assert "CAIRN_STORE_URL" in error


# --- the trial --------------------------------------------------------------------------------------


def test_trial_goes_up_and_answers_and_keeps_its_data(
    run: Run, repository: GitRepository, tmp_path: Path
) -> None:
    # The server outlives the process that starts it.
    command = [sys.executable, "-m", "cairn", "team", "up", "--json"]
    first = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    server, file = trial_server(), Path(first["tokenFile"])
    assert first["running"]
    assert server.running()
    assert Path(first["folder"]) == server.folder == data_dir() / "team-trial"
    url = server.url(DATABASE)
    assert file == tmp_path / "config" / "team-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().strip()
    # Only PostgreSQL's account can pass through the data folder. The trial of an earlier version, whose data
    # folder was open to all and is closed by now, goes on as well.
    assert sys.platform == "win32" or stat.S_IMODE(data_dir().stat().st_mode) & 0o067 == 0
    data_dir().chmod(0o755)
    assert sys.platform == "win32" or stat.S_IMODE(data_dir().stat().st_mode) == 0o700
    again = run("up")
    assert server.url(DATABASE) == url
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

    assert "is stopped" in run("down").out
    assert run("down", "--json").json["running"] is False
    assert "`cairn team up`" in run("repositories").error
    assert "`cairn team up`" in run("serve", "--port", "0").error
    assert run("up").code == 0
    assert server.url(DATABASE) == url
    assert file.read_text().strip() == token
    assert [each["name"] for each in run("repositories", "--json").json] == ["harbour"]

    # The token of another store must not be lost.
    file.write_text("cairn_of-another-store\n")
    kept = Path(run("up", "--json").json["tokenFile"])
    assert kept != file
    assert file.read_text() == "cairn_of-another-store\n"
    assert "CAIRN_TEAM_TOKEN" in run("up").out
    assert Path(run("up", "--json").json["tokenFile"]) == kept
    assert run("down").code == 0


def test_down_without_a_trial_has_no_effect(run: Run) -> None:
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
    # Importing them again also replaces these attributes of their packages.
    for package, name in ((cairn, "team"), (cairn.index, "postgres")):
        monkeypatch.setattr(package, name, getattr(package, name))
    for command in ("status", "index .", "grant ada --all", "gc", "prepare", "serve"):
        assert 'pip install "cairn-ls[serve,team]"' in run(*command.split()).error
    assert run("status", "--json").json["error"]["code"] == "cairn"
    assert 'pip install "cairn-ls[serve,team-trial]"' in run("up").error
    assert run("down").code == 0


def test_without_postgresql_the_trial_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_programs.importlib.util, "find_spec", lambda _: None)
    assert "pip install 'cairn-ls[team-trial]'" in run("up").error
    assert run("down").code == 0


COMMANDS = "up down prepare add-server index serve status repositories grant revoke readers gc remove".split()


def test_help_names_every_command(run: Run) -> None:
    shown = run("--help").out
    for command in COMMANDS:
        assert f"  {command} " in shown
        assert run(command, "--help").code == 0
    assert os.environ["CAIRN_DATA_DIR"] not in shown
