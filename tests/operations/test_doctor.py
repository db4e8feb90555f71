"""`cairn doctor` checks the installation and a folder's index, and gives a remedy for each problem."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result
from tests.onnx_models import make_onnx_model

from cairn import protocol
from cairn.commands import cli
from cairn.embedding import packaged
from cairn.engine.engine import Engine
from cairn.engine.status import status_of
from cairn.index.store.coordination import note_holder, writer_lock
from cairn.operations import folder_checks
from cairn.operations.doctor import Check, Level
from cairn.paths import workspace_dir

NAMES = [
    "Python", "Cairn", "data folder", "settings", "SQLite", "code model", "grammars", "git", "extras",
    "folder's settings", "files", "watching", "writer", "index", "index is sound", "index is in step",
    "vectors", "state",
]  # fmt: skip


@pytest.fixture(autouse=True)
def config_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty settings folder."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def harbour(workspace: Path, bare_data_dir: Path) -> Path:
    """A workspace that is not indexed, without an installed model."""
    return workspace


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *arguments])


def status(folder: Path) -> protocol.StatusAnswer:
    engine = Engine({"index": {"watch": False}})
    engine.add_folder(folder, keep_indexed=False)
    try:
        return status_of(engine.request())
    finally:
        engine.stop()


def checks(folder: Path) -> dict[str, Check]:
    return {check.name: check for check in folder_checks.examine(folder, lambda: status(folder)).checks}


def index(folder: Path) -> Path:
    """Index the folder, and return the index file."""
    assert CliRunner().invoke(cli, ["index", str(folder), "-q"]).exit_code == 0
    return workspace_dir(folder) / "index.db"


def change(database: Path, sql: str) -> None:
    connection = apsw.Connection(str(database))
    connection.execute(sql)
    connection.close()


@pytest.mark.usefixtures("bare_data_dir")
def test_a_sound_installation_and_index_pass_every_check(workspace: Path) -> None:
    index(workspace)
    done = run("-C", str(workspace), "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["problems"]) == (0, 0)
    found: dict[str, Any] = {check["name"]: check for check in answer["checks"]}
    assert list(found) == NAMES
    not_ok = {name for name, check in found.items() if check["level"] != "ok"}
    assert not_ok - {"extras", "git", "watching"} == {"writer"}
    assert found["Python"]["message"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "sqlite-vec" in found["SQLite"]["message"]
    assert re.search(r"intact, loaded in \d+ ms, a sentence in [\d.]+ ms", found["code model"]["message"])
    assert "6 files" in found["index"]["message"]
    assert found["state"]["message"].startswith("The index is complete: 6 files")
    assert "quick_check took" in found["index is sound"]["message"]
    assert re.match(r"(\d+) of \1 chunks, ", found["vectors"]["message"])


def test_problems_come_with_a_remedy_and_exit_code_one(
    harbour: Path, config_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = packaged.load_packaged
    monkeypatch.setattr(packaged, "load_packaged", lambda: load(tmp_path / "nothing"))
    done = run("-C", str(harbour))
    assert done.exit_code == 1
    assert "problem  code model: The code model that comes with Cairn cannot be used" in done.stdout
    assert "Install Cairn again." in done.stdout
    assert done.stdout.endswith("1 problem\n")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / "file" / "data"))
    monkeypatch.setenv("PATH", "")
    (config_dir / "config.toml").write_text("[index\n")
    (harbour / ".cairn.toml").write_text("[search.weights]\nnonsense = 2\n[index]\nexclud = []\n")
    found = checks(harbour)
    assert "CAIRN_DATA_DIR" in found["data folder"].remedy
    assert "Install git" in found["git"].remedy
    assert found["git"].level is Level.NOTE
    assert "Correct the file" in found["settings"].remedy
    assert "nonsense" in found["folder's settings"].message
    assert "did you mean exclude?" in found["folder's settings"].message
    assert ".cairn.toml" in found["folder's settings"].remedy


def test_a_model_of_the_users_own_is_checked(
    harbour: Path, config_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_EMBEDDING__MODEL", str(tmp_path / "colours"))
    assert "colours cannot be used: it has no model.onnx" in checks(harbour)["model"].message
    make_onnx_model(tmp_path / "colours")
    model = checks(harbour)["model"]
    assert model.level is Level.OK
    assert re.match(r"colours@\w+ in .*, 3 dimensions, intact, loaded in \d+ ms", model.message)


def test_a_model_that_the_settings_switch_off_is_a_note(harbour: Path, config_dir: Path) -> None:
    (config_dir / "config.toml").write_text("[embedding]\nenabled = false\n")
    found = checks(harbour)
    assert found["code model"].level is Level.NOTE
    assert "keywords only" in found["code model"].message
    assert "model" not in found


def test_a_missing_extra_is_named_with_what_needs_it(harbour: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mcp" else find(name))
    extras = checks(harbour)["extras"]
    assert extras.level is Level.NOTE
    says = '`cairn serve` and `cairn mcp` need it: `pip install "cairn-ls[serve]"`'
    assert f"mcp not installed; {says}" in extras.message


# --- the folder ------------------------------------------------------------------------------------


def test_a_folder_that_was_never_indexed_is_a_note(harbour: Path) -> None:
    found = checks(harbour)
    assert (found["index"].level, found["index"].remedy) == (Level.NOTE, "Run `cairn index`.")
    assert not {"index is sound", "index is in step", "vectors"} & found.keys()
    assert not workspace_dir(harbour).exists()


def test_the_writer_is_named(harbour: Path) -> None:
    index(harbour)
    data = workspace_dir(harbour)
    with writer_lock(data).acquire(blocking=False):
        note_holder(data)
        writer = checks(harbour)["writer"]
        assert writer.level is Level.OK
        assert f"process {os.getpid()}, keeps the index up to date since 20" in writer.message
        (data / "writer.json").write_text("{}")
        assert checks(harbour)["writer"].message.startswith("some process")
    assert checks(harbour)["writer"].message.startswith("no process")


def test_a_damaged_index_is_a_problem(harbour: Path) -> None:
    database = index(harbour)
    sound = database.read_bytes()
    database.write_bytes(b"this is not a database" * 1000)
    found = checks(harbour)
    assert found["index"].level is Level.PROBLEM
    assert "cairn index" in found["index"].remedy
    database.write_bytes(sound)
    connection = apsw.Connection(str(database))
    page = int(connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").get)
    size = int(connection.pragma("page_size"))
    connection.close()
    database.write_bytes(sound[: (page - 1) * size] + b"\xff" * size + sound[page * size :])
    found = checks(harbour)
    assert found["index is sound"].level is Level.PROBLEM
    assert found["index is sound"].message.startswith("damaged: ")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM chunks_fts WHERE rowid IN (SELECT max(id) FROM chunks)", "chunks and their keywords"),
        ("UPDATE meta SET value = value + 1 WHERE key = 'chunks'", "chunks counted and there"),
        ("DELETE FROM paths_fts WHERE rowid = 1", "files and the words of their paths"),
    ],
)
def test_counts_that_differ_are_a_problem(harbour: Path, sql: str, message: str) -> None:
    change(index(harbour), sql)
    step = checks(harbour)["index is in step"]
    assert step.level is Level.PROBLEM
    assert message in step.message
    assert step.remedy == "Run `cairn reindex`."


def test_missing_vectors_are_reported(harbour: Path) -> None:
    change(index(harbour), "DELETE FROM static_vectors_rowids WHERE rowid = 1")
    assert "chunks that have or await a vector" in checks(harbour)["index is in step"].message


def test_an_index_of_another_version_is_a_note(harbour: Path) -> None:
    change(index(harbour), "PRAGMA user_version = 7")
    found = checks(harbour)
    assert found["index"].level is Level.NOTE
    assert "another version" in found["index"].message
    assert "index is sound" not in found


def test_the_check_of_a_large_index_ends_in_time(harbour: Path) -> None:
    index(harbour)
    sound = dict(folder_checks.folder_checks(harbour, check_seconds=0.0))["index is sound"]()
    assert isinstance(sound, Check)
    assert sound.level is Level.NOTE
    assert "more than can be checked" in sound.message


def test_the_examination_changes_nothing_in_the_index(harbour: Path) -> None:
    database = index(harbour)
    before = database.read_bytes()
    folder_checks.examine(harbour, lambda: status(harbour))
    assert database.read_bytes() == before


# --- watching --------------------------------------------------------------------------------------


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    """The limits files of Linux, beside those of a process that watches four directories."""
    folder = tmp_path / "limits"
    folder.mkdir()
    (folder / "max_user_watches").write_text("524288")
    (folder / "max_user_instances").write_text("128")
    process = tmp_path / "processes" / "4711"
    (process / "fd").mkdir(parents=True)
    (process / "fdinfo").mkdir()
    (process / "fd" / "3").symlink_to("anon_inode:inotify")
    (process / "fd" / "4").symlink_to("/dev/null")
    (process / "fdinfo" / "3").write_text("pos:\t0\n" + "inotify wd:1 ino:2\n" * 4)
    return folder


def watching(folder: Path, limits: Path) -> Check | str:
    return folder_checks.check_watching(folder, limits, limits.parent / "processes")


def test_directories_are_counted_against_the_limit(workspace: Path, limits: Path) -> None:
    assert watching(workspace, limits) == (
        "4 directories here; 4 of 524288 watches and 1 of 128 watchers are in use"
    )
    (limits / "max_user_watches").write_text("3")
    found = watching(workspace, limits)
    assert isinstance(found, Check)
    assert found.level is Level.PROBLEM
    assert "sysctl" in found.remedy


@pytest.mark.parametrize(
    ("limit", "value", "remedy"),
    [("max_user_watches", "8192", "max_user_watches"), ("max_user_instances", "4", "max_user_instances")],
)
def test_limits_that_are_nearly_reached_are_a_note(
    workspace: Path, limits: Path, limit: str, value: str, remedy: str
) -> None:
    (limits / limit).write_text(value)
    found = watching(workspace, limits)
    assert isinstance(found, Check)
    assert found.level is Level.NOTE
    assert remedy in found.remedy


def test_a_system_without_limits_is_fine(workspace: Path, tmp_path: Path) -> None:
    assert watching(workspace, tmp_path / "absent") == "the system sets no limit"
