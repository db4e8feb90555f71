"""Run the git commands that use the network, without prompts, and without passwords in messages."""

from __future__ import annotations

import math
import time
from pathlib import Path

from cairn.errors import TeamError
from cairn.team.git_address import PROTOCOLS, Address
from cairn.workspace.git import Git, GitError, environment_with, git_folder, run_in, user_settings

_SETTINGS_SECONDS = 10.0
_CREDENTIALS = r'!f() { printf "username=%s\npassword=%s\n" "$CAIRN_GIT_USER" "$CAIRN_GIT_PASSWORD"; }; f'
"""A credential helper for git. It reads the environment, because all users can see a program's arguments."""


def over_network(address: Address, folder: Path | None, *arguments: str) -> str:
    """Return the output of a git command that uses the network. Raise TeamError.

    `folder` is Cairn's clone of the address, or None for a command that needs none. The user's own settings
    of git apply, such as proxies, credential helpers and ssh commands.
    """
    try:
        environment = _environment(address)
        if folder is None:
            output = Git(git_folder(), math.inf, environment=environment).run(arguments)
        else:
            output = run_in(folder, arguments, environment, math.inf)
        return b"".join(output).decode("utf-8", "replace")
    except GitError as error:
        if not error.output:
            raise TeamError(f"{address.url} cannot be fetched. {error}") from None
        problem = error.output
        for secret in filter(None, (address.password, address.user if address.password else "")):
            problem = problem.replace(secret, "***")
        raise TeamError(
            f"git cannot fetch {address.url}: {problem}\n"
            "Check the URL and that this machine may read the repository: git cannot ask for a password here."
        ) from None


def _environment(address: Address) -> dict[str, str]:
    environment = environment_with("GIT_SSH", "GIT_SSL", "GIT_EXEC_PATH", with_user_settings=True) | {
        "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
    }
    if not environment.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"}:
        settings = user_settings(time.monotonic() + _SETTINGS_SECONDS)
        # In batch mode, ssh also does not prompt.
        environment["GIT_SSH_COMMAND"] = settings.get("core.sshcommand") or "ssh -o BatchMode=yes"
    if address.user or address.password:
        environment |= {
            "CAIRN_GIT_USER": address.user,
            "CAIRN_GIT_PASSWORD": address.password,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "credential.helper",
            "GIT_CONFIG_VALUE_0": _CREDENTIALS,
        }
    return environment
