"""`cairn config`: what is set, where it is from, and what can be set."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cairn.errors import InvalidRequestError

_folder = click.argument("folder", default=".", type=click.Path(path_type=Path))
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def config() -> None:
    """The settings: what counts in a folder and why, where they are read from, and what there is."""


@config.command()
@_folder
@click.option("--all", "everything", is_flag=True, help="Show the defaults, too.")
@_json_option
def show(folder: Path, everything: bool, as_json: bool) -> None:
    """Show the settings of FOLDER that differ from the defaults, where each is from, and what cannot be used.

    What an editor sets is known to its own Cairn alone.
    """
    from cairn.config_layers import Layers
    from cairn.config_shown import as_toml, shown

    found = shown(Layers().of(_existing(folder)), everything=everything)
    if as_json:
        from cairn.schema import unstructure

        click.echo(json.dumps(unstructure(found), ensure_ascii=False, indent=2))
        return
    from cairn.terminal import print_settings

    print_settings([(s.key, as_toml(s.value), ", ".join(s.origins)) for s in found.settings], found.warnings)


@config.command()
def schema() -> None:
    """Print the JSON schema of config.toml and .cairn.toml, by which editors of TOML complete and check them."""
    from cairn.config_shown import settings_schema

    click.echo(json.dumps(settings_schema(), ensure_ascii=False, indent=2))


@config.command()
@_folder
def path(folder: Path) -> None:
    """Show where the settings of FOLDER are read from: your own file, then the workspace's, which is stronger."""
    from cairn.config import WORKSPACE_FILE
    from cairn.config_layers import user_file

    for file in (user_file(), _existing(folder) / WORKSPACE_FILE):
        click.echo(str(file) if file.exists() else f"{file} (not there)")


def _existing(folder: Path) -> Path:
    root = folder.resolve()
    if not root.is_dir():
        raise InvalidRequestError("folder", f"{folder} is not a directory that can be read")
    return root
