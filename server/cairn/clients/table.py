"""The clients: their files, their entries, whether they are installed, and the command that they start."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import Factory, field, frozen

from cairn.errors import CairnError

Scope = Literal["user", "project"]
Entry = dict[str, Any]

NAME = "cairn"
"""The server's name in every client."""
FOLDER = "{folder}"
"""The placeholder for the project's path in a server's arguments."""


@frozen
class Machine:
    """The platform, the home folder and the environment, which determine where settings are."""

    platform: str = sys.platform
    """One of `linux`, `darwin` and `win32`, as in `sys.platform`."""
    home: Path = field(factory=Path.home)
    variables: Mapping[str, str] = field(factory=lambda: dict(os.environ))

    def find(self, command: str) -> Path | None:
        found = shutil.which(command, path=self.variables.get("PATH", ""))
        return Path(found) if found else None

    def named(self, variable: str, default: Path) -> Path:
        """Return the folder that an environment variable names, or the default one."""
        value = self.variables.get(variable)
        return Path(value) if value else default

    @property
    def xdg_config(self) -> Path:
        """The folder for settings on Linux, which some programs use on every platform."""
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def app_data(self) -> Path:
        return self.named("APPDATA", self.home / "AppData" / "Roaming")


def _plain(command: str, arguments: Sequence[str]) -> Entry:
    return {"command": command, "args": [*arguments]}


@frozen
class Client:
    """A program that runs an agent, and what Cairn writes for it."""

    name: str
    """The name on the command line."""
    title: str
    folder: Callable[[Machine], Path]
    """The folder of the client's settings. If it exists, the client also counts as installed."""
    user_file: Callable[[Machine], Path]
    """The settings file for all projects."""
    project_files: tuple[str, ...]
    """The possible settings files in a project's folder. The first that exists is used, or else the first."""
    commands: tuple[str, ...] = field(default=Factory(lambda client: (client.name,), takes_self=True))
    """The client counts as installed if any of these is on the PATH."""
    container: str = "mcpServers"
    """The key that contains the servers in the settings."""
    entry: Callable[[str, Sequence[str]], Entry] = _plain
    """Returns the entry of a server with this command and these arguments."""
    user_arguments: tuple[str, ...] = ()
    """The arguments of `cairn mcp` that name the folder; empty if the client starts servers in the folder."""
    project_arguments: tuple[str, ...] = ()
    project_note: str = ""
    """What a user has to do before the client accepts a project's settings."""
    user_note: str = ""
    instructions: str = "AGENTS.md"
    """The file of a project in which the client looks for instructions for agents."""
    else_agents_md: bool = False
    """Whether the client reads `AGENTS.md` if that file is missing."""
    preamble: Mapping[str, str] = field(factory=dict)
    """The beginning of a settings file that Cairn creates."""

    def file(self, scope: Scope, folder: Path, machine: Machine) -> Path | None:
        """Return the file to write; None if the client has no settings of that scope."""
        if scope == "user":
            wanted = self.user_file(machine)
            # opencode reads both file endings, and users choose either.
            other = wanted.with_suffix(".jsonc")
            return other if self.name == "opencode" and other.exists() else wanted
        files = [folder / name for name in self.project_files]
        return next((file for file in files if file.exists()), files[0] if files else None)

    def server(self, scope: Scope, folder: Path, command: str) -> Entry:
        arguments = self.user_arguments if scope == "user" else self.project_arguments
        return self.entry(command, ["mcp", *(each.replace(FOLDER, str(folder)) for each in arguments)])

    def is_installed(self, machine: Machine) -> bool:
        return any(map(machine.find, self.commands)) or self.folder(machine).is_dir()


def command_line(entry: object) -> list[str]:
    """Return the command and the arguments of an entry of any client; empty if the entry has none."""
    if not isinstance(entry, Mapping):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return words if all(isinstance(word, str) for word in words) else []


def _claude_file(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _claude_folder(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _codex_folder(machine: Machine) -> Path:
    return machine.named("CODEX_HOME", machine.home / ".codex")


def _gemini_folder(machine: Machine) -> Path:
    return machine.named("GEMINI_CLI_HOME", machine.home) / ".gemini"


def _vscode_folder(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.app_data / "Code" / "User"
    if machine.platform == "darwin":
        return machine.home / "Library" / "Application Support" / "Code" / "User"
    return machine.xdg_config / "Code" / "User"


def _windsurf_folder(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf"


def _zed_folder(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.app_data / "Zed"
    return (machine.home / ".config" if machine.platform == "darwin" else machine.xdg_config) / "zed"


def _opencode_folder(machine: Machine) -> Path:
    return machine.xdg_config / "opencode"


_VARIABLE = ("${workspaceFolder}",)

CLIENTS = (
    Client(
        name="claude",
        title="Claude Code",
        folder=_claude_folder,
        user_file=_claude_file,
        project_files=(".mcp.json",),
        # By default Claude Code (2.1.332) gives its model only the names of a server's tools, and does not
        # wait for the server: in a run of one question, the model may never see them.
        entry=lambda command, arguments: {**_plain(command, arguments), "alwaysLoad": True},
        project_note="Claude Code asks once whether the project's server may be used.",
        instructions="CLAUDE.md",
        else_agents_md=True,  # This was tried with version 2.1.332.
    ),
    Client(
        name="codex",
        title="Codex",
        folder=_codex_folder,
        user_file=lambda machine: _codex_folder(machine) / "config.toml",
        project_files=(".codex/config.toml",),
        container="mcp_servers",
        project_note="Codex reads a project's settings only where you trust the project.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        folder=_gemini_folder,
        user_file=lambda machine: _gemini_folder(machine) / "settings.json",
        project_files=(".gemini/settings.json",),
        project_note="Gemini CLI starts servers only in folders that you trust.",
        user_note="Gemini CLI starts servers only in folders that you trust.",
        instructions="GEMINI.md",
    ),
    Client(
        name="cursor",
        title="Cursor",
        commands=("cursor", "cursor-agent"),
        folder=lambda machine: machine.home / ".cursor",
        user_file=lambda machine: machine.home / ".cursor" / "mcp.json",
        project_files=(".cursor/mcp.json",),
        user_arguments=_VARIABLE,
        project_arguments=_VARIABLE,
    ),
    Client(
        name="vscode",
        title="VS Code",
        commands=("code",),
        folder=_vscode_folder,
        user_file=lambda machine: _vscode_folder(machine) / "mcp.json",
        project_files=(".vscode/mcp.json",),
        container="servers",
        entry=lambda command, arguments: {"type": "stdio", **_plain(command, arguments)},
        user_arguments=_VARIABLE,
        project_arguments=_VARIABLE,
        project_note="VS Code asks once whether the server may be started.",
        user_note="VS Code asks once whether the server may be started.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        folder=_windsurf_folder,
        user_file=lambda machine: _windsurf_folder(machine) / "mcp_config.json",
        project_files=(),
        # This client starts servers outside of the project's folder, and has no variable for the folder.
        user_arguments=(FOLDER,),
        user_note=(
            "Windsurf does not name the project's folder, so Cairn answers about this one in all its windows."
        ),
    ),
    Client(
        name="zed",
        title="Zed",
        commands=("zed", "zeditor"),
        folder=_zed_folder,
        user_file=lambda machine: _zed_folder(machine) / "settings.json",
        project_files=(".zed/settings.json",),
        container="context_servers",
        entry=lambda command, arguments: {"source": "custom", **_plain(command, arguments), "env": {}},
    ),
    Client(
        name="opencode",
        title="opencode",
        folder=_opencode_folder,
        user_file=lambda machine: _opencode_folder(machine) / "opencode.json",
        project_files=("opencode.json", "opencode.jsonc"),
        container="mcp",
        entry=lambda command, arguments: {"type": "local", "command": [command, *arguments], "enabled": True},
        preamble={"$schema": "https://opencode.ai/config.json"},
    ),
)

BY_NAME = {client.name: client for client in CLIENTS}


# --- the command of this installation ----------------------------------------------------------------------


def server_command(machine: Machine, started: str = sys.argv[0]) -> str:
    """Return `cairn` if the PATH leads to it without an activated environment, else its full path.

    A client does not run in the activated environment, so it has another PATH. `started` is the command of
    this process. Raise CairnError if this installation has no command.
    """
    own = _own(Path(started))
    active = machine.variables.get("VIRTUAL_ENV")
    path = machine.variables.get("PATH", "")
    kept = [each for each in path.split(os.pathsep) if not (active and Path(each).is_relative_to(active))]
    found = shutil.which("cairn", path=os.pathsep.join(kept))
    if own is None:
        if found is None:
            raise CairnError(
                "The command cairn is not installed. Install Cairn as its README says, then run this again."
            )
        return "cairn"
    return "cairn" if found is not None and _is_same(Path(found), own) else str(own)


def _own(started: Path) -> Path | None:
    """Return the command of this installation: as it was run, or in its environment's scripts folder."""
    name = "cairn.exe" if os.name == "nt" else "cairn"
    places = (started, Path(sysconfig.get_path("scripts")) / name)
    return next(
        (each.absolute() for each in places if each.name.lower() in ("cairn", name) and each.is_file()), None
    )


def _is_same(one: Path, other: Path) -> bool:
    return one == other or one.resolve() == other.resolve()
