"""Reads settings in layers, and records where each value is from.

The layers, from lowest to highest priority: the defaults, the user's `config.toml`, the workspace's
`.cairn.toml`, the editor's settings, the environment, and single requests. A higher layer replaces the values
of a lower one, except for lists that are joined (`JOINED`). Keys may be snake_case or camelCase. An invalid
value is ignored with a warning that says where it is and what is valid. A workspace's file is not trusted,
because the author of the repository wrote it.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
from attrs import define, evolve, field, frozen

from cairn.schema.convert import snake_case, structure_value
from cairn.settings.marks import JOINED, NAMES_A_FILE, USER_ONLY, is_marked, limits_of
from cairn.settings.sources import (
    SHOWN_CHARACTERS,
    Layer,
    contained,
    environment_layers,
    meant,
    named_layer,
    toml_layer,
    user_file,
    variable,
)
from cairn.settings.tree import RETIRED, WORKSPACE_FILE, Keys, Settings
from cairn.text.nearest import nearest

T = TypeVar("T")

CHARACTERS = "characters"
"""The name of the estimate of four characters to a token, in place of a tokenizer's file."""

_CROSS_ENCODER = ("discovery", "focus", "cross_encoder")
"""The only setting that has no effect."""
_MAX_WARNINGS = 50
"""The maximum number of warnings about one layer. A file with more is hardly a settings file."""


@frozen
class Layered:
    """Settings, the origins of their values, and warnings."""

    settings: Settings
    origins: Mapping[Keys, tuple[str, ...]] = field(factory=dict, hash=False)
    """The origin of each setting that is not the default; several, lowest priority first, if values were
    joined."""
    warnings: tuple[tuple[str, str], ...] = ()
    """Pairs of an origin and what is wrong there."""
    unread: tuple[str, ...] = ()
    """Those of the warnings that are about a source of which nothing is used."""

    def texts(self, origin: str | None = None) -> list[str]:
        """Return the warnings, or those about one origin."""
        return [text for place, text in self.warnings if origin in (None, place)]


class Layers:
    """All layers except the workspace's file, read once."""

    def __init__(
        self,
        editor: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        enforced: Mapping[str, Any] | None = None,
    ) -> None:
        """`editor` is the editor's `cairn` section; `environment` defaults to that of this process. Nothing
        overrides `enforced`."""
        self._below = toml_layer(user_file(), str(user_file()))
        variables = environment_layers(os.environ if environment is None else environment)
        last = named_layer("server", "cairn", enforced or {})
        self._above = (named_layer("editor", "cairn", editor or {}), *variables, last)

    def without_workspace(self) -> Layered:
        """Return the settings without a workspace's file."""
        return lay((self._below, *self._above))

    def of(self, folder: Path) -> Layered:
        """Return the settings of a workspace folder. Warnings about its file have the origin
        WORKSPACE_FILE."""
        workspace = toml_layer(folder / WORKSPACE_FILE, WORKSPACE_FILE, folder)
        return lay((self._below, workspace, *self._above))


def lay(layers: Iterable[Layer]) -> Layered:
    """Apply the layers to the defaults, lowest priority first."""
    settings = Settings()
    origins: dict[Keys, tuple[str, ...]] = {}
    warnings: list[tuple[str, str]] = []
    unread: list[str] = []
    for layer in layers:
        if layer.problem:
            warnings.append((layer.origin, layer.problem))
            unread.append(layer.problem)
            continue
        laying = _Laying(layer)
        settings = laying.over(settings, layer.values)
        for keys, joined in laying.used.items():
            origins[keys] = (*(origins.get(keys, ()) if joined else ()), layer.origin)
        warnings += [(layer.origin, text) for text in laying.texts()]
    if settings.discovery.focus.cross_encoder:
        origin = origins[_CROSS_ENCODER][-1]
        text = f"{origin}: {'.'.join(_CROSS_ENCODER)} has no effect: no cross-encoder comes with Cairn"
        warnings.append((origin, text))
    return Layered(settings, origins, tuple(warnings), tuple(unread))


def overlay(settings: T, values: Mapping[str, Any], where: str) -> tuple[T, list[str]]:
    """Apply `values` to `settings`, any part of the tree; `where` names their origin in warnings.

    Return the new tree and a warning for each unknown key and each invalid value.
    """
    laying = _Laying(named_layer(where, where, values))
    return laying.over(settings, values), laying.texts()


@define
class _Laying:
    """The application of one layer to a tree of settings."""

    layer: Layer
    used: dict[Keys, bool] = field(factory=dict)
    """The changed settings, and whether the value was joined to the existing one."""
    _warnings: list[tuple[Keys, Callable[[], str]]] = field(factory=list)
    """The rejected keys, as written, and what is wrong with each."""

    def texts(self) -> list[str]:
        """Return a warning for each rejected key, up to _MAX_WARNINGS."""
        more = len(self._warnings) - _MAX_WARNINGS
        warnings = [f"{self.layer.place(keys)}: {why()}" for keys, why in self._warnings[:_MAX_WARNINGS]]
        last = [f"{self.layer.origin}: {more:,} more such warnings"] if more > 0 else []
        return [*map(_printable, warnings), *last]

    def over(self, settings: T, values: Mapping[str, Any], names: Keys = (), written: Keys = ()) -> T:
        """Return the tree with the values applied. `names` and `written` are its path from the root."""
        hints = typing.get_type_hints(type(settings))
        attributes = attrs.fields_dict(cast(Any, type(settings)))
        changes = {name: getattr(settings, name) for name in attributes}
        for key, value in values.items():
            name = snake_case(str(key))
            here, place = (*names, name), (*written, str(key))
            if name not in attributes:
                self._warnings.append((place, partial(self._unknown, names, name, list(attributes))))
            elif attrs.has(type(changes[name])):
                if isinstance(value, Mapping):
                    changes[name] = self.over(changes[name], value, here, place)
                else:
                    self._warnings.append((place, lambda: "expected a table of settings"))
            else:
                try:
                    changes[name] = self._taken(attributes[name], hints[name], changes[name], value, here)
                except ValueError as problem:
                    self._warnings.append((place, partial(str, problem)))
        changed: T = evolve(cast(Any, settings), **changes)
        return changed

    def _taken(
        self, attribute: attrs.Attribute[Any], hint: Any, current: Any, value: Any, names: Keys
    ) -> Any:
        """Return the setting's new value. Raise ValueError saying what was expected."""
        if self.layer.folder and is_marked(attribute, USER_ONLY):
            raise ValueError(
                f"a workspace's file may not set this; set it in {user_file()}, in the editor's settings"
                f" or as {variable(names)}"
            )
        try:
            taken = structure_value(value, hint)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        if problem := limits_of(attribute).problem_with(taken):
            raise ValueError(problem)
        if self.layer.folder and is_marked(attribute, NAMES_A_FILE):
            taken = _workspace_path(taken, self.layer.folder)
        joined = is_marked(attribute, JOINED)
        self.used[names] = joined
        if not joined:
            return taken
        return {**current, **taken} if isinstance(taken, Mapping) else (*current, *taken)

    def _unknown(self, names: Keys, name: str, known: Sequence[str]) -> str:
        if retired := RETIRED.get(".".join((*names, name))):
            return retired
        near = nearest(name, known)
        return f"unknown setting{meant(near and self.layer.spelled((*names, near)))}"


def _workspace_path(named: str, folder: Path) -> str:
    """Return the real path of a path in a workspace's settings file. Raise ValueError if it leaves the
    folder."""
    if named in ("", CHARACTERS):
        return named
    try:
        return str(contained(named, [folder]))
    except ValueError as problem:
        raise ValueError(
            f"{named[:SHOWN_CHARACTERS]!r} cannot be used: {problem}; a workspace's file can only name files"
            f" in the workspace. Others can be named in {user_file()} and the editor's settings"
        ) from None


def _printable(text: str) -> str:
    """Escape control characters, so that a key in a file cannot control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
