"""Say what changed in the head of a function, and whether calls of the old one are still right.

Heads are compared token by token, in one way for all languages: parameters are what stands between commas in
the parentheses after the name, and one with a default, or that takes any number of values, is optional.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_DEFAULTS = frozenset({"=", "\\\\", "?", ":="})
"""Tokens of which one stands in an optional parameter."""
_VARIADIC = ("*", "...", "&", "**", "params", "vararg")
"""The beginnings of parameters that take any number of values."""
_BEFORE_TYPE = frozenset({":", "=", "?", "\\\\"})
_NAMED = re.compile(r"(\w+)\s*(?:=(?![=>])|:(?!:))")
"""Matches an argument that is given by name."""
_UNTYPED = frozenset({"python", "javascript", "ruby", "php", "elixir", "lua", "clojure"})
"""Languages in which the types that a head names do not decide whether a call runs."""
_NAMES_FIRST = frozenset({"go"})
"""Languages in which a type follows a name without a sign between them."""
_MARKED = re.compile(r"\$ ?(\w+)")
"""Matches a name with its sign, which may be a token of its own."""
_SELVES = frozenset({"self", "cls"})
_NOT_NAMES = frozenset({"self", "this", "cls", "/", "*"})


@frozen
class Difference:
    """What changed in a definition."""

    reason: str
    """A few words, such as "it has the new parameter `pilot`"."""
    old: tuple[Parameter, ...] | None = None
    """The parameters before; None if they are not known or did not change."""
    new: tuple[Parameter, ...] | None = None
    has_self: bool = False
    """Whether the first parameter is the object itself, which most calls do not give as an argument."""
    heads: tuple[str, str] = ("", "")
    """The tokens of a changed head before and after, with spaces between."""

    def fits(self, call: str) -> bool:
        """Return whether a call of the old signature is right with the new one, by the number and the names
        of its arguments. `call` is its text from the opening parenthesis on."""
        given = _arguments(call) if self.old is not None and self.new is not None else None
        if given is None or self.old is None or self.new is None:
            return False
        named = {each for each in given if each}
        count = sum(1 for each in given if not each)
        old, new = ([each for each in side if not each.is_variadic] for side in (self.old, self.new))
        takes_any = any(each.is_variadic for each in self.new)
        if self.has_self and count > len(old) and not any(each.is_variadic for each in self.old):
            return False  # It may call the method through its class.
        if count > len(new) and not takes_any:
            return False
        if [each.key for each in old[:count]] != [each.key for each in new[: min(count, len(old))]]:
            return False
        if any(not each.is_optional and each.name not in named for each in new[count:]):
            return False
        return takes_any or named <= {each.name for each in new}


@frozen
class Parameter:
    """A parameter of a function."""

    tokens: tuple[str, ...]
    """The tokens without the default."""
    is_optional: bool
    is_name_first: bool = False

    @property
    def key(self) -> str:
        """What tells it apart from others: its name or, without a likely one, all of it."""
        return self.name

    @property
    def is_variadic(self) -> bool:
        first = self.tokens[0] if self.tokens else ""
        return (len(self.tokens) > 1 and first.startswith(_VARIADIC)) or first.startswith(("**", "..."))

    @property
    def name(self) -> str:
        """The likely name: the one before the type or, where types come first, the last word."""
        marked = _MARKED.search(" ".join(self.tokens))
        before = [each for each in self._before_type() if each.isidentifier()]
        likely = (before[0] if self.is_name_first else before[-1]) if before else " ".join(self.tokens)
        return f"${marked[1]}" if marked else likely

    def _before_type(self) -> Sequence[str]:
        at = next((place for place, each in enumerate(self.tokens) if each in _BEFORE_TYPE), None)
        return self.tokens if at is None else self.tokens[:at]


def signature_change(name: str, before: str, after: str, *, language: str = "") -> Difference:
    """Return what changed between two heads, whose tokens spaces separate."""
    old, new = (_parameters(name, head.split(), language) for head in (before, after))
    has_types = language not in _UNTYPED
    if old is None or new is None:
        return Difference("its signature changed")
    known = (tuple(old), tuple(new), not _SELVES.isdisjoint(before.split()))
    if old == new:
        reason = "its result, type or modifiers changed"
        return Difference(reason) if has_types else Difference(reason, *known)
    old_names, new_names = [each.name for each in old], [each.name for each in new]
    added = [each for each in new if each.name not in old_names]
    removed = [each for each in old_names if each not in new_names]
    if not added and not removed:
        is_same_order = old_names == new_names
        what = "types or defaults" if is_same_order else "the order"
        reason = f"{what} of its parameters changed"
        return Difference(reason) if has_types and is_same_order else Difference(reason, *known)
    listed = _listed([each.name for each in added])
    if removed:
        reason = f"it is without the parameter {_listed(removed)}{f', with {listed}' if added else ''}"
    else:
        are_optional = all(each.is_optional for each in added)
        reason = f"it has the new {'optional ' if are_optional else ''}parameter {listed}"
    return Difference(reason, *known)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _parameters(name: str, tokens: Sequence[str], language: str) -> list[Parameter] | None:
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
    is_name_first = language in _NAMES_FIRST
    every = [each for each in found if each and not (len(each) == 1 and each[0] in _NOT_NAMES)]
    return [_parameter(each, is_name_first) for each in every]


def _arguments(call: str) -> list[str] | None:
    """Return the names of a call's arguments, "" for those by position; None if they are not understood."""
    if not call.startswith("("):
        return None
    depth, quote, start, found = 0, "", 1, list[str]()
    for place, letter in enumerate(call):
        if quote:
            quote = "" if letter == quote and call[place - 1] != "\\" else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if not quote and ((letter == "," and depth == 1) or not depth):
            found.append(call[start:place].strip())
            start = place + 1
            if not depth:
                break
    else:
        return None
    given = [each for each in found if each]
    if any(each.startswith(("*", "...", "&", "**")) for each in given):
        return None  # It is not known how many arguments these are.
    return [match[1] if (match := _NAMED.match(each)) else "" for each in given]


def _parameter(tokens: Sequence[str], is_name_first: bool) -> Parameter:
    end = next((place for place, each in enumerate(tokens) if each in _DEFAULTS - {"?"}), len(tokens))
    is_variadic = tokens[0].startswith(_VARIADIC) and tokens[0] != "&"
    is_optional = not _DEFAULTS.isdisjoint(tokens) or is_variadic or "..." in tokens
    return Parameter(tuple(tokens[:end]), is_optional, is_name_first)
