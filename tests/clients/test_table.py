"""Where each client keeps its servers, by platform, and what is written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.clients.table import BY_NAME, CLIENTS, Machine, command_line

HOME = Path("home")
APP_DATA = {"APPDATA": str(HOME / "AppData" / "Roaming")}


@pytest.mark.parametrize(
    ("client", "linux", "darwin", "win32"),
    [
        ("claude", ".claude.json", ".claude.json", ".claude.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
        ),
        ("windsurf", *[".codeium/windsurf/mcp_config.json"] * 3),
        (
            "zed",
            ".config/zed/settings.json",
            ".config/zed/settings.json",
            "AppData/Roaming/Zed/settings.json",
        ),
        ("opencode", *[".config/opencode/opencode.json"] * 3),
    ],
)
def test_each_client_has_its_settings_by_platform(client: str, linux: str, darwin: str, win32: str) -> None:
    found = [
        BY_NAME[client].user_file(Machine(platform, HOME, APP_DATA))
        for platform in ("linux", "darwin", "win32")
    ]
    assert found == [HOME / linux, HOME / darwin, HOME / win32]


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
def test_a_client_s_variable_moves_its_settings(client: str, variables: dict[str, str], file: str) -> None:
    assert BY_NAME[client].user_file(Machine("linux", HOME, variables)) == Path(file)


def test_a_client_is_installed_by_its_command_or_its_settings(tmp_path: Path) -> None:
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


def test_opencode_s_settings_may_have_either_ending(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path, {})
    opencode = BY_NAME["opencode"]
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    (tmp_path / ".config" / "opencode" / "opencode.jsonc").touch()
    (tmp_path / "opencode.jsonc").touch()
    assert opencode.file("user", tmp_path, machine) == tmp_path / ".config" / "opencode" / "opencode.jsonc"
    assert opencode.file("project", tmp_path, machine) == tmp_path / "opencode.jsonc"
