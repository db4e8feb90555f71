"""`cairn config`: the settings, where each comes from, and what can be set."""

from __future__ import annotations

from pathlib import Path

import click

from cairn.cli.folders import folder_argument
from cairn.cli.output import answers, print_json
from cairn.cli.output import show as show_answer
from cairn.operations.places import require_directory


@click.group()
def config() -> None:
    """Show the settings of a folder, and where they come from."""


@config.command()
@folder_argument
@click.option("--all", "everything", is_flag=True, help="Show the defaults as well.")
@answers
def show(folder: Path, everything: bool, as_json: bool) -> None:
    """Show the settings of FOLDER that differ from the defaults, where each comes from, and invalid ones.

    Settings made in an editor are known only to the Cairn process of that editor.
    """
    from cairn.settings.layers import Layers
    from cairn.settings.shown import as_toml, shown

    found = shown(Layers().of(_existing(folder)), everything=everything)
    from cairn.cli.state_text import print_settings

    lines = [(s.key, as_toml(s.value), ", ".join(s.origins)) for s in found.settings]
    show_answer(found, lambda found: print_settings(lines, found.warnings), as_json)


@config.command()
@answers
def schema(as_json: bool) -> None:
    """Print the JSON schema of config.toml and .cairn.toml, with which TOML editors check them."""
    from cairn.settings.shown import settings_schema

    print_json(settings_schema())


@config.command()
@folder_argument
@answers
def path(folder: Path, as_json: bool) -> None:
    """Show the files with the settings of FOLDER: your own, then the workspace's, which takes precedence."""
    from cairn.settings.sources import user_file
    from cairn.settings.tree import WORKSPACE_FILE

    files = [user_file(), _existing(folder) / WORKSPACE_FILE]

    def shown(_: object) -> None:
        for file in files:
            print(file if file.exists() else f"{file} (not there)")

    show_answer([{"path": str(file), "exists": file.exists()} for file in files], shown, as_json)


def _existing(folder: Path) -> Path:
    require_directory(folder)
    return folder.resolve()
