"""`cairn config`: what is set, where it is from, and what can be set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

if TYPE_CHECKING:
    from cairn.config_layers import Keys, Layered

DEFAULT = "default"

_folder = click.argument("folder", default=".", type=click.Path(path_type=Path))
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@frozen
class Setting:
    """One setting and where its value is from."""

    key: str
    """As in TOML: `search.leg_deadline_ms`."""
    value: Any
    """As JSON."""
    origins: tuple[str, ...]
    """`default` or the place; of lists that add up, all places, weakest first."""


@frozen
class Shown:
    """What `cairn config show` says."""

    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]


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

    root = _existing(folder)
    found = shown(Layers().of(root), everything=everything)
    if as_json:
        from cairn.schema import unstructure

        click.echo(json.dumps(unstructure(found), ensure_ascii=False, indent=2))
        return
    from cairn.terminal import print_settings

    print_settings([(s.key, _as_toml(s.value), ", ".join(s.origins)) for s in found.settings], found.warnings)


@config.command()
def schema() -> None:
    """Print the JSON schema of config.toml and .cairn.toml, by which editors of TOML complete and check them."""
    click.echo(json.dumps(settings_schema(), ensure_ascii=False, indent=2))


@config.command()
@_folder
def path(folder: Path) -> None:
    """Show where the settings of FOLDER are read from: your own file, then the workspace's, which is stronger."""
    from cairn.config import WORKSPACE_FILE
    from cairn.config_layers import user_file

    for file in (user_file(), _existing(folder) / WORKSPACE_FILE):
        click.echo(str(file) if file.exists() else f"{file} (not there)")


def shown(laid: Layered, *, everything: bool) -> Shown:
    """The settings that differ from the defaults, or all of them, in the order of the tree."""
    from cairn.config import Settings
    from cairn.config_layers import leaves
    from cairn.schema import unstructure

    defaults = leaves(Settings())
    settings = [
        Setting(".".join(keys), unstructure(value), _origins(laid, keys))
        for keys, value in leaves(laid.settings).items()
        if everything or value != defaults[keys]
    ]
    return Shown(tuple(settings), tuple(laid.texts()))


def settings_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a settings file, in snake_case."""
    from cairn.config import Settings, limits_of
    from cairn.json_schema import SCHEMA_DIALECT, schema_of

    definitions: dict[str, Any] = {}
    root = schema_of(Settings, naming="snake", definitions=definitions, bounds=limits_of)
    root["properties"] = {"$schema": {"type": "string"}, **root["properties"]}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "Cairn",
        **root,
        "description": "Settings of Cairn: config.toml and .cairn.toml.",
        "$defs": definitions,
    }


def _origins(laid: Layered, keys: Keys) -> tuple[str, ...]:
    return laid.origins.get(keys, (DEFAULT,))


def _existing(folder: Path) -> Path:
    from cairn.errors import InvalidRequestError

    root = folder.resolve()
    if not root.is_dir():
        raise InvalidRequestError("folder", f"{folder} is not a directory that can be read")
    return root


def _as_toml(value: Any) -> str:
    """JSON-like data as it is written in TOML."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_toml_string(key)} = {_as_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    return _toml_string(value) if isinstance(value, str) else json.dumps(value)


def _toml_string(text: str) -> str:
    """With the escapes of JSON, which are TOML's; DEL, which JSON leaves as it is, must not reach a terminal either."""
    return json.dumps(text, ensure_ascii=not text.isprintable()).replace("\x7f", "\\u007f")
