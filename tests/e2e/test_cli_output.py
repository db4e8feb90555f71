"""What commands print, and where: JSON for programs, text for people, colour on terminals, completion for shells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cairn.commands import cli

HAS_TERMINALS = sys.platform != "win32"
NO_JSON = {"lsp", "mcp", "serve", "completion"}
"""Commands that speak a protocol, or print a script."""

COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "index": ((), "state"),
    "reindex": (("README.md",), "state"),
    "status": ((), "state"),
    "search": (("moor_ship",), "results"),
    "discover": (("how are ships moored",), "bullets"),
    "related": (("src/harbour/berths.py:4",), "results"),
    "callers": (("moor_ship",), "references"),
    "callees": (("src/harbour/schedule.py:9", "--depth", "2"), "references"),
    "context": (("src/harbour/berths.py:4",), "context"),
    "page": (("README.md",), "text"),
    "call": (("status",), "state"),
    "feedback": (("--reset",), "forgotten"),
    "phase": (("2",), "state"),
    "doctor": (("--why", "README.md"), "rule"),
    "config show": (("--all",), "settings"),
    "config schema": ((), "properties"),
    "config path": ((), ""),
    "model install": ((), "dimension"),
    "install": (("codex", "--dry-run"), "changes"),
    "uninstall": (("codex", "--dry-run", "--scope", "project"), "changes"),
    "openapi": ((), "paths"),
    "open": (("http://127.0.0.1:9",), "error"),
    "pause": ((), "error"),
    "resume": ((), "error"),
}
"""Each command with arguments that run it, and a field of its answer. Nobody indexes the folder, so nothing can be paused, and no
server listens at port 9."""


def run(
    *arguments: str, cwd: Path, encoding: str = "utf-8", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        capture_output=True,
        text=True,
        encoding=encoding,
        errors="strict",
        timeout=300,
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": encoding, **environment},
        check=False,
    )


def all_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def test_every_command_that_prints_has_json_and_is_tried_here() -> None:
    commands = {name: command for name, command in all_commands(cli) if name not in NO_JSON}
    without = [
        name
        for name, command in commands.items()
        if "--json" not in {o for p in command.params for o in p.opts}
    ]
    assert without == []
    # Those of `cairn team` need a database, and are tried in tests/team.
    assert {name for name in commands if not name.startswith("team ")} == COMMANDS.keys()


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json(workspace: Path, name: str) -> None:
    arguments, field = COMMANDS[name]
    done = run(*name.split(), *arguments, "--json", cwd=workspace)
    answer = json.loads(done.stdout)
    assert field in answer if field else answer[0]["path"]
    assert done.returncode == (1 if field == "error" else 0), done.stderr


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        (
            ("search", "x", "-n", "0"),
            {"code": "usage", "message": "limit: expected 1 to 200, got 0", "field": "limit"},
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
        (
            ("nonsense",),
            {"code": "usage", "message": "No such command 'nonsense'.", "field": ""},
            2,
        ),
        (
            ("index", "--force", "more", "words"),
            {"code": "usage", "message": "Got unexpected extra argument (words)", "field": ""},
            2,
        ),
    ],
)
def test_an_error_is_json_where_json_is_asked_for(
    workspace: Path, arguments: tuple[str, ...], error: dict[str, str], code: int
) -> None:
    done = run(*arguments, "--json", cwd=workspace)
    assert json.loads(done.stdout) == {"error": error}
    assert done.stderr.startswith(f"cairn: {error['message']}")
    assert done.returncode == code
    without = run(*arguments, cwd=workspace)
    assert (without.stdout, without.returncode) == ("", code)


@pytest.mark.usefixtures("bare_data_dir")
def test_an_unavailable_index_has_its_own_code(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    done = run("index", "--json", cwd=workspace, CAIRN_DATA_DIR=str(tmp_path / "file" / "data"))
    assert json.loads(done.stdout)["error"]["code"] == "indexUnavailable"
    assert done.returncode == 1


@pytest.mark.usefixtures("bare_data_dir")
def test_what_is_found_nowhere_is_no_failure(workspace: Path) -> None:
    done = run("search", "zyxwvut", "--path", "**/elsewhere/**", "--json", cwd=workspace)
    assert (done.returncode, json.loads(done.stdout)["results"]) == (0, [])


def test_the_exit_codes_are_told_by_help() -> None:
    shown = run("--help", cwd=Path()).stdout
    for line in ("0    done", "1    failed", "2    wrong usage", "130  interrupted"):
        assert line in shown


# --- text ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bare_data_dir")
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
def test_a_pipe_gets_colour_only_where_that_is_asked_for(
    workspace: Path, arguments: tuple[str, ...], environment: dict[str, str], escapes: bool
) -> None:
    neutral = {"NO_COLOR": "", "FORCE_COLOR": "", "TERM": "xterm", **environment}
    done = run("search", "moor_ship", *arguments, cwd=workspace, **neutral)
    assert ("\x1b[" in done.stdout) is escapes
    assert done.stderr == ""  # no progress


@pytest.mark.usefixtures("bare_data_dir")
def test_a_pipe_gets_whole_lines_however_narrow_the_terminal_is(workspace: Path) -> None:
    long = "def " + "_".join(f"part{number}" for number in range(60)) + "():"
    (workspace / "long.py").write_text(f"{long}\n    return 1\n")
    done = run("search", "part7", "--color", "always", cwd=workspace, COLUMNS="40")
    assert long in done.stdout


@pytest.mark.usefixtures("bare_data_dir")
def test_text_of_the_workspace_is_printed_as_it_is(workspace: Path) -> None:
    text = "anchor_keys:\n\techo [bold]:key:[/] :warning: [link=x]\n"
    (workspace / "Makefile").write_text(text)
    assert run("page", "Makefile", cwd=workspace).stdout == text
    assert "echo [bold]:key:[/] :warning: [link=x]" in run("search", "anchor_keys", cwd=workspace).stdout
    assert "\techo [bold]:key:[/]" in run("context", "Makefile:1", cwd=workspace).stdout


@pytest.mark.skipif(not HAS_TERMINALS, reason="there are no pseudo-terminals")
@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize(
    ("environment", "colour", "other_escapes"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
)
def test_a_terminal_gets_colour_and_links_unless_it_wants_none(
    workspace: Path, environment: dict[str, str], colour: bool, other_escapes: bool
) -> None:
    shown = on_terminal("search", "moor_ship", "-n", "1", cwd=workspace, **environment)
    assert ("\x1b[32m" in shown) is colour
    assert ("\x1b" in shown) is other_escapes
    assert (f"{workspace.as_uri()}/src/harbour/berths.py" in shown) is other_escapes
    assert "src/harbour/berths.py" in shown


@pytest.mark.skipif(not HAS_TERMINALS, reason="there are no pseudo-terminals")
@pytest.mark.usefixtures("bare_data_dir")
def test_a_file_cannot_steer_the_terminal(workspace: Path) -> None:
    (workspace / "evil.py").write_text('def evil_title():\n    return "\x1b]0;owned\x07"\n')
    assert "\x1b]0;owned" not in on_terminal("search", "evil_title", cwd=workspace)
    assert "\x1b]0;owned" not in on_terminal("page", "evil.py", cwd=workspace)
    assert "\x1b]0;owned" in run("page", "evil.py", cwd=workspace).stdout  # a copy is exact


def on_terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """What a command writes to a terminal of 40 columns."""
    import pty  # which Windows lacks

    ours, theirs = pty.openpty()
    neutral = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "cairn", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**neutral, "TERM": "xterm-256color", "COLUMNS": "40", **environment},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # Linux's end of a terminal
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait(timeout=60) == 0, written
    return written.decode()


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_old_encoding_loses_characters_and_nothing_else(workspace: Path, encoding: str) -> None:
    (workspace / "snow.md").write_text("# Snow ☃ größe\n\nSnow in the harbour, ☃.\n", encoding="utf-8")
    shown = run("search", "snow", cwd=workspace, encoding=encoding)
    assert shown.returncode == 0, shown.stderr
    assert "Snow ? gr" in shown.stdout
    exact = run("search", "snow", "--json", cwd=workspace, encoding=encoding)
    assert "Snow ☃ größe" in {result["title"] for result in json.loads(exact.stdout)["results"]}
    failed = run("search", "x", "-C", "☃", cwd=workspace, encoding=encoding)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "is not a directory" in failed.stderr


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize(
    "arguments", [("search", "ship"), ("search", "ship", "--json"), ("--help",), ("page", "README.md")]
)
def test_a_reader_that_leaves_ends_a_command_quietly(workspace: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=workspace,
        timeout=300,
        check=False,
    )
    os.close(writing)
    assert (done.stderr, done.returncode) == ("", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("arguments", [("status",), ("status", "--json")])
def test_a_full_disk_is_one_line(workspace: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cairn", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=workspace,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("bare_data_dir")
def test_quiet_leaves_answers_and_errors(workspace: Path) -> None:
    assert run("index", "--quiet", cwd=workspace).stdout == ""
    assert json.loads(run("index", "--quiet", "--json", cwd=workspace).stdout)["state"]
    assert "berths.py" in run("search", "moor_ship", "-q", cwd=workspace).stdout
    assert run("search", "", "-q", cwd=workspace).stderr != ""


# --- completion ------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("bash") is None or not HAS_TERMINALS, reason="there is no bash")
@pytest.mark.usefixtures("bare_data_dir")
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
def test_bash_completes(workspace: Path, tmp_path: Path, line: str, completions: str) -> None:
    assert run("index", "-q", cwd=workspace).returncode == 0
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
        cwd=workspace,
        env={**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"},
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (completions, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_names_cairn(shell: str) -> None:
    script = run("completion", shell, cwd=Path()).stdout
    assert f"_CAIRN_COMPLETE={shell}_complete" in script


def test_help_and_completion_import_nothing_heavy() -> None:
    heavy = (
        "numpy",
        "apsw",
        "rich",
        "cattrs",
        "psutil",
        "onnxruntime",
        "cairn.engine.engine",
        "cairn.protocol.search",
    )
    code = f"import sys, cairn.commands; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
