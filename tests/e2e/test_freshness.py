"""The index follows the files through floods of changes, git, and changes that the system does not report."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.index.indexing.folder_state import Intervals
from cairn.protocol import SearchParams
from cairn.settings.tree import EmbeddingSettings
from tests.conftest import ask
from tests.git_repository import GitRepository
from tests.index.index_builders import file_touches

from . import daemon
from .daemon import NO_MODEL, is_settled, run_daemon, wait_until
from .index_files import (
    differences,
    fresh_contents,
    index_path,
    is_word,
    opened,
)
from .written_files import write_function

pytestmark = pytest.mark.asyncio

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="uses features of Linux")
without_model = pytest.mark.usefixtures("bare_data_dir")


@pytest.fixture
def repository(workspace: Path) -> GitRepository:
    """The workspace with one commit."""
    made = GitRepository(workspace)
    made.commit("Begin the harbour")
    return made


async def equals_fresh_index(data: Path, workspace: Path, fresh: Path) -> None:
    """Wait until the index has the contents of one that is made from nothing."""
    expected = await asyncio.to_thread(fresh_contents, workspace, fresh)
    with contextlib.suppress(TimeoutError):
        await wait_until(lambda: not differences(data, expected))
    assert not differences(data, expected)


# --- files -------------------------------------------------------------------------------------------


@without_model
async def test_added_renamed_replaced_removed_and_ignored_files_are_followed(
    workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        write_function(workspace / "a/b/c/tugs.py", "dispatch_tugboat")
        await cairn.found("dispatch_tugboat", "a/b/c/tugs.py")
        (workspace / "a/b").rename(workspace / "moved")
        await cairn.found("dispatch_tugboat", "moved/c/tugs.py")
        write_function(workspace / "moved/c/pilots.py", "embark_pilot")  # in a folder that moved
        await cairn.found("embark_pilot", "moved/c/pilots.py")
        (workspace / "moved/c/pilots.py").rename(workspace / "crew.py")
        await cairn.found("embark_pilot", "crew.py")
        # Many editors save like this: a new file takes the place of the old one.
        write_function(workspace / "crew.py.tmp", "disembark_navigator").replace(workspace / "crew.py")
        await cairn.found("disembark_navigator", "crew.py")
        await cairn.found("embark_pilot", None)
        shutil.rmtree(workspace / "moved")
        await cairn.found("dispatch_tugboat", None)
        (workspace / ".gitignore").write_text("tests/\n")
        await cairn.wait_for(
            lambda answer: all(r["path"] != "tests/test_berths.py" for r in answer["results"]),
            "cairn/search",
            {"query": "test a taken berth"},
        )
        await equals_fresh_index(bare_data_dir, workspace, tmp_path / "fresh")


@without_model
async def test_a_flood_of_changes_is_indexed_in_whole(
    workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        for number in range(1_200):
            write_function(workspace / f"part{number % 40}" / f"file{number}.py", f"crane_{number}")
        shutil.rmtree(workspace / "tests")
        await cairn.wait_for(lambda status: status["files"]["indexed"] == 1_205)
        await equals_fresh_index(bare_data_dir, workspace, tmp_path / "fresh")


@without_model
async def test_a_save_is_found_while_the_first_scan_still_runs(workspace: Path) -> None:
    for number in range(1_500):
        text = "".join(f"def crane_{number}_{n}(load):\n    return load * {n}\n\n\n" for n in range(12))
        path = workspace / f"part{number % 50}" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.wait_for(lambda status: 0 < status["files"]["indexed"] < status["files"]["total"])
        await cairn.execute("cairn.refresh")  # an editor that comes to the front must not delay the save
        cairn.save(write_function(workspace / "zz/crew.py", "embark_pilot"))
        await cairn.found("embark_pilot", "zz/crew.py")
        status = await cairn.status()
        assert status["files"]["indexed"] < 1_500
        assert status["state"] == "indexing"


@without_model
async def test_a_folder_that_replaces_the_workspace_is_followed(workspace: Path) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        copy = Path(shutil.copytree(workspace, workspace.with_name("copy")))
        write_function(copy / "crew.py", "embark_pilot")
        workspace.rename(workspace.with_name("former"))
        copy.rename(workspace)
        await cairn.found("embark_pilot", "crew.py")
        write_function(workspace / "tugs.py", "dispatch_tugboat")
        await cairn.found("dispatch_tugboat", "tugs.py")


@without_model
async def test_an_installed_package_that_is_opened_is_watched(workspace: Path, tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "harbour"
    shutil.copytree(workspace, package)
    async with run_daemon(package, options=NO_MODEL) as cairn:
        await cairn.settled()
        write_function(package / "crew.py", "embark_pilot")
        await cairn.found("embark_pilot", "crew.py")


@without_model
async def test_a_worktree_that_is_added_inside_stays_out(repository: GitRepository, tmp_path: Path) -> None:
    async with run_daemon(repository.folder, options=NO_MODEL) as cairn:
        await cairn.settled()
        files = (await cairn.status())["files"]["indexed"]
        tree, pointer = repository.folder / "trees" / "one", tmp_path / "pointer"
        repository.git("worktree", "add", "--quiet", str(tree))
        write_function(tree / "crew.py", "embark_crew")
        write_function(repository.folder / "pilot.py", "embark_pilot")
        await cairn.found("embark_pilot", "pilot.py")
        assert (await cairn.status())["files"]["indexed"] == files + 1
        (tree / ".git").rename(pointer)
        await cairn.wait_for(lambda status: status["files"]["indexed"] == 2 * files + 2)
        pointer.rename(tree / ".git")
        await cairn.wait_for(lambda status: status["files"]["indexed"] == files + 1)


# --- changes that the system does not report ---------------------------------------------------------


@linux_only
@without_model
async def test_a_folder_that_cannot_be_watched_is_reported_and_followed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a user namespace of its own, the limit holds for the daemon alone.
    limited = 'echo 2 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
    prefix = ("unshare", "--user", "--map-root-user", "sh", "-c", limited)
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("the number of watches cannot be limited here")
    monkeypatch.setattr(daemon, "COMMAND", (*prefix, *daemon.COMMAND))
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.wait_for(lambda status: is_settled(status) and status["lastError"])
        assert "cannot be watched in full (OS file watch limit reached" in status["lastError"]
        folders = {"embark_a": "src/harbour", "embark_b": "tests", "embark_c": "new"}  # some may be watched
        for name, folder in folders.items():
            write_function(workspace / folder / "crew.py", name)
        for name, folder in folders.items():
            await cairn.found(name, f"{folder}/crew.py")


@contextlib.contextmanager
def unreported_change(path: Path, text: bytes) -> Iterator[None]:
    """Change a file in a way that Linux does not report: through memory, while it stays open."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), len(text)) as memory:
        memory[:] = text
        memory.flush()
        os.utime(path)
        yield


@linux_only
@pytest.mark.parametrize("finder", ["the periodic look", "the command"])
async def test_an_unreported_change_is_found(workspace: Path, bare_data_dir: Path, finder: str) -> None:
    periodic = Intervals(look_again=0.5, look_again_share=0)
    intervals = periodic if finder == "the periodic look" else Intervals(focus=0.0)
    path = write_function(workspace / "crew.py", "embark_pilot")
    engine = Engine(NO_MODEL, host=Host(EmbeddingSettings(enabled=False), intervals=intervals))

    async def first_is(name: str) -> None:
        def is_first() -> bool:
            results = ask(engine, "search", SearchParams(name)).results
            return bool(results and results[0].path == "crew.py" and results[0].matched_terms)

        await wait_until(is_first)

    try:
        engine.add_folder(workspace)
        await first_is("embark_pilot")
        with unreported_change(path, path.read_bytes().replace(b"embark_pilot", b"convey_cargo")):
            if finder == "the command":
                engine.look_again()
            await first_is("convey_cargo")
    finally:
        engine.stop()


# --- git ---------------------------------------------------------------------------------------------


@without_model
async def test_a_rebase_of_many_commits_and_a_stash_are_followed(
    repository: GitRepository, bare_data_dir: Path, tmp_path: Path
) -> None:
    folder = repository.folder
    repository.git("checkout", "-b", "crew")
    for number in range(20):
        write_function(folder / f"crew{number}.py", f"embark_pilot_{number}")
        repository.commit(f"Embark pilot {number}")
    repository.git("checkout", "main")
    write_function(folder / "tugs.py", "dispatch_tugboat")
    repository.commit("Dispatch tugs")
    repository.git("checkout", "crew")
    async with run_daemon(folder, options=NO_MODEL) as cairn:
        await cairn.settled()
        repository.git("rebase", "main")
        await cairn.found("dispatch_tugboat", "tugs.py")
        await cairn.found("embark_pilot_19", "crew19.py")
        write_function(folder / "crew0.py", "disembark_navigator")
        await cairn.found("disembark_navigator", "crew0.py")
        repository.git("stash")
        await cairn.found("disembark_navigator", None)
        repository.git("stash", "pop")
        await cairn.found("disembark_navigator", "crew0.py")
        await equals_fresh_index(bare_data_dir, folder, tmp_path / "fresh")


@without_model
@pytest.mark.parametrize("place", ["whole", "subfolder", "worktree"])
async def test_commits_and_checkouts_refresh_the_history(
    repository: GitRepository, bare_data_dir: Path, tmp_path: Path, place: str
) -> None:
    folder, below = repository.folder, "src/harbour/berths.py"
    if place == "subfolder":
        folder, below = repository.folder / "src", "harbour/berths.py"
    elif place == "worktree":
        folder = tmp_path / "side"
        repository.git("worktree", "add", "-b", "side", str(folder))

    def subjects() -> list[str]:
        with opened(index_path(bare_data_dir)) as db:
            return [touch.subject for touch in file_touches(db, [below]).get(below, ())]

    async def subjects_are(*expected: str) -> None:
        await wait_until(lambda: subjects() == list(expected))

    async with run_daemon(folder, options=NO_MODEL) as cairn:
        await cairn.settled()
        await subjects_are("Begin the harbour")
        with (folder / below).open("a") as file:
            file.write("\n\ndef unmoor_ship(berth):\n    berth.ship = None\n")
        await cairn.found("unmoor_ship", below)
        # From here on no file changes, only its history.
        repository.git("-C", str(folder), "commit", "--all", "-m", "Let ships leave")
        await subjects_are("Let ships leave", "Begin the harbour")
        repository.git("-C", str(folder), "commit", "--amend", "-m", "Unmoor ships")
        await subjects_are("Unmoor ships", "Begin the harbour")
        repository.git("-C", str(folder), "checkout", "-b", "elsewhere")
        repository.git("-C", str(folder), "reset", "--soft", "HEAD~1")
        await subjects_are("Begin the harbour")


# --- secrets -----------------------------------------------------------------------------------------


@without_model
async def test_a_saved_secret_or_ignored_file_is_not_found(workspace: Path, bare_data_dir: Path) -> None:
    (workspace / ".gitignore").write_text("drafts/\n*.local.md\n")
    (workspace / "notes.txt").write_text("The quayside watchword is periwinkle.\n")
    private_key = "-----BEGIN PRIVATE KEY-----\nMIIEvperiwinkle\nbarnacle\n-----END PRIVATE KEY-----\n"
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
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
            cairn.save(workspace / path, text)
        cairn.save(write_function(workspace / "crew.py", "embark_pilot"))
        await cairn.found("embark_pilot", "crew.py")  # so the index has read the earlier saves
        await cairn.found("periwinkle", None)
        for word in ("cormorant", "periwinkle", "barnacle"):
            answer = await cairn.search(word)
            assert not [r for r in answer["results"] if r["path"] in secrets], word
            assert not is_word(bare_data_dir, word)
