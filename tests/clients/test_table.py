"""The settings files of each client by platform, and the entries for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.clients.table import BY_NAME, CLIENTS, Machine, command_line

HOME = Path("home")
APP_DATA = {"APPDATA": str(HOME / "AppData" / "Roaming")}


@pytest.mark.parametrize(
    ("client", "linux", "darwin", "win32"),
    [
        ("claude", *[".claude.json"] * 3),
        ("codex", *[".codex/config.toml"] * 3),
        ("gemini", *[".gemini/settings.json"] * 3),
        ("cursor", *[".cursor/mcp.json"] * 3),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
        ),
        ("windsurf", *[".codeium/windsurf/mcp_config.json"] * 3),
        ("zed", *[".config/zed/settings.json"] * 2, "AppData/Roaming/Zed/settings.json"),
        ("opencode", *[".config/opencode/opencode.json"] * 3),
    ],
)
def test_clients_have_their_settings_by_platform(client: str, linux: str, darwin: str, win32: str) -> None:
    platforms = {"linux": linux, "darwin": darwin, "win32": win32}
    found = {each: BY_NAME[client].user_file(Machine(each, HOME, APP_DATA)) for each in platforms}
    assert found == {each: HOME / path for each, path in platforms.items()}


@pytest.mark.parametrize(
    ("client", "variables", "file"),
    [
        ("claude", {"CLAUDE_CONFIG_DIR": "c"}, "c/.claude.json"),
        ("codex", {"CODEX_HOME": "c"}, "c/config.toml"),
        ("gemini", {"GEMINI_CLI_HOME": "g"}, "g/.gemini/settings.json"),
        ("zed", {"XDG_CONFIG_HOME": "x"}, "x/zed/settings.json"),
        ("vscode", {"XDG_CONFIG_HOME": "x"}, "x/Code/User/mcp.json"),
        ("opencode", {"XDG_CONFIG_HOME": "x"}, "x/opencode/opencode.json"),
    ],
)
def test_variable_of_a_client_moves_its_settings(client: str, variables: dict[str, str], file: str) -> None:
    assert BY_NAME[client].user_file(Machine("linux", HOME, variables)) == Path(file)


def test_client_is_installed_if_its_command_or_settings_exist(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "opencode").write_text("#!/bin/sh\n")
    (programs / "opencode").chmod(0o755)
    (tmp_path / ".cursor").mkdir()
    machine = Machine("linux", tmp_path, {"PATH": str(programs)})
    assert [client.name for client in CLIENTS if client.is_installed(machine)] == ["cursor", "opencode"]


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", [client.name for client in CLIENTS])
def test_every_entry_starts_cairn_mcp(client: str, scope: str) -> None:
    entry = BY_NAME[client].server(scope, Path("/p"), "/bin/cairn")  # type: ignore[arg-type]
    folders = {"cursor": ["${workspaceFolder}"], "vscode": ["${workspaceFolder}"], "windsurf": ["/p"]}
    expected = [] if (client, scope) == ("windsurf", "project") else folders.get(client, [])
    assert command_line(entry) == ["/bin/cairn", "mcp", *expected]


def test_opencode_settings_may_have_either_ending(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path, {})
    opencode = BY_NAME["opencode"]
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    (tmp_path / ".config" / "opencode" / "opencode.jsonc").touch()
    (tmp_path / "opencode.jsonc").touch()
    assert opencode.file("user", tmp_path, machine) == tmp_path / ".config" / "opencode" / "opencode.jsonc"
    assert opencode.file("project", tmp_path, machine) == tmp_path / "opencode.jsonc"
