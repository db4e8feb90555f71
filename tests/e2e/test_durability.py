"""No accident of the disk or the process costs an index: it goes on, is repaired, or is rebuilt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen
from pygls.exceptions import JsonRpcException

from tests.serving import PATIENCE_SECONDS

from . import daemon
from .command_line import run_cairn
from .daemon import NO_MODEL, UNWATCHED, Daemon, is_settled, run_daemon
from .index_files import differences, faults, fresh_contents, index_path, opened
from .written_files import write_function, write_notes

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system, as Linux does")


def overwrite_middle(path: Path) -> None:
    """Put nonsense over the middle half of the file, as a failing disk or another program does."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(random.Random(1).randbytes(size // 2))


async def degraded(cairn: Daemon) -> str:
    """Wait until the daemon is degraded by an error, and return the error."""
    status = await cairn.wait_for(lambda status: status["state"] == "degraded" and status["lastError"])
    return str(status["lastError"])


def assert_rebuilt(workspace: Path, data: Path, fresh: Path) -> None:
    """Assert that the index is sound and has the contents of one that is made from nothing."""
    assert faults(data) == []
    assert not differences(data, fresh_contents(workspace, fresh))


# --- the disk is full, or cannot be written ----------------------------------------------------------


@frozen
class Mount:
    """A small file system on the data folder, which only processes started with `prefix` see."""

    data: Path
    prefix: tuple[str, ...]

    def remount(self, options: str) -> None:
        subprocess.run([*self.prefix, "mount", "-o", f"remount,{options}", str(self.data)], check=True)

    def copy(self, target: Path) -> Path:
        """Copy the files to where this process can see them."""
        subprocess.run([*self.prefix, "cp", "-r", str(self.data), str(target)], check=True)
        return target


@pytest.fixture
def mount(bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mount]:
    """A file system of 4.5 MB, 1.4 of them for bytecode, on the data folder, and daemons that see it."""
    command = f"mount -t tmpfs -o size=4500k tmpfs '{bare_data_dir}' && echo mounted && exec cat"
    # A user who is not root becomes root of a namespace.
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    try:
        holder = subprocess.Popen(
            ["unshare", *as_root, "--mount", "sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError:
        pytest.skip("`unshare` of util-linux is not installed")
    assert holder.stdout is not None
    assert holder.stderr is not None
    if holder.stdout.readline() != b"mounted\n":
        pytest.skip(f"no file system can be mounted here: {holder.stderr.read().decode()}")
    user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    prefix = ("nsenter", "--target", str(holder.pid), "--mount", *user, f"--wd={Path.cwd()}")
    monkeypatch.setattr(daemon, "COMMAND", (*prefix, *daemon.COMMAND))
    yield Mount(bare_data_dir, prefix)
    holder.kill()
    holder.communicate()


@linux_only
@pytest.mark.asyncio
async def test_a_daemon_on_a_full_disk_names_it_searches_and_recovers(
    mount: Mount, workspace: Path, tmp_path: Path
) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        write_notes(workspace, 200)
        error = await degraded(cairn)
        assert "full" in error
        assert "Free space there, or set CAIRN_DATA_DIR" in error
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"
        assert faults(mount.copy(tmp_path / "when-full")) == []
        mount.remount("size=100m")
        # While writing fails, the total may lack new files, so the error must be gone, too.
        recovered = await cairn.wait_for(lambda status: is_settled(status) and status["lastError"] is None)
        assert recovered["files"]["total"] == 206
    assert_rebuilt(workspace, mount.copy(tmp_path / "recovered"), tmp_path / "fresh")


@linux_only
@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["closed", "killed"])
async def test_an_index_on_a_read_only_disk_is_searched(mount: Mount, workspace: Path, ending: str) -> None:
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        if ending == "killed":
            await cairn.kill()
    mount.remount("ro")
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        answer = await cairn.found("moor_ship", "src/harbour/berths.py")
        assert answer["index"]["complete"] is True
        error = await degraded(cairn)
        assert "Read-only file system" in error
        assert "CAIRN_DATA_DIR" in error
    done = run_cairn("search", "moor_ship", "-C", str(workspace), "--no-wait", prefix=mount.prefix)
    assert "src/harbour/berths.py" in done.stdout
    assert "Answering from what was indexed before" in done.stderr


@linux_only
def test_a_search_on_a_read_only_disk_without_an_index_fails(mount: Mount, workspace: Path) -> None:
    mount.remount("ro")
    error = run_cairn("search", "moor_ship", "-C", str(workspace), code=1, prefix=mount.prefix).stderr
    assert "Read-only file system" in error
    assert "set CAIRN_DATA_DIR to a writable folder" in error


@linux_only
@pytest.mark.asyncio
async def test_indexing_begins_once_the_disk_can_be_written_again(mount: Mount, workspace: Path) -> None:
    run_cairn("index", str(workspace), prefix=mount.prefix)
    mount.remount("ro")
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.found("moor_ship", "src/harbour/berths.py")
        await degraded(cairn)
        write_function(workspace / "crew.py", "embark_pilot")
        mount.remount("rw")
        await cairn.found("embark_pilot", "crew.py")


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The prefix of a command that must obey permissions; daemons start with it, too."""
    if sys.platform == "win32":
        pytest.skip("Windows keeps permissions in another way")
    if os.geteuid() != 0:
        return ()
    # Root in a new user namespace has no privileges outside of it.
    prefix = ("unshare", "--user")
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("root cannot drop its privileges here")
    monkeypatch.setattr(daemon, "COMMAND", (*prefix, *daemon.COMMAND))
    return prefix


@pytest.mark.asyncio
async def test_a_data_folder_without_write_permission_is_named_and_searched(
    workspace: Path, bare_data_dir: Path, unprivileged: tuple[str, ...]
) -> None:
    run_cairn("index", str(workspace))
    folder = index_path(bare_data_dir).parent
    try:
        for path in (*folder.iterdir(), folder, bare_data_dir / "workspaces"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        async with run_daemon(workspace, options=NO_MODEL) as cairn:
            await cairn.found("moor_ship", "src/harbour/berths.py")
            assert "Permission denied" in await degraded(cairn)
        error = run_cairn("index", str(workspace), code=1, prefix=unprivileged).stderr
        assert "Permission denied" in error
        assert "set CAIRN_DATA_DIR to a writable folder" in error
        (workspace / "inner").mkdir()
        error = run_cairn("index", str(workspace / "inner"), code=1, prefix=unprivileged).stderr
        assert "set CAIRN_DATA_DIR to a writable folder" in error
    finally:
        for path in (bare_data_dir / "workspaces", folder, *folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)


# --- the file is damaged -----------------------------------------------------------------------------


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "overwritten": overwrite_middle,
    "truncated": truncate,
    "no database": lambda path: shutil.copyfile(__file__, path),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_index_is_set_aside_reported_and_rebuilt(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, damage: str
) -> None:
    write_notes(workspace, 10)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        await cairn.kill()
    path = index_path(bare_data_dir)
    with opened(path, write=True) as db:
        db.wal_checkpoint()  # moves the contents of the log into the database
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    (path.parent / "index.db.damaged-20200101-000000").write_text("an earlier accident")
    DAMAGES[damage](path)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.settled()
        assert "was damaged" in status["lastError"]
        (aside,) = path.parent.glob("index.db.damaged-*")  # only the latest is kept
        assert aside.name in status["lastError"]
        await cairn.found("moor_ship", "src/harbour/berths.py")
    assert_rebuilt(workspace, bare_data_dir, tmp_path / "fresh")


@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["closed", "running"])
async def test_a_search_that_meets_damage_has_it_repaired(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, ending: str
) -> None:
    write_notes(workspace, 10)
    run_cairn("index", str(workspace))
    path = index_path(bare_data_dir)
    if ending == "closed":
        overwrite_middle(path)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        if ending == "running":
            await cairn.settled()
            overwrite_middle(path)

        async def is_repaired() -> bool:
            with contextlib.suppress(JsonRpcException):  # a damaged page may raise any error
                await cairn.search("where is a ship moored")
                await cairn.request("cairn/fetchPage", {"path": "note3.md"})
                return "was damaged" in ((await cairn.status())["lastError"] or "")
            return False

        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await is_repaired():
                await asyncio.sleep(0.05)
        await cairn.settled()
        await cairn.found("moor_ship", "src/harbour/berths.py")
    assert list(path.parent.glob("index.db.damaged-*"))
    assert_rebuilt(workspace, bare_data_dir, tmp_path / "fresh")


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", ["log", "file"])
async def test_the_losses_of_a_damaged_log_or_empty_file_are_indexed_again(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, damage: str
) -> None:
    write_notes(workspace, 10)
    async with run_daemon(workspace, options={**NO_MODEL, **UNWATCHED}) as cairn:
        await cairn.settled()
        for number in range(5):
            cairn.save(workspace / f"later{number}.py", f"def later_{number}():\n    return {number}\n")
            await cairn.found(f"later_{number}", f"later{number}.py")
        await cairn.kill()
    path = index_path(bare_data_dir)
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 10_000
    if damage == "log":
        overwrite_middle(log)
    else:
        os.truncate(path, 0)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        await cairn.found("later_4", "later4.py")
    assert_rebuilt(workspace, bare_data_dir, tmp_path / "fresh")


# --- the process is killed ---------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_kills_at_any_moment_leave_a_sound_index_and_lose_nothing(
    workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    chance = random.Random(7)
    write_notes(workspace, 25)
    notes = sorted(workspace.glob("note*.md"))
    alive = 0
    for turn in range(8):
        async with run_daemon(workspace, options=NO_MODEL) as cairn:
            if turn % 3 == 0:
                await cairn.request("cairn/reindex")
            await asyncio.sleep(chance.uniform(0, 0.3))  # any moment will do
            for _ in range(chance.randint(0, 6)):
                note = chance.choice(notes)
                text = note.read_text()[: chance.randint(0, 9_000)]
                cairn.save(note, f"# Turn {turn}\n\n{text}")
            await asyncio.sleep(chance.uniform(0, 0.3))
            alive += cairn.process.returncode is None
            await cairn.kill()
        if list(bare_data_dir.glob("workspaces/*/index.db")):
            assert faults(bare_data_dir) == [], turn
    assert alive == 8
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.settled()
        assert status["lastError"] is None or "model" in status["lastError"]
    assert not list(bare_data_dir.glob("workspaces/*/*damaged*"))
    assert_rebuilt(workspace, bare_data_dir, tmp_path / "fresh")
