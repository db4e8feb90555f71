"""Say what changed in the head of a function, and whether calls of the old one are still right.

Heads are compared token by token, in one way for all languages: parameters are what stands between commas in
the parentheses after the name, and one with a default, or that takes any number of values, is optional.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_DEFAULTS = frozenset({"=", "\\\\", "?", ":="})
"""Tokens of which one stands in an optional parameter."""
_VARIADIC = ("*", "...", "&", "**", "params", "vararg")
"""The beginnings of parameters that take any number of values."""
_BEFORE_TYPE = frozenset({":", "=", "?", "\\\\"})
_NOT_NAMES = frozenset({"self", "this", "cls", "/", "*"})


@frozen
class Difference:
    """What changed in a definition, in a few words."""

    reason: str
    is_compatible: bool = False
    """Whether calls of the old signature are right with the new one: it only has new optional parameters."""


@frozen
class _Parameter:
    tokens: tuple[str, ...]
    """The tokens without the default."""
    is_optional: bool

    @property
    def is_variadic(self) -> bool:
        first = self.tokens[0] if self.tokens else ""
        return (len(self.tokens) > 1 and first.startswith(_VARIADIC)) or first.startswith(("**", "..."))

    @property
    def name(self) -> str:
        """The likely name: the one before the type or, where types come first, the last word."""
        marked = next((each for each in self.tokens if each.startswith("$")), None)
        before = [each for each in self._before_type() if each.isidentifier()]
        return marked or (before[-1] if before else " ".join(self.tokens))

    def _before_type(self) -> Sequence[str]:
        at = next((place for place, each in enumerate(self.tokens) if each in _BEFORE_TYPE), None)
        return self.tokens if at is None else self.tokens[:at]


def signature_change(name: str, before: str, after: str) -> Difference:
    """Return what changed between two heads, whose tokens spaces separate."""
    old, new = _parameters(name, before.split()), _parameters(name, after.split())
    if old is None or new is None:
        return Difference("its signature changed")
    if old == new:
        return Difference("its result, type or modifiers changed")
    old_names, new_names = [each.name for each in old], [each.name for each in new]
    added = [each for each in new if each.name not in old_names]
    removed = [each for each in old_names if each not in new_names]
    if not added and not removed:
        is_same_order = old_names == new_names
        return Difference(
            "types or defaults of its parameters changed"
            if is_same_order
            else "the order of its parameters changed"
        )
    if removed:
        also = f", with {_listed([each.name for each in added])}" if added else ""
        return Difference(f"it is without the parameter {_listed(removed)}{also}")
    if all(each.is_optional for each in added):
        positional = [each.tokens for each in old if not each.is_variadic]
        is_prefix = [each.tokens for each in new if not each.is_variadic][: len(positional)] == positional
        listed = _listed([each.name for each in added])
        return Difference(f"it has the new optional parameter {listed}", is_prefix)
    return Difference(f"it has the new parameter {_listed([each.name for each in added])}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _parameters(name: str, tokens: Sequence[str]) -> list[_Parameter] | None:
    """Return the parameters after the name; None if there are no parentheses."""
    try:
        start = tokens.index("(", tokens.index(name))
    except ValueError:
        return None
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens[start:]:
        if token in _OPENING:
            depth += 1
        elif token in _CLOSING:
            depth -= 1
        if not depth:
            break
        if token == "," and depth == 1:
            found.append([])
        elif depth > 1 or token != "(":
            found[-1].append(token)
    return [_parameter(each) for each in found if each and not (len(each) == 1 and each[0] in _NOT_NAMES)]


def _parameter(tokens: Sequence[str]) -> _Parameter:
    end = next((place for place, each in enumerate(tokens) if each in _DEFAULTS - {"?"}), len(tokens))
    is_variadic = tokens[0].startswith(_VARIADIC) and tokens[0] != "&"
    is_optional = not _DEFAULTS.isdisjoint(tokens) or is_variadic or "..." in tokens
    return _Parameter(tuple(tokens[:end]), is_optional)
