"""The lines of a trace: a tree of calls, each with its branches and the head of the called function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from cairn import protocol
from cairn.agents.place_text import Paths, lines_text
from cairn.text.counts import counted

_SURE = 0.8
"""Calls with at least this confidence are shown without their confidence."""
_LONGEST_HEAD = 110
_GAPS = re.compile(r"(?<=[(\[<]) |,? (?=[)\]>](?![=>]))")
"""The spaces and commas that remain where lines were joined."""
_INDENT = "  "
_MOST_OTHERS = 4
_MOST_BRANCHES = 3
"""The maximum number of branches around a call that are shown, the innermost ones."""


NO_CALLS = "It calls nothing that the workspace defines."


def trace_head(answer: protocol.ReferencesAnswer, paths: Paths) -> str:
    """Return lines with the start, other definitions of its name, and the end."""
    if not answer.definitions:
        return ""
    start, *others = answer.definitions
    heads = [f"{_path(start, paths)}:{lines_text(start.range)}  {head_text(start)}"]
    heads += [
        f"to {_path(each, paths)}:{lines_text(each.range)}  {head_text(each)}" for each in answer.to[:1]
    ]
    if others:
        places = [f"{_path(each, paths)}:{each.selection_range.start.line + 1}" for each in others]
        more = ", …" if len(places) > _MOST_OTHERS else ""
        heads.append(f"also defined at {', '.join(places[:_MOST_OTHERS])}{more}")
    return "\n".join(heads)


def trace_lines(answer: protocol.ReferencesAnswer, paths: Paths, first: int = 0) -> Iterator[str]:
    """Yield a line for each call from index `first` on: the number of its line, the branches around it, the
    called function, and remarks.

    A path stands only where it differs from that of the place before it. The place and the head of a function
    are shown once.
    """
    followed: dict[tuple[str, str, protocol.Range], int] = {}
    for each in answer.references:
        if each.parent is not None:
            followed.setdefault(_identity(answer.references[each.parent].target), each.parent)
    starts = {_identity(each) for each in answer.definitions[:1]}
    above = _path(answer.definitions[0], paths) if answer.definitions and not first else ""
    shown_above = set(starts)
    for number, each in enumerate(answer.references[first:], first):
        target = each.target
        assert target is not None
        identity = _identity(target)
        is_above = identity in starts or followed.get(identity, number) != number
        before = answer.references[number - 1] if number > first else None
        call = _call(each, before if before is not None and before.parent == each.parent else None)
        shown = target.symbol
        if not is_above and identity not in shown_above:
            path, lines = _path(target, paths), lines_text(target.range)
            shown = f"{lines if path == above else f'{path}:{lines}'} {head_text(target)}"
            above = path
        shown_above.add(identity)
        remarks = ", ".join(filter(None, _remarks(each, is_above=is_above)))
        yield f"{_INDENT * (each.depth - 1)}{call} → {shown}{f'  ({remarks})' if remarks else ''}"


def _call(reference: protocol.FoundReference, before: protocol.FoundReference | None) -> str:
    """Return the number of a call's line, and its branches: `12 if not cached`. `″` stands for those that it
    shares with the call `before` it in the same function, which is in the line above."""
    if reference.kind == "inherit":
        return "override"
    branches = list(reference.within[-_MOST_BRANCHES:])
    if len(branches) < len(reference.within):
        branches.insert(0, "…")
    pairs = zip(reference.within, before.within if before is not None else (), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common:
        branches = ["″", *reference.within[common:]]
    return f"{reference.range.start.line + 1} {' › '.join(branches)}".rstrip()


def _remarks(reference: protocol.FoundReference, *, is_above: bool) -> Iterator[str]:
    if reference.kind == "read":
        yield "as a value"
    if reference.confidence < _SURE and reference.kind != "inherit":
        yield f"{reference.confidence:.0%} sure"
    if is_above:
        yield "see above"
    elif reference.unfollowed:
        yield counted(reference.unfollowed, "call")


def head_text(place: protocol.SymbolPlace) -> str:
    """Return the qualified name, and the rest of the definition's head: `Store.load(self, key) -> Item`."""
    name = place.symbol.rpartition(".")[2]
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)(?=\s*[^\s)\w*.])", place.line)
    rest = _head_alone(" ".join(place.line[found.end() :].split())) if found else ""
    shown = f"{place.symbol}{_GAPS.sub('', rest)}"
    return shown if len(shown) <= _LONGEST_HEAD else f"{shown[: _LONGEST_HEAD - 1].rstrip()}…"


def _head_alone(rest: str) -> str:
    """Return the text after a function's name without the body."""
    rest = rest.removeprefix("=").strip() if rest.startswith("=") else rest
    depth = 0
    for at, letter in enumerate(rest):
        depth += (letter in "([") - (letter in ")]")
        if not depth and (letter == "{" or rest.startswith((" = ", " => "), at)):
            return rest[:at].rstrip()
    return rest.rstrip(":;= ")


def _path(place: protocol.SymbolPlace, paths: Paths) -> str:
    return paths.shown(place.folder, place.path)


def _identity(place: protocol.SymbolPlace | None) -> tuple[str, str, protocol.Range]:
    assert place is not None
    return place.folder, place.path, place.selection_range
