"""The index follows the files: whoever changes them, however many at once, and whether or not anybody reports it."""

from __future__ import annotations

import asyncio
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.index.indexing.folder_state import Intervals
from cairn.paths import workspace_dir
from cairn.protocol import SearchParams
from cairn.settings.tree import EmbeddingSettings
from tests.conftest import ask
from tests.index.index_builders import file_touches

from . import conftest
from .conftest import PATIENCE_SECONDS, Daemon
from .index_files import (
    contents,
    fresh_contents,
    index_path,
    is_word,
    mark_vectors,
    marked_vectors,
    opened,
    texts_embedded,
)

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = pytest.mark.asyncio

NO_MODEL = {"embedding": {"enabled": False}}

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="uses what Linux has")
without_model = pytest.mark.usefixtures("bare_data_dir")


def is_settled(status: Any) -> bool:
    """Every present file is indexed and nothing is being done."""
    return bool(
        status["state"] not in ("starting", "indexing")
        and status["activity"] == "idle"
        and 0 < status["files"]["indexed"] == status["files"]["total"]
    )


def git(folder: Path, *arguments: str) -> str:
    """Run git, with no settings but its own."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *person, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def repository(workspace: Path) -> Path:
    """The workspace with one commit."""
    git(workspace, "init")
    commit(workspace, "Begin the harbour")
    return workspace


def commit(repository: Path, subject: str) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "-m", subject)


def write_function(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"def {name}(vessel):\n    return vessel\n")
    return path


async def equal(data: Path, workspace: Path, fresh: Path) -> None:
    """Wait until the index holds what one made from nothing holds."""
    expected = await asyncio.to_thread(fresh_contents, workspace, fresh)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while contents(data) != expected and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    assert contents(data) == expected


# --- files --------------------------------------------------------------------------------------------


@without_model
async def test_new_renamed_replaced_and_removed_files_and_folders_are_followed(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        write_function(workspace / "a" / "b" / "c" / "tugs.py", "dispatch_tugboat")
        await cairn.found("dispatch_tugboat", "a/b/c/tugs.py")
        (workspace / "a" / "b").rename(workspace / "moved")
        await cairn.found("dispatch_tugboat", "moved/c/tugs.py")
        write_function(workspace / "moved" / "c" / "pilots.py", "embark_pilot")  # in a folder that moved
        await cairn.found("embark_pilot", "moved/c/pilots.py")
        (workspace / "moved" / "c" / "pilots.py").rename(workspace / "crew.py")
        await cairn.found("embark_pilot", "crew.py")
        # As many editors save: a new file takes the place of the old one.
        write_function(workspace / "crew.py.tmp", "disembark_navigator").replace(workspace / "crew.py")
        await cairn.found("disembark_navigator", "crew.py")
        await cairn.found("embark_pilot", None)
        shutil.rmtree(workspace / "moved")
        await cairn.found("dispatch_tugboat", None)
        await equal(bare_data_dir, workspace, tmp_path / "fresh")


@without_model
async def test_a_flood_of_changes_is_taken_in_whole(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        for number in range(1_200):
            write_function(workspace / f"part{number % 40}" / f"file{number}.py", f"crane_{number}")
        shutil.rmtree(workspace / "tests")
        await cairn.until(lambda status: status["files"]["indexed"] == 1_205)
        await equal(bare_data_dir, workspace, tmp_path / "fresh")


@without_model
async def test_a_save_is_found_while_the_first_scan_still_runs(daemon: Start, workspace: Path) -> None:
    for number in range(1_500):
        text = "".join(f"def crane_{number}_{n}(load):\n    return load * {n}\n\n\n" for n in range(12))
        path = workspace / f"part{number % 50}" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(lambda status: 0 < status["files"]["indexed"] < status["files"]["total"])
        # An editor comes to the front while it scans: no reason to let the save wait.
        await cairn.client.workspace_execute_command_async(
            conftest.types.ExecuteCommandParams("cairn.refresh")
        )
        cairn.saved(write_function(workspace / "zz" / "crew.py", "embark_pilot"))
        await cairn.found("embark_pilot", "zz/crew.py")
        status = await cairn.request("cairn/status")
        assert status["files"]["indexed"] < 1_500
        assert status["state"] == "indexing"


@without_model
async def test_a_folder_put_in_the_place_of_the_workspace_is_followed(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        copy = Path(shutil.copytree(workspace, workspace.with_name("copy")))
        write_function(copy / "crew.py", "embark_pilot")
        workspace.rename(workspace.with_name("former"))
        copy.rename(workspace)
        await cairn.found("embark_pilot", "crew.py")
        write_function(workspace / "tugs.py", "dispatch_tugboat")
        await cairn.found("dispatch_tugboat", "tugs.py")


@without_model
async def test_a_package_that_is_opened_where_packages_are_installed_is_watched(
    daemon: Start, workspace: Path, tmp_path: Path
) -> None:
    package = tmp_path / "node_modules" / "harbour"
    shutil.copytree(workspace, package)
    async with daemon(package, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        write_function(package / "crew.py", "embark_pilot")
        await cairn.found("embark_pilot", "crew.py")


# --- what nobody reports --------------------------------------------------------------------------------


@linux_only
@without_model
async def test_where_the_system_cannot_watch_it_is_said_and_changes_are_found(
    daemon: Start, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a user namespace of its own, whose limit is for the daemon alone.
    limited = 'echo 2 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
    prefix = ("unshare", "--user", "--map-root-user", "sh", "-c", limited)
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("the number of watches cannot be limited here")
    monkeypatch.setattr(conftest, "COMMAND", (*prefix, *conftest.COMMAND))
    async with daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.until(lambda status: is_settled(status) and status["lastError"])
        assert "cannot be watched in full (OS file watch limit reached" in status["lastError"]
        folders = ("src/harbour", "tests", "new")  # some of which are watched, perhaps
        names = [f"embark_pilot_{number}" for number in range(len(folders))]
        for name, folder in zip(names, folders, strict=True):
            write_function(workspace / folder / "crew.py", name)
        for name, folder in zip(names, folders, strict=True):
            await cairn.found(name, f"{folder}/crew.py")


@contextmanager
def unreported_change(path: Path, text: bytes) -> Iterator[None]:
    """Change a file in a way that Linux does not report: through memory, while it stays open."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), len(text)) as memory:
        memory[:] = text
        memory.flush()
        os.utime(path)
        yield


@linux_only
@pytest.mark.parametrize("found_by", ["the periodic look", "the command"])
async def test_a_change_that_was_not_reported_is_found_by(
    workspace: Path, bare_data_dir: Path, found_by: str
) -> None:
    periodic = Intervals(look_again=0.5, look_again_share=0)
    intervals = periodic if found_by == "the periodic look" else Intervals(focus=0.0)
    path = write_function(workspace / "crew.py", "embark_pilot")
    engine = Engine(NO_MODEL, host=Host(EmbeddingSettings(enabled=False), intervals=intervals))

    async def first_is(name: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (
                (found := ask(engine, "search", SearchParams(name)).results)
                and found[0].path == "crew.py"
                and found[0].matched_terms
            ):
                await asyncio.sleep(0.02)

    try:
        engine.add_folder(workspace)
        await first_is("embark_pilot")
        with unreported_change(path, path.read_bytes().replace(b"embark_pilot", b"convey_cargo")):
            if found_by == "the command":
                engine.look_again()
            await first_is("convey_cargo")
    finally:
        engine.stop()


# --- git -------------------------------------------------------------------------------------------------


async def test_going_back_to_a_branch_embeds_nothing(
    daemon: Start, repository: Path, model_data_dir: Path
) -> None:
    async with daemon(repository) as cairn:
        await cairn.ready()
        git(repository, "checkout", "-b", "crew")
        write_function(repository / "crew.py", "embark_pilot")
        (repository / "README.md").write_text("# Crew\n\nEvery pilot embarks before the ship enters.\n")
        (repository / "src" / "harbour" / "tides.py").unlink()
        commit(repository, "Add the crew")
        await cairn.found("embark_pilot", "crew.py")
        await cairn.ready()
        embedded = texts_embedded(model_data_dir)
        git(repository, "checkout", "main")
        await cairn.found("high_water", "src/harbour/tides.py")
        await cairn.found("embark_pilot", None)
        await cairn.ready()
        git(repository, "checkout", "crew")
        await cairn.found("embark_pilot", "crew.py")
        await cairn.ready()
        assert texts_embedded(model_data_dir) == embedded


@without_model
async def test_a_rebase_of_many_commits_and_a_stash_are_followed(
    daemon: Start, repository: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    git(repository, "checkout", "-b", "crew")
    for number in range(20):
        write_function(repository / f"crew{number}.py", f"embark_pilot_{number}")
        commit(repository, f"Embark pilot {number}")
    git(repository, "checkout", "main")
    write_function(repository / "tugs.py", "dispatch_tugboat")
    commit(repository, "Dispatch tugs")
    git(repository, "checkout", "crew")
    async with daemon(repository, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        git(repository, "rebase", "main")
        await cairn.found("dispatch_tugboat", "tugs.py")
        await cairn.found("embark_pilot_19", "crew19.py")
        write_function(repository / "crew0.py", "disembark_navigator")
        await cairn.found("disembark_navigator", "crew0.py")
        git(repository, "stash")
        await cairn.found("disembark_navigator", None)
        git(repository, "stash", "pop")
        await cairn.found("disembark_navigator", "crew0.py")
        await equal(bare_data_dir, repository, tmp_path / "fresh")


@without_model
@pytest.mark.parametrize("place", ["whole", "subfolder", "worktree"])
async def test_commits_and_checkouts_refresh_the_history(
    daemon: Start, repository: Path, bare_data_dir: Path, tmp_path: Path, place: str
) -> None:
    opened_folder, below = repository, "src/harbour/berths.py"
    if place == "subfolder":
        opened_folder, below = repository / "src", "harbour/berths.py"
    elif place == "worktree":
        git(repository, "worktree", "add", "-b", "side", str(tmp_path / "side"))
        opened_folder = tmp_path / "side"

    def subjects() -> list[str]:
        with opened(index_path(bare_data_dir)) as db:
            return [touch.subject for touch in file_touches(db, [below]).get(below, ())]

    async def subjects_are(*expected: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while subjects() != list(expected):
                await asyncio.sleep(0.05)

    async with daemon(opened_folder, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        await subjects_are("Begin the harbour")
        with (opened_folder / below).open("a") as file:
            file.write("\n\ndef unmoor_ship(berth):\n    berth.ship = None\n")
        await cairn.found("unmoor_ship", below)
        # From here on no file changes, but what git says of them.
        git(opened_folder, "commit", "--all", "-m", "Let ships leave")
        await subjects_are("Let ships leave", "Begin the harbour")
        git(opened_folder, "commit", "--amend", "-m", "Unmoor ships")
        await subjects_are("Unmoor ships", "Begin the harbour")
        git(opened_folder, "checkout", "-b", "elsewhere")
        git(opened_folder, "reset", "--soft", "HEAD~1")
        await subjects_are("Begin the harbour")


# --- vectors that another index has ------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["worktree", "clone"])
async def test_a_worktree_and_a_clone_take_over_the_vectors(
    daemon: Start, repository: Path, model_data_dir: Path, tmp_path: Path, second: str
) -> None:
    (repository / "pyproject.toml").unlink()  # so that nothing but the folder names the project
    commit(repository, "Have no manifest")
    async with daemon(repository) as cairn:
        first = await cairn.ready()
    mark_vectors(model_data_dir)
    if second == "worktree":
        folder = tmp_path / "feature"
        git(repository, "worktree", "add", "-b", "feature", str(folder))
    else:
        folder = tmp_path / "elsewhere" / repository.name
        git(tmp_path, "clone", str(repository), str(folder))
    async with daemon(folder) as cairn:
        status = await cairn.until(lambda status: status["state"] == "ready" and status["chunks"])
        assert status["embedded"] == status["chunks"] == first["chunks"]
        assert {c["name"] for c in status["collections"]} == {c["name"] for c in first["collections"]}
        vectors = workspace_dir(folder) / "index.db"
        assert marked_vectors(vectors) == (first["chunks"], first["chunks"])  # none was embedded
        cairn.saved(write_function(folder / "crew.py", "embark_pilot"))
        await cairn.until(lambda status: status["embedded"] == status["chunks"] > first["chunks"])
        assert marked_vectors(vectors) == (first["chunks"], first["chunks"] + 1)  # but what is new is


# --- secrets -----------------------------------------------------------------------------------------------


@without_model
async def test_what_is_secret_or_ignored_is_not_found_when_it_is_saved(
    daemon: Start, workspace: Path, bare_data_dir: Path
) -> None:
    (workspace / ".gitignore").write_text("drafts/\n*.local.md\n")
    notes = workspace / "notes.txt"
    notes.write_text("The quayside watchword is periwinkle.\n")
    private_key = "-----BEGIN PRIVATE KEY-----\nMIIEvperiwinkle\nbarnacle\n-----END PRIVATE KEY-----\n"
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        await cairn.found("periwinkle", "notes.txt")
        secrets = {
            ".env": "TOKEN=cormorant\n",
            "deploy/.env.production": "TOKEN=cormorant\n",
            "id_rsa": "cormorant\n",
            "drafts/plan.md": "# Plan\n\nThe cormorant is ignored.\n",
            "berth.local.md": "# Mine\n\nThe cormorant is ignored.\n",
            "notes.txt": private_key,
        }
        for path, text in secrets.items():
            (workspace / path).parent.mkdir(exist_ok=True)
            (workspace / path).write_text(text)
            cairn.saved(workspace / path)
        cairn.saved(write_function(workspace / "crew.py", "embark_pilot"))
        await cairn.found("embark_pilot", "crew.py")  # so what was saved before is taken in
        await cairn.found("periwinkle", None)
        for word in ("cormorant", "periwinkle", "barnacle"):
            answer = await cairn.search(word)
            assert not [r for r in answer["results"] if r["path"] in secrets], word
            assert not is_word(bare_data_dir, word)
