"""The data folder: it is closed to other users, also one that an earlier version left open."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.paths import data_dir, private_folder, write_private

from .e2e.command_line import run_cairn
from .harbour import write_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="other users cannot enter a user's folders")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The path of a data folder that does not exist yet. New files can be read by other users."""
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "settings"))
    before = os.umask(0o022)
    yield tmp_path / "data"
    os.umask(before)


def test_a_command_that_only_reads_closes_an_open_data_folder(data: Path, tmp_path: Path) -> None:
    (data / "workspaces").mkdir(parents=True)
    assert mode(data) == 0o755
    run_cairn("status", cwd=tmp_path)
    assert mode(data) == 0o700


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_read_an_index(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # The other user can enter this folder, unlike pytest's own.
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("CAIRN_DATA_DIR", str(folder / "data"))
        workspace = write_files(folder / "harbour", {"README.md": "# Harbour\n"})
        run_cairn("index", "-q", cwd=workspace)
        (index,) = (folder / "data" / "workspaces").glob("*/index.db")
        assert [mode(each) for each in (folder / "data", index.parent)] == [0o700, 0o700]
        read = [sys.executable, "-c", "import sys; open(sys.argv[1], 'rb')"]
        assert subprocess.run([*read, str(index)], check=False).returncode == 0
        done = subprocess.run([*read, str(index)], capture_output=True, text=True, user="nobody", check=False)
        assert "PermissionError" in done.stderr


def test_folders_that_are_not_only_cairns_stay_open(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    for folder, rights in ((home, 0o755), (shared, 0o1777), (data, 0o710)):
        folder.mkdir()
        folder.chmod(rights)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
        assert mode(data_dir()) == rights
        assert mode(private_folder(folder / "sub")) == 0o700


def test_a_private_file_is_replaced_whole_or_kept(data: Path) -> None:
    path = data / "sub" / "token"
    write_private(path, "one", replace=False)
    write_private(path, "two", replace=False)
    assert path.read_text() == "one"
    write_private(path, b"three")
    assert path.read_bytes() == b"three"
    assert [mode(each) for each in (data, path.parent, path)] == [0o700, 0o700, 0o600]
    (path.parent / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(path.parent / "folder", "x")
    assert {each.name for each in path.parent.iterdir()} == {"token", "folder"}
