"""The sources of settings, each read into a layer: files, the editor, the environment.

A workspace's file and a request are not trusted: paths in them may only name files in the workspace.
"""

from __future__ import annotations

import ntpath
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    except (FileNotFoundError, NotADirectoryError):
        return layer
    except (OSError, ValueError) as problem:
        return evolve(layer, problem=f"{origin} is not used: {problem}")
    except RecursionError:
        return evolve(layer, problem=f"{origin} is not used: it is nested too deeply")
    if isinstance(values.get(SCHEMA_KEY), str):
        del values[SCHEMA_KEY]

    @cache
    def lines() -> Mapping[Keys, int]:
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
    if text.count(".") >= _MAX_KEY_PARTS and (line := deep_key_line(text, _MAX_KEY_PARTS)):
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


_PART = r"""[A-Za-z0-9_-]+|(?!\"{3}|'{3})(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_TOKEN = re.compile(
    rf"""
      (?P<key>(?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*+)
    | \#[^\n]* | \"{{3}}(?:[^\\]|\\.)*?\"{{3}}(?!") | '{{3}}.*?'{{3}}(?!')
    | ["'].*  # an unclosed string, where tomllib stops, too
    | [\[\]{{}}\n]
    """,
    re.VERBOSE | re.DOTALL,
)
"""Whatever decides where a key begins and where a value ends, since a value may look like a key."""


def deep_key_line(text: str, most: int) -> int | None:
    """Return the 1-based line of the first key with more than `most` parts, or None: `tomllib` hangs on very
    long keys."""
    for token in _TOKEN.finditer(text):
        if token["key"] and len(re.findall(_PART, token["key"])) > most:
            return 1 + text.count("\n", 0, token.start())
    return None


def key_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """Return the first 1-based line of each table and key of a valid text, without keys in inline tables.
    `tomllib` does not give them."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    line, depth, is_after_key = 1, 0, False
    for token in _TOKEN.finditer(text):
        written = token[0]
        if token["key"] and not is_after_key:
            is_after_key = True
            key = tuple(map(_unquoted, re.findall(_PART, written)))
            if depth:  # A key has no brackets, so this is a table's header.
                table = key
            whole = key if depth else (*table, *key)
            for length in range(1, len(whole) + 1):
                lines.setdefault(whole[:length], line)
        elif written in "[{":
            depth += 1
        elif written in "]}":
            depth -= 1
        elif written == "\n" and not depth:
            is_after_key = False
        line += written.count("\n")
    return lines


def _unquoted(written: str) -> str:
    return str(tomllib.loads(f"key = {written}")["key"]) if written[0] in "\"'" else written


def contained(named: str, roots: Iterable[Path]) -> Path:
    """Return the real path of the file `named` in one of the folders `roots`.

    Relative paths are relative to the folders; `~` has no special meaning. Cairn does not access anything
    outside of the folders, not even to see whether it exists: on Windows, access to a file of another machine
    (`\\\\host\\share`) would reveal the user to that machine. Raise ValueError saying what is wrong.
    """
    real: Path | None = None
    for root in roots:
        real = _inside(named, root)
        if real is not None and os.path.isfile(real):  # noqa: PTH113 - Path's raises for a name that is too long
            return real
    if real is None:
        raise ValueError("it is not in the workspace folder")
    raise ValueError("it is not a regular file")


def _inside(named: str, root: Path) -> Path | None:
    """Return the real path of `named` if it is in the folder, else None."""
    drive = ntpath.splitdrive(named)[0].replace("/", "\\")
    is_remote = drive.startswith("\\\\")  # Windows reads this as another machine or a device.
    if "\0" in named or is_remote:
        return None
    # normpath resolves `..` without access to the file system.
    written = Path(os.path.normpath(root / named))
    places = {root, root.resolve()}
    if not any(written.is_relative_to(place) for place in places):
        return None
    try:
        real = written.resolve()
    except (OSError, RuntimeError):  # The links form a circle.
        return None
    return real if real.is_relative_to(root.resolve()) else None
