"""The output of commands: JSON for programs, text for people, colour on terminals, completion for shells."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hostile_texts import run_on_terminals

from cairn.commands import cli
from tests.harbour import MOOR_DIFF

from .command_line import run_cairn, run_cairn_json, without_progress

bare = pytest.mark.usefixtures("bare_data_dir")
HAS_TERMINALS = sys.platform != "win32"
NO_JSON = {"lsp", "mcp", "serve", "completion", "model"}
"""The commands that speak a protocol, print a script, or only say what replaced them."""

COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "index": ((), "state"),
    "reindex": (("README.md",), "state"),
    "status": ((), "state"),
    "search": (("moor_ship",), "results"),
    "discover": (("how are ships moored",), "bullets"),
    "related": (("src/harbour/berths.py:4",), "results"),
    "callers": (("moor_ship",), "references"),
    "callees": (("src/harbour/schedule.py:9", "--depth", "2"), "references"),
    "uses": (("Berth",), "references"),
    "implementations": (("Berth",), "references"),
    "tests": (("moor_ship",), "references"),
    "trace": (("assign_berths", "moor_ship"), "references"),
    "changes": (("--diff", "moor.diff"), "changed"),
    "context": (("src/harbour/berths.py:4",), "context"),
    "page": (("README.md",), "text"),
    "call": (("status",), "state"),
    "feedback": (("--reset",), "forgotten"),
    "phase": (("2",), "state"),
    "doctor": (("--why", "README.md"), "rule"),
    "config show": (("--all",), "settings"),
    "config schema": ((), "properties"),
    "config path": ((), ""),
    "install": (("codex", "--dry-run"), "changes"),
    "uninstall": (("codex", "--dry-run", "--scope", "project"), "changes"),
    "openapi": ((), "paths"),
    "open": (("http://127.0.0.1:9",), "error"),
    "pause": ((), "error"),
    "resume": ((), "error"),
}
"""For each command, arguments and a field of its answer. No process indexes the folder, so that it cannot be
paused, and no server listens at port 9."""


def all_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def test_every_command_that_prints_has_json_and_is_in_the_table() -> None:
    commands = {name: command for name, command in all_commands(cli) if name not in NO_JSON}
    for name, command in commands.items():
        assert "--json" in {option for param in command.params for option in param.opts}, name
    # `cairn team` needs a database, and is tried in tests/team.
    assert {name for name in commands if not name.startswith("team ")} == COMMANDS.keys()


def test_every_command_accepts_a_folder() -> None:
    for name, command in all_commands(cli):
        assert "-C" in {option for param in command.params for option in param.opts}, name


@bare
def test_a_command_runs_in_the_folder_of_its_option(workspace: Path, tmp_path: Path) -> None:
    shown = run_cairn("config", "path", "-C", workspace.name, cwd=tmp_path).stdout
    assert str(workspace.resolve() / ".cairn.toml") in shown
    assert run_cairn("-C", workspace.name, "config", "path", cwd=tmp_path).stdout == shown
    wrong = run_cairn("status", "-C", "nowhere", cwd=tmp_path, code=1).stderr
    assert wrong.startswith("cairn: folder: nowhere is not a directory")


WITHOUT_PRIVILEGES = """
import ctypes, os, sys
for capability in (1, 2):  # They let root read every file.
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@bare
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other privileges")
def test_a_file_that_cannot_be_read_is_reported(workspace: Path) -> None:
    prefix = (sys.executable, "-c", WITHOUT_PRIVILEGES)
    path = "src/harbour/tides.py"
    (workspace / path).chmod(0)
    if (
        subprocess.run(
            [*prefix, "/bin/cat", str(workspace / path)], capture_output=True, check=False
        ).returncode
        == 0
    ):
        pytest.skip("this user may read every file")
    why = run_cairn("doctor", "--why", path, cwd=workspace, prefix=prefix).stdout
    assert why.startswith(
        f"{path}  not indexed\n  cannot be read: Permission denied\n  make it readable for you"
    )
    checks = run_cairn_json("doctor", cwd=workspace, prefix=prefix)["checks"]
    (files,) = (check for check in checks if check["name"] == "files")
    assert files["level"] == "note"
    assert files["message"] == f"1 file or directory cannot be read ({path}: Permission denied)"
    assert "Make them readable" in files["remedy"]


@bare
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json(workspace: Path, name: str) -> None:
    arguments, field = COMMANDS[name]
    (workspace / "moor.diff").write_text(MOOR_DIFF)
    code = 1 if field == "error" else 0
    answer = run_cairn_json(*name.split(), *arguments, cwd=workspace, code=code)
    assert field in answer if field else answer[0]["path"]


@bare
@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        (
            ("search", "x", "-n", "0"),
            {"code": "usage", "message": "limit: expected 1 to 10,000, got 0", "field": "limit"},
            2,
        ),
        (
            ("search", "x", "-C", "nowhere"),
            {
                "code": "invalidRequest",
                "message": "folder: nowhere is not a directory that can be read;"
                " name a project's folder, or run this in it",
                "field": "folder",
            },
            1,
        ),
        (("nonsense",), {"code": "usage", "message": "No such command 'nonsense'.", "field": ""}, 2),
        (
            ("index", "--force", "more", "words"),
            {"code": "usage", "message": "Got unexpected extra argument (words)", "field": ""},
            2,
        ),
    ],
)
def test_an_error_is_json_if_json_is_requested(
    workspace: Path, arguments: tuple[str, ...], error: dict[str, str], code: int
) -> None:
    done = run_cairn(*arguments, "--json", cwd=workspace, code=code)
    assert json.loads(done.stdout) == {"error": error}
    assert without_progress(done.stderr).startswith(f"cairn: {error['message']}")
    assert run_cairn(*arguments, cwd=workspace, code=code).stdout == ""


@bare
def test_an_unavailable_index_has_an_error_code_of_its_own(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    answer = run_cairn_json("index", cwd=workspace, code=1, CAIRN_DATA_DIR=str(tmp_path / "file/data"))
    assert answer["error"]["code"] == "indexUnavailable"


def test_a_search_without_results_succeeds(indexed_harbour: Path) -> None:
    answer = run_cairn_json("search", "zyxwvut", "--path", "**/elsewhere/**", cwd=indexed_harbour)
    assert answer["results"] == []


def test_help_names_the_exit_codes() -> None:
    shown = run_cairn("--help").stdout
    for line in ("0    done", "1    failed", "2    wrong usage", "130  interrupted"):
        assert line in shown


# --- text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "environment", "escapes"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_a_pipe_gets_colour_only_on_request(
    indexed_harbour: Path, arguments: tuple[str, ...], environment: dict[str, str], escapes: bool
) -> None:
    neutral = {"NO_COLOR": "", "FORCE_COLOR": "", "TERM": "xterm", **environment}
    done = run_cairn("search", "moor_ship", *arguments, cwd=indexed_harbour, **neutral)
    assert ("\x1b[" in done.stdout) is escapes
    assert all(line.startswith("cairn: ") for line in done.stderr.splitlines())  # no progress bars


@bare
def test_a_pipe_gets_whole_lines_however_narrow_the_terminal_is(workspace: Path) -> None:
    long = "def " + "_".join(f"part{number}" for number in range(60)) + "():"
    (workspace / "long.py").write_text(f"{long}\n    return 1\n")
    done = run_cairn("search", "part7", "--color", "always", cwd=workspace, COLUMNS="40")
    assert long in re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


@bare
def test_text_of_the_workspace_is_printed_as_it_is(workspace: Path) -> None:
    text = "anchor_keys:\n\techo [bold]:key:[/] :warning: [link=x]\n"
    (workspace / "Makefile").write_text(text)
    assert run_cairn("page", "Makefile", cwd=workspace).stdout.endswith(
        "\n1:anchor_keys:\n2:\techo [bold]:key:[/] :warning: [link=x]\n"
    )
    assert (
        "echo [bold]:key:[/] :warning: [link=x]" in run_cairn("search", "anchor_keys", cwd=workspace).stdout
    )
    assert "\techo [bold]:key:[/]" in run_cairn("context", "Makefile:1", cwd=workspace).stdout


@pytest.mark.skipif(not HAS_TERMINALS, reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("environment", "colour", "other_escapes"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
)
def test_a_terminal_gets_colour_and_links_unless_it_refuses_them(
    indexed_harbour: Path, environment: dict[str, str], colour: bool, other_escapes: bool
) -> None:
    shown = run_on_terminals(("search", "moor_ship", "-n", "1"), indexed_harbour, environment).stdout
    assert ("\x1b[32m" in shown) is colour
    assert ("\x1b" in shown) is other_escapes
    assert (f"{indexed_harbour.as_uri()}/src/harbour/berths.py" in shown) is other_escapes
    assert "src/harbour/berths.py" in shown


@bare
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_old_encoding_loses_only_characters(workspace: Path, encoding: str) -> None:
    (workspace / "snow.md").write_text("# Snow ☃ größe\n\nSnow in the harbour, ☃.\n", encoding="utf-8")
    shown = run_cairn("search", "snow", cwd=workspace, encoding=encoding)
    assert "Snow ? gr" in shown.stdout
    exact = run_cairn_json("search", "snow", cwd=workspace, encoding=encoding)
    assert "Snow ☃ größe" in {result["title"] for result in exact["results"]}
    failed = run_cairn("search", "x", "-C", "☃", cwd=workspace, encoding=encoding, code=1)
    assert failed.stdout == ""
    assert "is not a directory" in failed.stderr


def run_into(stdout: Any, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `cairn` with the file or the descriptor as its stdout."""
    command = [sys.executable, "-m", "cairn", *arguments]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=cwd, timeout=300, check=False
    )


@pytest.mark.parametrize(
    "arguments", [("search", "ship"), ("search", "ship", "--json"), ("--help",), ("page", "README.md")]
)
def test_a_closed_pipe_ends_a_command_quietly(indexed_harbour: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run_into(writing, *arguments, cwd=indexed_harbour)
    os.close(writing)
    assert (without_progress(done.stderr), done.returncode) == ("", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("status",), ("status", "--json")])
def test_a_full_disk_is_reported_in_one_line(indexed_harbour: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run_into(full, *arguments, cwd=indexed_harbour)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


@bare
def test_quiet_leaves_answers_and_errors(workspace: Path) -> None:
    assert run_cairn("index", "--quiet", cwd=workspace).stdout == ""
    assert run_cairn_json("index", "--quiet", cwd=workspace)["state"]
    assert "berths.py" in run_cairn("search", "moor_ship", "-q", cwd=workspace).stdout
    assert run_cairn("search", "", "-q", cwd=workspace, code=2).stderr != ""


# --- completion --------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("bash") is None or not HAS_TERMINALS, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("cairn se", "search serve"),
        ("cairn search x --type c", "code cmd config"),
        ("cairn search x --language pyt", "python"),
        ("cairn search x --collection harbour-s", "harbour-source"),
        ("cairn call f", "fetchPage feedback filterCollections"),
        ("cairn discover x --format m", "markdown"),
    ],
)
def test_bash_completes(indexed_harbour: Path, tmp_path: Path, line: str, completions: str) -> None:
    program = tmp_path / "bin" / "cairn"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cairn "$@"\n')
    program.chmod(0o755)
    script = f"""
        source <(cairn completion bash)
        COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
        eval "$(complete -p cairn | sed 's/.* -F \\([^ ]*\\) .*/\\1 cairn/')"
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        cwd=indexed_harbour,
        env={**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"},
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (completions, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str) -> None:
    script = run_cairn("completion", shell).stdout
    assert f"_CAIRN_COMPLETE={shell}_complete" in script


def test_help_and_completion_import_nothing_heavy() -> None:
    heavy = "numpy apsw rich cattrs psutil onnxruntime cairn.engine.engine cairn.protocol.search_messages"
    code = f"import sys, cairn.commands; print([name for name in {heavy.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
