"""Reads settings and lays them over each other, and says where each value is from.

From weakest to strongest: the defaults, the user's `config.toml`, the workspace's `.cairn.toml`, the editor's settings,
the environment, and single requests. The strongest wins (`overlay`), but for lists that add up. Keys may be snake_case or
camelCase. What cannot be used is reported, never fatal: the value from below stays, and the warning says where the bad one
stands and what is valid. A workspace's own file is not trusted: whoever wrote the repository wrote it.
"""

from __future__ import annotations

import os
import tomllib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import platformdirs
from attrs import define, evolve, field, frozen

from cairn.schema.convert import camel_case, snake_case, structure_value
from cairn.settings.contained import contained
from cairn.settings.marks import adds_up, is_user_only, limits_of, names_a_file
from cairn.settings.tree import USER_FILE, WORKSPACE_FILE, Settings
from cairn.text.nearest import nearest
from cairn.text.unicode import well_formed

T = TypeVar("T")
Keys = tuple[str, ...]
"""Names of settings from the root on: `("search", "candidates")`."""

EDITOR = "cairn"
"""The editor's section, as warnings name it."""
CHARACTERS = "characters"
"""The tokenizer that is no file: S1's rule of four characters to a token."""

_VARIABLE = "CAIRN_"
OTHER_VARIABLES = frozenset({"CAIRN_CONFIG_DIR", "CAIRN_DATA_DIR", "CAIRN_PYTHON"})
"""Variables that are no settings."""
_TEST_VARIABLE = "CAIRN_TEST_"

SCHEMA_KEY = "$schema"
"""By which editors of TOML find the schema of a file."""

_MAX_FILE_BYTES = 1_000_000
"""Far above what anybody writes, and read in no time: a link can make an endless file of it."""
_MAX_KEY_PARTS = 32
"""No setting has more than four."""
_MAX_WARNINGS = 50
"""Of one place: more than that tell that it is no settings file."""
_SHOWN_CHARACTERS = 60


@frozen
class Layer:
    """Values from one place."""

    origin: str
    """What the place is called: a path, `editor`, `environment CAIRN_…`."""
    values: Mapping[str, Any]
    place: Callable[[Keys], str]
    """How a warning about the key of this path, as it is written there, begins."""
    spelled: Callable[[Keys], str]
    """How the setting of this path (snake_case) is written there, as a suggestion."""
    folder: Path | None = None
    """The workspace folder, if it is the workspace's own file."""
    problem: str | None = None
    """Why nothing could be read, if that is so."""


@frozen
class Warned:
    """Something that could not be used."""

    origin: str
    text: str


@frozen
class Layered:
    """Settings, and where they are from."""

    settings: Settings
    origins: Mapping[Keys, tuple[str, ...]] = field(factory=dict, hash=False)
    """Of each setting that is not the default, the place; of one that adds up, all places, weakest first."""
    warnings: tuple[Warned, ...] = ()

    def texts(self, origin: str | None = None) -> list[str]:
        """The warnings, or those about one place."""
        return [warned.text for warned in self.warnings if origin in (None, warned.origin)]


class Layers:
    """All that settings come from but the workspace's files, read once."""

    def __init__(
        self, editor: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`editor` is the editor's `cairn` section; `environment` is this process's where none is given."""
        self._below = [_toml_layer(user_file(), str(user_file()))]
        self._above = [_editor_layer(editor or {})]
        variables, self._unknown = _environment_layers(os.environ if environment is None else environment)
        self._above += variables

    def without_workspace(self) -> Layered:
        """What counts where no workspace's file does."""
        return self._laid([])

    def of(self, folder: Path) -> Layered:
        """What counts in the workspace folder; the warnings about its file have the origin WORKSPACE_FILE."""
        return self._laid([workspace_layer(folder)])

    def _laid(self, between: Sequence[Layer]) -> Layered:
        laid = lay((*self._below, *between, *self._above))
        return evolve(laid, warnings=(*laid.warnings, *self._unknown))


def lay(layers: Iterable[Layer], settings: Settings | None = None) -> Layered:
    """The layers over each other, weakest first, over the defaults."""
    settings = settings or Settings()
    origins: dict[Keys, tuple[str, ...]] = {}
    warnings: list[Warned] = []
    for layer in layers:
        if layer.problem:
            warnings.append(Warned(layer.origin, layer.problem))
            continue
        laying = _Laying(layer)
        settings = laying.over(settings, layer.values)
        for keys, joined in laying.used.items():
            origins[keys] = (*(origins.get(keys, ()) if joined else ()), layer.origin)
        warnings += [Warned(layer.origin, text) for text in laying.texts()]
    return Layered(settings, origins, tuple(warnings))


def overlay(settings: T, values: Mapping[str, Any], where: str) -> tuple[T, list[str]]:
    """Lay `values` over `settings`, any part of the tree; `where` names their origin in the warnings.

    Returns the new tree and one warning for each key that is unknown or whose value does not fit.
    """
    laying = _Laying(_named_layer(where, where, values))
    return laying.over(settings, values), laying.texts()


def user_file() -> Path:
    """Where the user's own settings are: in `CAIRN_CONFIG_DIR`, or the platform's folder for settings."""
    override = os.environ.get("CAIRN_CONFIG_DIR")
    return (Path(override) if override else Path(platformdirs.user_config_dir("cairn"))) / USER_FILE


def workspace_layer(folder: Path) -> Layer:
    """The folder's `.cairn.toml`; of no values if there is none."""
    return evolve(_toml_layer(folder / WORKSPACE_FILE, WORKSPACE_FILE), folder=folder)


# --- places ------------------------------------------------------------------------------------------


def _named_layer(origin: str, section: str, values: Mapping[str, Any]) -> Layer:
    """Values of an editor or a request, whose places are dotted and camelCase."""
    return Layer(
        origin,
        values,
        place=lambda keys: _dotted((section, *keys) if section else keys),
        spelled=lambda keys: camel_case(keys[-1]),
    )


def _editor_layer(values: Mapping[str, Any]) -> Layer:
    return _named_layer("editor", EDITOR, values)


def _toml_layer(path: Path, origin: str) -> Layer:
    """What a settings file holds; of no values if there is none."""
    layer = Layer(origin, {}, place=_dotted, spelled=lambda keys: keys[-1])
    try:
        text = _text_of(path)
        _check_keys(text)
        values = tomllib.loads(text)
    except FileNotFoundError:
        return layer
    except (OSError, ValueError) as problem:
        return evolve(layer, problem=f"{origin} is not used: {problem}")
    except RecursionError:
        return evolve(layer, problem=f"{origin} is not used: it is nested too deeply")
    if isinstance(values.get(SCHEMA_KEY), str):
        del values[SCHEMA_KEY]
    lines: Mapping[Keys, int] | None = None

    def place(keys: Keys) -> str:
        nonlocal lines
        if lines is None:
            from cairn.settings.toml_places import key_lines  # seldom needed

            lines = key_lines(text)
        known = (lines[keys[:length]] for length in range(len(keys), 0, -1) if keys[:length] in lines)
        return f"{origin}:{next(known, 1)}: {_dotted(keys)}"

    return evolve(layer, values=values, place=place)


def _check_keys(text: str) -> None:
    """Raises ValueError for a key that tomllib must not see."""
    if text.count(".") < _MAX_KEY_PARTS:
        return
    from cairn.settings.toml_places import deep_key_line  # seldom needed

    line = deep_key_line(text, _MAX_KEY_PARTS)
    if line is not None:
        raise ValueError(f"the key on line {line} has more than {_MAX_KEY_PARTS} parts")


def _text_of(path: Path) -> str:
    """The file's text with `\\n` alone. Raises OSError or ValueError saying why it cannot be used."""
    if path.exists() and not path.is_file():  # a device may be endless, a pipe keeps waiting
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {_MAX_FILE_BYTES:,} bytes")
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def _environment_layers(environment: Mapping[str, str]) -> tuple[list[Layer], list[Warned]]:
    """A layer for each variable that is a setting, and a warning for each that only looks like one."""
    layers, warnings = [], []
    for name, text in sorted(environment.items()):
        upper = name.upper()
        if not upper.startswith(_VARIABLE) or upper in OTHER_VARIABLES or upper.startswith(_TEST_VARIABLE):
            continue
        keys = upper.removeprefix(_VARIABLE).lower().split("__")
        if len(keys) == 1:
            known = [*sorted(OTHER_VARIABLES), *(_variable(keys) for keys in leaves(Settings()))]
            text = f"{name}: unknown variable{_meant(nearest(upper, known))}"
            warnings.append(Warned(f"environment {name}", text))
        else:
            layers.append(_variable_layer(name, keys, text))
    return layers, warnings


def _variable_layer(name: str, keys: Sequence[str], text: str) -> Layer:
    value = _toml_value(text)
    for key in reversed(keys):
        value = {key: value}

    def place(written: Keys) -> str:
        return _dotted((name, *written[len(keys) :]))  # what is inside of a table given as the value

    return Layer(f"environment {name}", value, place, spelled=_variable)


def _variable(keys: Sequence[str]) -> str:
    """The variable that sets the setting of this path."""
    return _VARIABLE + "__".join(keys).upper()


def _toml_value(text: str) -> Any:
    """The text read as a TOML value, or as it is."""
    text = well_formed(text)
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return read["value"] if len(read) == 1 else text


# --- laying one place's values over a tree ------------------------------------------------------------


@define
class _Laying:
    """One layer while it is laid over a tree."""

    layer: Layer
    used: dict[Keys, bool] = field(factory=dict)
    """The settings that were set, and whether the value was joined to what was there."""
    _warnings: list[str] = field(factory=list)
    _more: int = 0

    def texts(self) -> list[str]:
        """One warning for each key that could not be used, up to a number."""
        return [
            *self._warnings,
            *([f"{self.layer.origin}: {self._more:,} more such warnings"] if self._more else []),
        ]

    def over(self, settings: T, values: Mapping[str, Any], names: Keys = (), written: Keys = ()) -> T:
        """The tree with the values over it; `names` and `written` lead to it from the root."""
        hints = typing.get_type_hints(type(settings))
        attributes = attrs.fields_dict(cast(Any, type(settings)))
        changes = {name: getattr(settings, name) for name in attributes}
        for key, value in values.items():
            name = snake_case(str(key))
            here, place = (*names, name), (*written, str(key))
            if name not in attributes:
                self._warn(place, partial(self._unknown, names, name, list(attributes)))
            elif attrs.has(type(changes[name])):
                if isinstance(value, Mapping):
                    changes[name] = self.over(changes[name], value, here, place)
                else:
                    self._warn(place, lambda: "expected a table of settings")
            else:
                try:
                    changes[name] = self._taken(attributes[name], hints[name], changes[name], value, here)
                except ValueError as problem:
                    self._warn(place, partial(str, problem))
        changed: T = evolve(cast(Any, settings), **changes)
        return changed

    def _taken(
        self, attribute: attrs.Attribute[Any], hint: Any, current: Any, value: Any, names: Keys
    ) -> Any:
        """The setting's new value. Raises ValueError saying what was expected."""
        if self.layer.folder and is_user_only(attribute):
            raise ValueError(
                f"a workspace's file may not set this; set it in {user_file()}, in the editor's settings or as"
                f" {_variable(names)}"
            )
        try:
            taken = structure_value(value, hint)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        if problem := limits_of(attribute).problem_with(taken):
            raise ValueError(problem)
        if self.layer.folder and names_a_file(attribute):
            taken = _workspace_path(taken, self.layer.folder)
        joined = adds_up(attribute)
        self.used[names] = joined
        if not joined:
            return taken
        return {**current, **taken} if isinstance(taken, Mapping) else (*current, *taken)

    def _unknown(self, names: Keys, name: str, known: Sequence[str]) -> str:
        meant = nearest(name, known)
        return f"unknown setting{_meant(meant and self.layer.spelled((*names, meant)))}"

    def _warn(self, written: Keys, message: Callable[[], str]) -> None:
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append(_printable(f"{self.layer.place(written)}: {message()}"))
        else:
            self._more += 1


def leaves(settings: Any, above: Keys = ()) -> dict[Keys, Any]:
    """The value of each setting of a tree, by the names from the root on."""
    found: dict[Keys, Any] = {}
    for attribute in attrs.fields(type(settings)):
        value = getattr(settings, attribute.name)
        names = (*above, attribute.name)
        found |= leaves(value, names) if attrs.has(type(value)) else {names: value}
    return found


def _workspace_path(named: str, folder: Path) -> str:
    """A path of the workspace's own file, relative to the folder, as the real one. Raises ValueError if it leads out."""
    if named in ("", CHARACTERS):
        return named
    try:
        return str(contained(named, [folder]))
    except ValueError as problem:
        raise ValueError(
            f"{named[:_SHOWN_CHARACTERS]!r} cannot be used: {problem}; a workspace's file can only name files in the"
            f" workspace. Others can be named in {user_file()} and the editor's settings"
        ) from None


def _meant(name: str) -> str:
    return f"; did you mean {name}?" if name else ""


def _dotted(keys: Keys) -> str:
    """A path as it can be shown."""
    return ".".join(map(_shortened, keys))


def _shortened(key: str) -> str:
    return key if len(key) <= _SHOWN_CHARACTERS else key[: _SHOWN_CHARACTERS - 1] + "…"


def _printable(text: str) -> str:
    """Whoever wrote a key must not write to the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
