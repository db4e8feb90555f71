"""A hostile repository runs nothing and stays as it is, whatever Cairn does with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import ask
from tests.git_repository import GitRepository
from tests.git_traps import ATTRIBUTES, Traps, signed_commit, snapshot
from tests.serving import wait_for
from tests.team.git_repositories import harbour
from tests.team.shared_town import Town
from tests.team.test_clone import matched, opened, shared

from cairn.errors import TeamError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="The traps are shell scripts.")

_TIDES = "src/harbour/tides.py"


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path / "traps")


@pytest.fixture
def hostile(town: Town, traps: Traps, tmp_path: Path) -> GitRepository:
    """A clone of the indexed repository with all traps, a signed commit, and a changed file."""
    clone = town.harbour.clone(tmp_path / "harbour")
    clone.write({".gitattributes": ATTRIBUTES})
    clone.write({"src/harbour/ebb.py": "def ebb():\n    return 'ebb_tide'\n"})
    clone.commit("Ebb")
    signed_commit(clone.folder, "Signed")
    clone.git("reset", "--quiet", "--hard")
    traps.set(clone.folder)
    clone.write({_TIDES: "def neap_tide():\n    return 'quarter_moon'\n", "new.md": "# Fenders\n"})
    return clone


def index_here(town: Town, hostile: GitRepository) -> None:
    with opened(hostile.folder) as engine:
        wait_for(lambda: engine.progress().complete)
        assert matched(engine, "quarter_moon") == {_TIDES}
        assert matched(engine, "ebb_tide") == {"src/harbour/ebb.py"}
        (commits,) = engine.folders[0].reader.saved.select("SELECT count(*) FROM commits")
        assert commits[0], "the history was read"


def share_with_the_team(town: Town, hostile: GitRepository) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_TEAM__URL", town.url)
        patch.setenv("CAIRN_TEAM_TOKEN", town.ada)
        with shared(hostile.folder) as engine:
            assert matched(engine, "quarter_moon") == {_TIDES}
            assert matched(engine, "Fenders") == {"new.md"}
            assert matched(engine, "berth is taken") == {"src/harbour/berths.py"}
            assert ask(engine, "search", {"query": "moor"}).index.revisions[0].behind == 2


def index_for_the_team(town: Town, hostile: GitRepository) -> None:
    town.index(hostile, name=hostile.folder.parent.name)
    town.index(hostile, "main", name=hostile.folder.parent.name)


def index_a_url_for_the_team(town: Town, hostile: GitRepository) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_COMMAND"):
            patch.delenv(name, raising=False)  # Users set these for fetches.
        town.index(f"file://{hostile.folder}", name=hostile.folder.parent.name)  # type: ignore[arg-type]


MODES = [index_here, share_with_the_team, index_for_the_team, index_a_url_for_the_team]


@pytest.mark.parametrize("mode", MODES)
def test_hostile_repository_runs_nothing_and_stays_unchanged(
    town: Town,
    traps: Traps,
    hostile: GitRepository,
    tmp_path: Path,
    bare_data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: Callable[[Town, GitRepository], None],
) -> None:
    for name, value in traps.variables(harbour(tmp_path / "other").folder).items():
        monkeypatch.setenv(name, value)
    before = snapshot(hostile.folder)
    mode(town, hostile)
    assert traps.sprung == set()
    assert snapshot(hostile.folder) == before


def test_traps_work(traps: Traps, hostile: GitRepository, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(hostile.folder, folder, symlinks=True)
    before = snapshot(folder)
    (folder / "README.md").write_text("# Port\n")
    variables = traps.variables(harbour(tmp_path / "other").folder)

    def git(*arguments: str, **given: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ("git", *arguments)
        subprocess.run(command, cwd=folder, env=kept | given, capture_output=True, timeout=60, check=False)

    git("status", **{name: variables[name] for name in variables if name.startswith("GIT_TRACE")})
    git("diff", "HEAD~2", "HEAD~1")
    git("diff", "--no-ext-diff", "HEAD~2", "HEAD~1")
    git("diff", "HEAD")
    git("show", "--no-patch")
    git("fetch", "ssh://127.0.0.1/x")
    git("fetch", "origin")
    git("tag", "v1")
    git("status", GIT_CONFIG_PARAMETERS=variables["GIT_CONFIG_PARAMETERS"])
    git("ls-remote", "file:///nowhere", GIT_EXEC_PATH=variables["GIT_EXEC_PATH"])
    assert traps.sprung >= {
        "core.fsmonitor", "filter.trap.clean", "filter.lines.process", "diff.trap.command",
        "diff.trap.textconv", "gpg.openpgp.program", "post-index-change", "reference-transaction",
        "url.insteadOf", "GIT_TRACE", "GIT_TRACE2_EVENT", "GIT_CONFIG_PARAMETERS", "git-upload-pack",
    }  # fmt: skip
    assert snapshot(folder) != before


@pytest.mark.parametrize("mode", [index_for_the_team, index_a_url_for_the_team])
def test_missing_objects_are_not_fetched(
    town: Town, traps: Traps, hostile: GitRepository, bare_data_dir: Path, mode: Callable[..., None]
) -> None:
    blob = hostile.git("-c", "core.fsmonitor=", "rev-parse", "HEAD:README.md")
    (hostile.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with (hostile.folder / ".git" / "config").open("a") as config:
        config.write("[extensions]\n\tpartialClone = origin\n")
    before = snapshot(hostile.folder)
    for mark in traps.marks.iterdir():
        mark.unlink()
    with pytest.raises(TeamError, match=r"Fetch all of it|cannot fetch"):
        mode(town, hostile)
    assert traps.sprung == set()
    assert snapshot(hostile.folder) == before
    hostile.git("-c", "core.fsmonitor=", "cat-file", "-t", "HEAD")
