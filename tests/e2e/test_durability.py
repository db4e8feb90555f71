"""Nothing that happens to the disk or to the process costs an index: it goes on, is repaired, or is made anew."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from pygls.exceptions import JsonRpcException

from . import conftest
from .conftest import PATIENCE_SECONDS, Daemon
from .index_files import (
    contents,
    faults,
    fresh_contents,
    index_path,
    mark_vectors,
    marked_vectors,
    opened,
    run_cairn,
)

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

NO_MODEL = {"embedding": {"enabled": False}}

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system, as Linux does")


def is_settled(status: Any) -> bool:
    """Every present file is indexed and nothing is being done."""
    files = status["files"]
    return bool(
        status["state"] not in ("starting", "indexing")
        and status["activity"] == "idle"
        and 0 < files["indexed"] == files["total"]
    )


def write_notes(root: Path, count: int) -> None:
    """Documents of about 13 kB each, all different."""
    chance = random.Random(count)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(20_000)]
    for number in range(count):
        paragraphs = (" ".join(chance.choices(words, k=60)) for _ in range(25))
        (root / f"note{number}.md").write_text(f"# Note {number}\n\n" + "\n\n".join(paragraphs))


def overwrite_middle(path: Path) -> None:
    """Put nonsense over the middle half of the file, as a failing disk or another program does."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(random.Random(1).randbytes(size // 2))


# --- the disk is full, or cannot be written -------------------------------------------------------------


@frozen
class Mount:
    """A small file system of its own on the data folder, which only processes started with `prefix` see."""

    data: Path
    prefix: tuple[str, ...]

    def remount(self, options: str) -> None:
        subprocess.run([*self.prefix, "mount", "-o", f"remount,{options}", str(self.data)], check=True)

    def copy(self, target: Path) -> Path:
        """What is in there, where this process can see it."""
        subprocess.run([*self.prefix, "cp", "-r", str(self.data), str(target)], check=True)
        return target


@pytest.fixture
def mount(bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mount]:
    """A file system of 4.5 MB, 1.4 of them for bytecode, on the data folder; daemons start where it is seen."""
    command = f"mount -t tmpfs -o size=4500k tmpfs '{bare_data_dir}' && echo mounted && exec cat"
    # As root of a namespace of its own where we are not root.
    unshare = (
        ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")
    )
    try:
        holder = subprocess.Popen(
            [*unshare, "sh", "-c", command],
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
    monkeypatch.setattr(conftest, "COMMAND", (*prefix, *conftest.COMMAND))
    yield Mount(bare_data_dir, prefix)
    holder.kill()
    holder.communicate()


@linux_only
@pytest.mark.asyncio
async def test_a_full_disk_is_named_searched_on_and_recovered_from(
    daemon: Start, mount: Mount, workspace: Path, tmp_path: Path
) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        write_notes(workspace, 400)
        full = await cairn.until(lambda status: status["state"] == "degraded" and status["lastError"])
        assert "full" in full["lastError"]
        assert "Free space there, or set CAIRN_DATA_DIR" in full["lastError"]
        assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"
        assert faults(mount.copy(tmp_path / "when-full")) == []
        mount.remount("size=100m")
        # By itself. While writing fails, files that came meanwhile may not be counted yet.
        recovered = await cairn.until(lambda status: is_settled(status) and status["lastError"] is None)
        assert recovered["files"]["total"] == 406
    kept = mount.copy(tmp_path / "kept")
    assert faults(kept) == []
    assert contents(kept) == fresh_contents(workspace, tmp_path / "fresh")


@linux_only
@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["closed", "killed"])
async def test_an_index_on_a_disk_that_cannot_be_written_is_searched(
    daemon: Start, mount: Mount, workspace: Path, ending: str
) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        if ending == "killed":
            cairn.process.send_signal(signal.SIGKILL)
            await cairn.process.wait()
    mount.remount("ro")
    async with daemon(workspace, options=NO_MODEL) as cairn:
        answer = await cairn.found("moor_ship", "src/harbour/berths.py")
        assert answer["index"]["complete"] is True
        status = await cairn.until(lambda status: status["state"] == "degraded" and status["lastError"])
        assert "Read-only file system" in status["lastError"]
        assert "CAIRN_DATA_DIR" in status["lastError"]
    asked = run_cairn("search", "moor_ship", "-C", str(workspace), "--no-wait", code=0, prefix=mount.prefix)
    assert "src/harbour/berths.py" in asked.stdout
    assert "Answering from what was indexed before" in asked.stderr


@linux_only
def test_a_disk_that_cannot_be_written_is_an_error_where_there_is_no_index(
    mount: Mount, workspace: Path
) -> None:
    mount.remount("ro")
    said = run_cairn("search", "moor_ship", "-C", str(workspace), code=1, prefix=mount.prefix).stderr
    assert "Read-only file system" in said
    assert "set CAIRN_DATA_DIR to a writable folder" in said


@linux_only
@pytest.mark.asyncio
async def test_indexing_begins_once_the_disk_can_be_written_again(
    daemon: Start, mount: Mount, workspace: Path
) -> None:
    run_cairn("index", str(workspace), prefix=mount.prefix)
    mount.remount("ro")
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.found("moor_ship", "src/harbour/berths.py")
        await cairn.until(lambda status: status["state"] == "degraded" and status["lastError"])
        (workspace / "crew.py").write_text("def embark_pilot(vessel):\n    return vessel\n")
        mount.remount("rw")
        await cairn.found("embark_pilot", "crew.py")


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """What a command is started with so that permissions hold for it; daemons are started like that, too."""
    if sys.platform == "win32":
        pytest.skip("Windows keeps permissions in another way")
    if os.geteuid() != 0:
        return ()
    # Root without root's privileges: whoever is in a user namespace has none outside of it.
    prefix = ("unshare", "--user")
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("root cannot put its privileges down here")
    monkeypatch.setattr(conftest, "COMMAND", (*prefix, *conftest.COMMAND))
    return prefix


@pytest.mark.asyncio
async def test_a_data_folder_without_permission_to_write_is_named_and_searched(
    daemon: Start, workspace: Path, bare_data_dir: Path, ordinary: tuple[str, ...]
) -> None:
    run_cairn("index", str(workspace))
    folder = index_path(bare_data_dir).parent
    try:
        for path in (*folder.iterdir(), folder, bare_data_dir / "workspaces"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        async with daemon(workspace, options=NO_MODEL) as cairn:
            await cairn.found("moor_ship", "src/harbour/berths.py")
            status = await cairn.until(lambda status: status["state"] == "degraded" and status["lastError"])
            assert "Permission denied" in status["lastError"]
        said = run_cairn("index", str(workspace), code=1, prefix=ordinary).stderr
        assert "Permission denied" in said
        assert "set CAIRN_DATA_DIR to a writable folder" in said
        (workspace / "inner").mkdir()
        said = run_cairn("index", str(workspace / "inner"), code=1, prefix=ordinary).stderr
        assert "set CAIRN_DATA_DIR to a writable folder" in said
    finally:
        for path in (bare_data_dir / "workspaces", folder, *folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)


# --- the file is damaged ----------------------------------------------------------------------------------


async def killed(start: Start, workspace: Path) -> None:
    """Index the workspace, and die without closing the index."""
    async with start(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        cairn.process.send_signal(signal.SIGKILL)
        await cairn.process.wait()


def remove_log(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "overwritten": overwrite_middle,
    "truncated": truncate,
    "no database": lambda path: shutil.copyfile(__file__, path),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_index_is_set_aside_said_and_made_anew(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path, damage: str
) -> None:
    write_notes(workspace, 10)
    await killed(daemon, workspace)
    path = index_path(bare_data_dir)
    with opened(path, write=True) as db:
        db.wal_checkpoint()  # what follows is in the database, not in the log
    remove_log(path)
    (path.parent / "index.db.damaged-20200101-000000").write_text("of an earlier accident")
    DAMAGES[damage](path)
    async with daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.until(is_settled)
        assert "was damaged" in status["lastError"]
        (aside,) = path.parent.glob("index.db.damaged-*")  # the latest alone
        assert aside.name in status["lastError"]
        await cairn.found("moor_ship", "src/harbour/berths.py")
    assert faults(bare_data_dir) == []
    assert contents(bare_data_dir) == fresh_contents(workspace, tmp_path / "fresh")


@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["closed", "running"])
async def test_damage_that_nobody_expects_is_met_by_a_search_and_repaired(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path, ending: str
) -> None:
    write_notes(workspace, 10)
    run_cairn("index", str(workspace))
    path = index_path(bare_data_dir)
    if ending == "closed":
        overwrite_middle(path)
    async with daemon(workspace, options=NO_MODEL) as cairn:
        if ending == "running":
            await cairn.until(is_settled)
            overwrite_middle(path)

        async def repaired() -> bool:
            with contextlib.suppress(JsonRpcException):  # whichever error a damaged page gives
                await cairn.search("where is a ship moored")
                await cairn.request("cairn/fetchPage", {"path": "note3.md"})
                return "was damaged" in ((await cairn.request("cairn/status"))["lastError"] or "")
            return False

        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await repaired():
                await asyncio.sleep(0.05)
        await cairn.until(is_settled)
        await cairn.found("moor_ship", "src/harbour/berths.py")
    assert list(path.parent.glob("index.db.damaged-*"))
    assert faults(bare_data_dir) == []
    assert contents(bare_data_dir) == fresh_contents(workspace, tmp_path / "fresh")


@pytest.mark.asyncio
@pytest.mark.parametrize("damage", ["log", "file"])
async def test_what_a_damaged_log_or_an_empty_file_lost_is_indexed_again(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path, damage: str
) -> None:
    write_notes(workspace, 10)
    async with daemon(workspace, options={**NO_MODEL, "index": {"watch": False}}) as cairn:
        await cairn.until(is_settled)
        for number in range(5):
            (workspace / f"later{number}.py").write_text(f"def later_{number}():\n    return {number}\n")
            cairn.saved(workspace / f"later{number}.py")
            await cairn.found(f"later_{number}", f"later{number}.py")
        cairn.process.send_signal(signal.SIGKILL)
        await cairn.process.wait()
    path = index_path(bare_data_dir)
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 10_000
    if damage == "log":
        overwrite_middle(log)
    else:
        os.truncate(path, 0)
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(is_settled)
        await cairn.found("later_4", "later4.py")
    assert faults(bare_data_dir) == []
    assert contents(bare_data_dir) == fresh_contents(workspace, tmp_path / "fresh")


@pytest.mark.asyncio
async def test_an_index_of_another_version_gives_its_vectors_to_the_new_one(
    daemon: Start, workspace: Path, model_data_dir: Path
) -> None:
    async with daemon(workspace) as cairn:
        before = await cairn.ready()
    path = index_path(model_data_dir)
    mark_vectors(model_data_dir)
    with opened(path, write=True) as db:
        db.pragma("user_version", 99_999)
    async with daemon(workspace) as cairn:
        status = await cairn.until(lambda status: status["state"] == "ready" and status["files"]["indexed"])
        assert "another version" in status["lastError"]
        assert (status["embedded"], status["chunks"]) == (before["embedded"], before["chunks"])
        assert marked_vectors(path) == (before["chunks"], before["chunks"])  # none was embedded
    assert [file.name for file in path.parent.glob("*.db*")] == ["index.db"]


# --- the process is killed ----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_kills_at_any_moment_leave_a_sound_index_and_lose_nothing(
    daemon: Start, workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    chance = random.Random(7)
    write_notes(workspace, 25)
    notes = sorted(workspace.glob("note*.md"))
    alive = 0
    for turn in range(12):
        async with daemon(workspace, options=NO_MODEL) as cairn:
            if turn % 3 == 0:
                await cairn.request("cairn/reindex")
            await asyncio.sleep(chance.uniform(0, 0.3))  # any moment will do
            for _ in range(chance.randint(0, 6)):
                note = chance.choice(notes)
                note.write_text(f"# Turn {turn}\n\n{note.read_text()[: chance.randint(0, 9_000)]}")
                cairn.saved(note)
            await asyncio.sleep(chance.uniform(0, 0.3))
            alive += cairn.process.returncode is None
            cairn.process.send_signal(signal.SIGKILL)
            await cairn.process.wait()
        if list(bare_data_dir.glob("workspaces/*/index.db")):
            assert faults(bare_data_dir) == [], turn
    assert alive == 12
    async with daemon(workspace, options=NO_MODEL) as cairn:
        status = await cairn.until(is_settled)
        assert status["lastError"] is None or "model" in status["lastError"]
    assert not list(bare_data_dir.glob("workspaces/*/*damaged*"))
    assert contents(bare_data_dir) == fresh_contents(workspace, tmp_path / "fresh")
