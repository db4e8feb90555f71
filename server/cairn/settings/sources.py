"""The sources of settings, each read into a layer: files, the editor, the environment."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cairn.paths import config_dir
from cairn.schema.convert import camel_case
from cairn.settings.tree import USER_FILE, Keys, Settings, leaves
from cairn.text.nearest import nearest
from cairn.text.unicode import well_formed

_VARIABLE = "CAIRN_"
OTHER_VARIABLES = frozenset(
    {"CAIRN_CONFIG_DIR", "CAIRN_DATA_DIR", "CAIRN_PYTHON", "CAIRN_STORE_URL", "CAIRN_TEAM_TOKEN"}
)
"""Environment variables of Cairn that are not settings."""
_TEST_VARIABLE = "CAIRN_TEST_"

SCHEMA_KEY = "$schema"
"""The key by which TOML editors find the schema of a file."""

_MAX_FILE_BYTES = 1_000_000
"""The limit protects against a link to an endless file."""
_MAX_KEY_PARTS = 32
"""The maximum number of parts of a dotted key. No setting has more than four."""
SHOWN_CHARACTERS = 60


@frozen
class Layer:
    """The values from one source."""

    origin: str
    """The name of the source: a path, `editor` or `environment CAIRN_…`."""
    values: Mapping[str, Any]
    place: Callable[[Keys], str]
    """Returns the beginning of a warning about a key, as written in the source."""
    spelled: Callable[[Keys], str]
    """Returns how a setting (snake_case) is written in the source, for suggestions."""
    folder: Path | None = None
    """The workspace folder, if the source is the workspace's file."""
    problem: str | None = None
    """Why the source could not be read; None if it could."""


def user_file() -> Path:
    """Return the path of the user's settings file."""
    return config_dir() / USER_FILE


def named_layer(origin: str, section: str, values: Mapping[str, Any]) -> Layer:
    """Return the layer of an editor or a request, whose keys are dotted and camelCase."""
    return Layer(
        origin,
        values,
        place=lambda keys: dotted((section, *keys) if section else keys),
        spelled=lambda keys: camel_case(keys[-1]),
    )


def toml_layer(path: Path, origin: str, folder: Path | None = None) -> Layer:
    """Return the layer of a settings file; without values if there is no file. `folder` is the workspace of a
    workspace's file."""
    layer = Layer(origin, {}, place=dotted, spelled=lambda keys: keys[-1], folder=folder)
    try:
        text = _text_of(path)
        values = tomllib.loads(text)
    except FileNotFoundError:
        return layer
    except (OSError, ValueError) as problem:
        return evolve(layer, problem=f"{origin} is not used: {problem}")
    except RecursionError:
        return evolve(layer, problem=f"{origin} is not used: it is nested too deeply")
    if isinstance(values.get(SCHEMA_KEY), str):
        del values[SCHEMA_KEY]

    @cache
    def lines() -> Mapping[Keys, int]:
        from cairn.settings.toml_places import key_lines  # Only needed for a warning.

        return key_lines(text)

    def place(keys: Keys) -> str:
        known = (lines()[keys[:length]] for length in range(len(keys), 0, -1) if keys[:length] in lines())
        return f"{origin}:{next(known, 1)}: {dotted(keys)}"

    return evolve(layer, values=values, place=place)


def _text_of(path: Path) -> str:
    """Return the file's text with `\\n` line ends. Raise OSError or ValueError if it cannot be parsed
    safely."""
    if path.exists() and not path.is_file():  # A device may be endless, and a pipe may block.
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {_MAX_FILE_BYTES:,} bytes")
    text = content.decode("utf-8-sig").replace("\r\n", "\n")
    if text.count(".") >= _MAX_KEY_PARTS:
        from cairn.settings.toml_places import deep_key_line  # Only needed for a warning.

        if line := deep_key_line(text, _MAX_KEY_PARTS):
            raise ValueError(f"the key on line {line} has more than {_MAX_KEY_PARTS} parts")
    return text


def environment_layers(environment: Mapping[str, str]) -> list[Layer]:
    """Return a layer for each variable that begins with `CAIRN_` and is not one of OTHER_VARIABLES."""
    ours = [name for name in sorted(environment) if name.upper().startswith(_VARIABLE)]
    return [
        _variable_layer(name, environment[name])
        for name in ours
        if name.upper() not in OTHER_VARIABLES and not name.upper().startswith(_TEST_VARIABLE)
    ]


def _variable_layer(name: str, text: str) -> Layer:
    keys = name.upper().removeprefix(_VARIABLE).lower().split("__")
    if len(keys) == 1:
        known = [*sorted(OTHER_VARIABLES), *(variable(each) for each in leaves(Settings()))]
        problem = f"{name}: unknown variable{meant(nearest(name.upper(), known))}"
        return Layer(f"environment {name}", {}, dotted, variable, problem=problem)
    value = _toml_value(text)
    for key in reversed(keys):
        value = {key: value}

    def place(written: Keys) -> str:
        return dotted((name, *written[len(keys) :]))  # The value may be a table.

    return Layer(f"environment {name}", value, place, spelled=variable)


def variable(keys: Sequence[str]) -> str:
    """Return the environment variable for a setting."""
    return _VARIABLE + "__".join(keys).upper()


def _toml_value(text: str) -> Any:
    """Return the text parsed as a TOML value, or else the text itself."""
    text = well_formed(text)
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return read["value"] if len(read) == 1 else text


def meant(name: str) -> str:
    """Return the suggestion at the end of a warning about a wrong name; "" if no name is similar."""
    return f"; did you mean {name}?" if name else ""


def dotted(keys: Keys) -> str:
    """Return a key path for display."""
    most = SHOWN_CHARACTERS
    return ".".join(key if len(key) <= most else key[: most - 1] + "…" for key in keys)
