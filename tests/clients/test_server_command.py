"""The command with which clients start this installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cairn.clients.table import Machine, server_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests' programs are shell scripts")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return program(tmp_path / "venv" / "bin")


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    made = folder / "cairn"
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return made


def on_path(*folders: Path, **variables: str) -> Machine:
    return Machine("linux", Path("home"), {"PATH": ":".join(map(str, folders)), **variables})


def test_command_on_the_path_is_started_by_name(own: Path, tmp_path: Path) -> None:
    link = tmp_path / "local" / "bin"
    link.mkdir(parents=True)
    (link / "cairn").symlink_to(own)
    assert server_command(on_path(own.parent), str(own)) == "cairn"
    assert server_command(on_path(link), str(own)) == "cairn"
    assert server_command(on_path(link), str(link / "cairn")) == "cairn"


def test_command_elsewhere_is_started_by_its_full_path(own: Path, tmp_path: Path) -> None:
    other = program(tmp_path / "other")
    assert server_command(on_path(), str(own)) == str(own)
    assert server_command(on_path(other.parent, own.parent), str(own)) == str(own)


def test_command_of_an_activated_environment_has_its_full_path(own: Path) -> None:
    activated = on_path(own.parent, VIRTUAL_ENV=str(own.parent.parent))
    assert server_command(activated, str(own)) == str(own)
