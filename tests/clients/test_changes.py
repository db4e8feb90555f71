"""The changes that are planned and written for each client, and undone again."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cairn.cli.main import cli
from cairn.clients.settings_changes import (
    Change,
    NotWrittenError,
    Request,
    apply,
    plan_install,
    plan_uninstall,
)
from cairn.clients.table import BY_NAME, CLIENTS, Client, Machine, Scope

SCOPES: tuple[Scope, ...] = ("user", "project")
EXISTING = {
    ".json": [
        None,
        "",
        "{ }\n",
        '{\n  // mine\n  "theme": "dark", // kept\n}\n',
        '\ufeff{\r\n\t"CONTAINER": {"other": {"command": "x"}}\r\n}\r\n',
        '{\n  "CONTAINER": {\n    /* none yet */\n  }\n}\n',
    ],
    ".toml": [
        None,
        "\n",
        '# mine\nmodel = "x" # kept\n',
        '\ufeffmodel = "x"\r\n\r\n[CONTAINER.other]\r\ncommand = "x"\r\n',
    ],
}


def request_for(folder: Path, client: str, scope: Scope = "user", **more: Any) -> Request:
    """Return a request for a home without any client's command."""
    home, project = folder / "home", folder / "project"
    home.mkdir(exist_ok=True)
    project.mkdir(exist_ok=True)
    return Request([BY_NAME[client]], scope, project, Machine("linux", home, {}), **more)


def file_of(request: Request) -> Path:
    path = request.clients[0].file(request.scope, request.folder, request.machine)
    assert path is not None
    return path


def done(changes: list[Change], machine: Machine) -> list[str]:
    """Write all changes, and return their states."""
    for change in changes:
        apply(change, machine)
    return [change.state for change in changes]


def install(request: Request, command: str = "cairn", **more: bool) -> list[str]:
    return done(plan_install(request, command, **more), request.machine)


def uninstall(request: Request) -> list[str]:
    return done(plan_uninstall(request), request.machine)


def settings_in(path: Path) -> Any:
    text = path.read_text(encoding="utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


CASES = [
    (client, scope, existing)
    for client in CLIENTS
    for scope in SCOPES
    if scope == "user" or client.project_files
    for existing in EXISTING[".toml" if client.name == "codex" else ".json"]
]


@pytest.mark.parametrize(("client", "scope", "existing"), CASES)
def test_uninstall_after_install_leaves_what_was_there(
    client: Client, scope: Scope, existing: str | None, tmp_path: Path
) -> None:
    request = request_for(tmp_path, client.name, scope)
    path = file_of(request)
    before = None if existing is None else existing.replace("CONTAINER", client.container).encode()
    if before is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before)
    assert install(request) == ["added"]
    written = path.read_bytes()
    assert install(request) == ["present"]
    assert path.read_bytes() == written
    assert uninstall(request) == ["removed"]
    has_text = existing is not None and bool(existing.strip("{ }\n"))
    assert (path.read_bytes() if path.exists() else None) == (before if has_text else None)
    assert uninstall(request) == ["absent"]


@pytest.mark.parametrize("client", [client for client in CLIENTS if client.project_files])
def test_nothing_remains_in_a_project_without_settings(client: Client, tmp_path: Path) -> None:
    request = request_for(tmp_path, client.name, "project")
    assert install(request, instruct=True) == ["added", "added"]
    assert (request.folder / ("AGENTS.md" if client.else_agents_md else client.instructions)).exists()
    assert uninstall(request) == ["removed", "removed"]
    assert [*request.folder.iterdir()] == []


def test_additions_to_the_entry_are_kept(tmp_path: Path) -> None:
    request = request_for(tmp_path, "codex")
    install(request, "/old/bin/cairn")
    path = file_of(request)
    path.write_text(path.read_text() + "startup_timeout_sec = 20\n")
    assert install(request, "cairn") == ["updated"]
    assert settings_in(path)["mcp_servers"]["cairn"] == {
        "command": "cairn",
        "args": ["mcp"],
        "startup_timeout_sec": 20,
    }


def test_entry_of_an_older_version_is_completed(tmp_path: Path) -> None:
    request = request_for(tmp_path, "claude", "project")
    path = file_of(request)
    older = '{"mcpServers": {"cairn": {"command": "cairn", "args": ["mcp"], "env": {}}}}'
    path.write_text(older)
    assert install(request) == ["updated"]
    assert path.read_text() == older.replace('"env": {}', '"env": {}, "alwaysLoad": true')
    path.write_text(path.read_text().replace("true", "false"))
    assert install(request) == ["present"]


@pytest.mark.parametrize("entry", [{"command": "other"}, {"url": "http://127.0.0.1:7420/mcp"}, "x", []])
def test_foreign_server_is_changed_by_force_only(entry: object, tmp_path: Path) -> None:
    request = request_for(tmp_path, "gemini")
    path = file_of(request)
    path.parent.mkdir()
    text = json.dumps({"mcpServers": {"cairn": entry}})
    path.write_text(text)
    (change,) = plan_install(request, "cairn")
    assert change.state == "different"
    assert "--force" in change.message
    assert uninstall(request) == ["different"]
    assert path.read_text() == text
    forced = request_for(tmp_path, "gemini", force=True)
    assert install(forced) == ["updated"]
    assert settings_in(path) == {"mcpServers": {"cairn": {"command": "cairn", "args": ["mcp"]}}}
    assert uninstall(forced) == ["removed"]


def test_plan_does_not_show_secrets_in_settings(tmp_path: Path) -> None:
    request = request_for(tmp_path, "cursor")
    path = file_of(request)
    path.parent.mkdir()
    others = {"other": {"command": "x", "env": {"KEY": "secret"}}}
    path.write_text(json.dumps({"mcpServers": others}, indent=2))
    (change,) = plan_install(request, "cairn")
    assert change.diff == '+mcpServers.cairn: {"command": "cairn", "args": ["mcp", "${workspaceFolder}"]}'
    mine = {
        "url": "http://user:secret@127.0.0.1:7420/mcp?key=secret",
        "headers": {"Authorization": "secret"},
        "arguments": {"token": "secret"},
    }
    path.write_text(json.dumps({"mcpServers": {"cairn": mine}}))
    (change,) = plan_install(request, "cairn")
    assert "another server cairn: http://127.0.0.1:7420/…;" in change.message
    assert "secret" not in change.message


def test_additions_to_a_file_made_by_cairn_are_kept(tmp_path: Path) -> None:
    request = request_for(tmp_path, "cursor")
    install(request)
    path = file_of(request)
    path.write_text(path.read_text().replace('{\n  "mcp', '{\n  "empty": {},\n  "mcp'))
    assert uninstall(request) == ["removed"]
    assert settings_in(path) == {"empty": {}}


def test_windsurf_server_is_not_moved_to_another_folder(tmp_path: Path) -> None:
    request = request_for(tmp_path, "windsurf")
    install(request)
    other = Request(request.clients, "user", tmp_path / "other", request.machine)
    assert [change.state for change in plan_install(other, "cairn")] == ["different"]
    (change,) = plan_install(request_for(tmp_path, "windsurf", "project"), "cairn")
    assert (change.state, change.path) == ("unsupported", None)


@pytest.mark.parametrize(
    ("client", "text", "line"),
    [
        ("cursor", b'{\n  "mcpServers": {\n', "line 3"),
        ("codex", b"a = 1\nb\n", "line 2"),
        ("zed", b'{\n"a": "\xff"}', "line 2"),
        ("zed", b'{\n"context_servers": 1}', "line 2"),
        ("codex", b"mcp_servers = {}\n", "mcp_servers"),
    ],
)
def test_file_that_cannot_be_edited_is_unchanged(client: str, text: bytes, line: str, tmp_path: Path) -> None:
    request = request_for(tmp_path, client)
    path = file_of(request)
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    (change,) = plan_install(request, "cairn")
    assert change.state in ("unreadable", "uneditable")
    assert line in change.message
    apply(change, request.machine)
    assert path.read_bytes() == text


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
def test_write_follows_links_and_keeps_the_mode(tmp_path: Path) -> None:
    request = request_for(tmp_path, "zed")
    path = file_of(request)
    path.parent.mkdir(parents=True)
    real = tmp_path / "dotfiles" / "zed.json"
    real.parent.mkdir()
    real.write_text('{"theme": "dark"}')
    real.chmod(0o640)
    path.symlink_to(real)
    install(request)
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert settings_in(real)["context_servers"]["cairn"]["args"] == ["mcp"]
    assert uninstall(request) == ["removed"]
    assert real.read_text() == '{"theme": "dark"}'
    assert [*real.parent.iterdir()] == [real]


def test_file_that_changed_after_planning_is_not_written(tmp_path: Path) -> None:
    request = request_for(tmp_path, "cursor")
    changes = plan_install(request, "cairn")
    file_of(request).parent.mkdir()
    file_of(request).write_text("{}")
    with pytest.raises(NotWrittenError, match="meantime"):
        done(changes, request.machine)
    assert file_of(request).read_text() == "{}"


# --- Claude Code's own command ---------------------------------------------------------------------

FAKE_CLAUDE = """#!{python}
import json, os, sys
path = os.path.join(os.environ["HOME"], ".claude.json")
settings = json.load(open(path)) if os.path.exists(path) else {{"projects": {{}}}}
action, scope, name = sys.argv[2], sys.argv[4], sys.argv[5]
assert scope == "user", sys.argv
servers = settings.setdefault("mcpServers", {{}})
if action == "add-json":
    servers[name] = json.loads(sys.argv[6])
elif name not in servers:
    sys.exit("no such server")
else:
    del servers[name]
json.dump(settings, open(path, "w"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a script")
def test_claude_code_writes_its_user_settings_itself(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "claude"
    command.write_text(FAKE_CLAUDE.format(python=sys.executable))
    command.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    variables = {"PATH": str(programs), "HOME": str(home)}
    request = Request([BY_NAME["claude"]], "user", tmp_path, Machine("linux", home, variables))
    (home / ".claude.json").write_text('{"projects": {}}')
    (change,) = plan_install(request, "/old/cairn")
    assert change.diff.startswith("$ claude mcp add-json --scope user cairn ")
    assert install(request, "/old/cairn") == ["added"]
    mine = {"command": "/old/cairn", "args": ["mcp"], "env": {"KEY": "s3cret"}}
    (home / ".claude.json").write_text(json.dumps({"projects": {}, "mcpServers": {"cairn": mine}}))
    (change,) = plan_install(request, "cairn")
    assert '"env": "…"' in change.diff
    assert install(request, "cairn") == ["updated"]
    assert install(request, "cairn") == ["present"]
    expected = {"command": "cairn", "args": ["mcp"], "env": {"KEY": "s3cret"}, "alwaysLoad": True}
    assert settings_in(home / ".claude.json") == {"projects": {}, "mcpServers": {"cairn": expected}}
    assert uninstall(request) == ["removed"]
    command.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    with pytest.raises(NotWrittenError, match="broken"):
        install(request)


# --- links of a project, and secrets ----------------------------------------------------------------

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
OUTSIDE = '{"theme": "dark"}'
LINKS: Mapping[str, tuple[str, str]] = {
    "a file": (".mcp.json", "../outside/settings.json"),
    "a missing file": (".mcp.json", "../outside/new.json"),
    "a chain": (".mcp.json", "chain.json"),
    "a folder": (".vscode", "../outside"),
    "a missing folder": (".vscode", "../outside/new"),
    "a shell's settings": (".mcp.json", "../home/.bashrc"),
    "git's folder": (".mcp.json", ".git/settings.json"),
    "a folder in git's folder": (".vscode", ".git/hooks"),
    "a device": (".mcp.json", "/dev/zero"),
    "instructions": ("AGENTS.md", "../outside/settings.json"),
    "a client's instructions": ("CLAUDE.md", "/dev/zero"),
}


def everything_in(folder: Path) -> dict[str, str]:
    return {str(each): each.read_text() for each in sorted(folder.rglob("*")) if each.is_file()}


@posix
@pytest.mark.parametrize("name", LINKS)
def test_links_out_of_a_project_are_refused(name: str, tmp_path: Path) -> None:
    link, target = LINKS[name]
    request = request_for(tmp_path, "vscode" if link == ".vscode" else "claude", "project", force=True)
    outside, git = tmp_path / "outside", request.folder / ".git" / "hooks"
    outside.mkdir()
    git.mkdir(parents=True)
    for folder in (outside, git.parent):
        (folder / "settings.json").write_text(OUTSIDE)
        (folder / "mcp.json").write_text(OUTSIDE)
    (request.machine.home / ".bashrc").write_text("echo hello\n")
    (request.folder / "chain.json").symlink_to(outside / "settings.json")
    (request.folder / link).symlink_to(target)
    before = [everything_in(each) for each in (outside, request.machine.home, git.parent)]
    changes = [*plan_install(request, "cairn", instruct=True), *plan_uninstall(request)]
    refused = [change for change in changes if "leads out of the project" in change.message]
    assert refused
    assert {(change.state, change.diff) for change in refused} == {("uneditable", "")}
    for change in changes:
        if change.state == "added":
            apply(change, request.machine)
    assert [everything_in(each) for each in (outside, request.machine.home, git.parent)] == before


@posix
def test_links_inside_a_project_are_followed(tmp_path: Path) -> None:
    request = request_for(tmp_path, "vscode", "project")
    (request.folder / "editors").mkdir()
    (request.folder / ".vscode").symlink_to("editors")
    (request.folder / "editors" / "mcp.json").symlink_to("shared.json")
    assert install(request) == ["added"]
    assert "cairn" in settings_in(request.folder / "editors" / "shared.json")["servers"]
    assert uninstall(request) == ["removed"]
    assert (request.folder / ".vscode").is_symlink()


@posix
@pytest.mark.parametrize("is_removal", [False, True])
def test_a_link_made_after_planning_is_refused(is_removal: bool, tmp_path: Path) -> None:
    request = request_for(tmp_path, "vscode", "project")
    folder, outside = request.folder / ".vscode", tmp_path / "outside"
    if is_removal:
        install(request)
    else:
        folder.mkdir()
    changes = plan_uninstall(request) if is_removal else plan_install(request, "cairn")
    folder.rename(outside)
    before = everything_in(outside)
    folder.symlink_to(outside)
    with pytest.raises(NotWrittenError, match="leads out of the project"):
        done(changes, request.machine)
    assert everything_in(outside) == before


@posix
def test_links_in_a_circle_and_pipes_are_left_alone(tmp_path: Path) -> None:
    request = request_for(tmp_path, "cursor", "project")
    (request.folder / ".cursor").mkdir()
    os.mkfifo(request.folder / ".cursor" / "mcp.json")
    (request.folder / "AGENTS.md").symlink_to("AGENTS.md")
    assert install(request, instruct=True) == ["unreadable", "unreadable"]


@posix
def test_new_settings_are_private_and_instructions_are_shared(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        request = request_for(tmp_path, "codex", "project")
        install(request, instruct=True)
        modes = [
            stat.S_IMODE(each.stat().st_mode) for each in (file_of(request), request.folder / "AGENTS.md")
        ]
        assert modes == [0o600, 0o644]
        file_of(request).chmod(0o666)
        os.umask(0o077)
        uninstall(request_for(tmp_path, "codex", "project"))
        file_of(request).parent.mkdir(exist_ok=True)
        file_of(request).write_text('model = "x"\n')
        file_of(request).chmod(0o664)
        install(request)
        assert stat.S_IMODE(file_of(request).stat().st_mode) == 0o664
    finally:
        os.umask(before)


MINE = (
    {"command": "/old/cairn", "args": ["mcp"], "env": {"KEY": "s3cret-1"}},
    {"command": "other", "args": ["--key", "s3cret-1", "--key=s3cret-2", "https://me:s3cret-3@host/"]},
    {"url": "https://me:s3cret-1@host/s3cret-2-s3cret/mcp?key=s3cret-3#s3cret-4", "headers": {"A": "s3cret"}},
    {"command": ["other", "s3cret"]},
    "s3cret",
)


@pytest.mark.parametrize("entry", MINE)
@pytest.mark.parametrize("force", [False, True])
def test_no_plan_shows_the_secrets_of_the_servers_entry(entry: object, force: bool, tmp_path: Path) -> None:
    request = request_for(tmp_path, "gemini", force=force)
    file_of(request).parent.mkdir()
    for indent in (None, 2):
        file_of(request).write_text(json.dumps({"mcpServers": {"cairn": entry}}, indent=indent))
        for change in (*plan_install(request, "cairn"), *plan_uninstall(request)):
            assert change.diff or change.message
            assert "s3cret" not in change.diff + change.message


# --- the paragraph ---------------------------------------------------------------------------------


@pytest.mark.parametrize("existing", [None, "# Rules\n", "# Rules\r\n\r\nBe kind.", "\n\n# Rules\n\n\n"])
def test_paragraph_is_written_once_and_removed_completely(existing: str | None, tmp_path: Path) -> None:
    request = request_for(tmp_path, "codex")
    path = request.folder / "AGENTS.md"
    if existing is not None:
        path.write_bytes(existing.encode())
    assert install(request, instruct=True) == ["added", "added"]
    assert path.read_bytes().count(b"<!-- cairn") == 1
    assert install(request, instruct=True) == ["present", "present"]
    assert uninstall(request) == ["removed", "removed"]
    assert (path.read_bytes().decode() if path.exists() else None) == existing


def test_paragraph_of_another_version_is_updated_in_place(tmp_path: Path) -> None:
    request = request_for(tmp_path, "opencode")
    path = request.folder / "AGENTS.md"
    path.write_text("# A\n\n<!-- cairn: by an older version -->\nold words\n<!-- /cairn -->\n\n# B\n")
    assert install(request, instruct=True)[1] == "updated"
    text = path.read_text()
    assert "old words" not in text
    assert text.startswith("# A\n\n<!-- cairn")
    assert text.endswith("<!-- /cairn -->\n\n# B\n")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ["AGENTS.md", "GEMINI.md"]),
        ({"CLAUDE.md": "Be kind.\n"}, ["CLAUDE.md", "AGENTS.md", "GEMINI.md"]),
        ({"CLAUDE.md": "See\n@AGENTS.md\n"}, ["AGENTS.md", "GEMINI.md"]),
        ({"CLAUDE.md": "mail me @AGENTS.md\n"}, ["CLAUDE.md", "AGENTS.md", "GEMINI.md"]),
    ],
)
def test_paragraph_is_in_a_clients_own_file_unless_that_imports_agents_md(
    files: Mapping[str, str], expected: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    clients = [BY_NAME[name] for name in ("claude", "codex", "gemini")]
    request = Request(clients, "user", tmp_path, Machine("linux", tmp_path, {}))
    changes = plan_install(request, "cairn", instruct=True)
    assert [change.path.name for change in changes if change.path and not change.client] == expected


def test_paragraph_is_removed_though_the_client_reads_another_file(tmp_path: Path) -> None:
    request = request_for(tmp_path, "claude", "project")
    install(request, instruct=True)
    (request.folder / "CLAUDE.md").write_text("Be kind.\n")
    assert uninstall(request) == ["removed", "removed"]
    assert [path.name for path in request.folder.iterdir()] == ["CLAUDE.md"]


# --- the command -----------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the settings folders of Cursor and Codex; the current folder is a project."""
    for made in ("home/.cursor", "home/.codex", "project"):
        (tmp_path / made).mkdir(parents=True)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def cairn(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    return result


def test_command_shows_asks_writes_and_removes(home: Path) -> None:
    shown = cairn("install", "--dry-run").stdout
    assert '+mcpServers.cairn: {"command": "' in shown
    assert '+mcp_servers.cairn: {"command": "' in shown
    assert "--yes" in str(cairn("install", code=1).exception)
    assert not (home / ".cursor" / "mcp.json").exists()
    cairn("install", "--yes")
    again = json.loads(cairn("install", "--json").stdout)
    states = [(each["client"], each["state"]) for each in again["changes"]]
    assert states == [("codex", "present"), ("cursor", "present")]
    assert again["written"] is False
    cairn("uninstall", "cursor", "--yes")
    assert not (home / ".cursor" / "mcp.json").exists()
    cairn("install", "--uninstall", "--yes")
    assert [*(home / ".codex").iterdir()] == []
    assert "nothing by Cairn" in cairn("uninstall").stdout


def test_command_suggests_the_nearest_client(home: Path) -> None:
    assert "did you mean cursor?" in cairn("install", "cursr", code=2).stderr


def test_command_fails_if_a_file_is_left_alone(home: Path) -> None:
    (home / ".cursor" / "mcp.json").write_text("{")
    assert "line 1" in cairn("install", "--yes", code=1).stdout
    assert (home / ".codex" / "config.toml").exists()


def test_command_reports_the_other_scope(home: Path) -> None:
    cairn("install", "cursor", "--scope", "project", "--yes")
    removed = cairn("uninstall", "--yes")
    assert "nothing by Cairn" in removed.stdout
    assert "to remove it there, use --scope project" in removed.stderr
    cairn("uninstall", "--scope", "project", "--yes")
    assert [*Path().iterdir()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_command_asks_on_a_terminal(answer: str, code: int, home: Path) -> None:
    import pty

    terminal, stdin = pty.openpty()
    os.write(terminal, f"{answer}\n".encode())
    command = [sys.executable, "-m", "cairn", "install"]
    ran = subprocess.run(command, stdin=stdin, capture_output=True, encoding="utf-8")
    os.close(terminal)
    os.close(stdin)
    assert ran.returncode == code, ran.stderr
    assert "+mcpServers.cairn: {" in ran.stdout
    assert "Write this? [Y/n]" in ran.stderr
    assert (home / ".cursor" / "mcp.json").exists() == (answer == "y")
