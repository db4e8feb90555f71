"""Prints what refers to a definition, and what it refers to, on a terminal as a tree."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from cairn.agents.reference_groups import in_groups, meant, use
from cairn.agents.references import MOST
from cairn.cli.code import write_code
from cairn.cli.console import escape, link, warn, write
from cairn.languages.registry import detect_language
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.protocol import FoundReference, Range, ReferencesAnswer

_MOST_DEFINITIONS = 5
_STEP = 4
"""The number of columns by which each level is indented."""


def print_references(answer: ReferencesAnswer, direction: str) -> None:
    """Print the definitions, and below each the tree of its references, named by `direction`."""
    if answer.message:
        write(escape(answer.message))
    for definition in answer.definitions[:_MOST_DEFINITIONS]:
        place = _place(definition.uri, definition.path, definition.selection_range)
        write(f"{place}  [bold]{escape(definition.symbol)}[/]  [dim]{escape(definition.kind)}[/]")
        _print_line(definition.line, definition.path, definition.selection_range, 1)
    more = len(answer.definitions) - _MOST_DEFINITIONS
    if more > 0:
        write(f"[dim]… {counted(more, 'more definition')} of that name[/]")
    if answer.definitions:
        write()
        _Tree(answer, direction).print()
        if not answer.references:
            write(f"No {direction} were found.")
    if not answer.complete:
        is_way = len(answer.references) < MOST
        write(f"\n[dim]There are more{'; a larger -n shows them' if is_way else ''}.[/]")
    warn(answer.index.note)


class _Tree:
    """The references. Each is printed below the one from which it was found."""

    def __init__(self, answer: ReferencesAnswer, direction: str) -> None:
        self._answer, self._is_down = answer, direction == "callees"
        self._below: dict[int | None, list[int]] = {}
        for number, reference in enumerate(answer.references):
            self._below.setdefault(reference.parent, []).append(number)

    def print(self, parent: int | None = None, depth: int = 1) -> None:
        """Print the references found from the one with index `parent`, with one head for each function."""
        references, numbers = self._answer.references, self._below.get(parent, ())
        for group in in_groups(references, numbers, self._within):
            found = [references[number] for number in group]
            is_known = not self._is_down or {found[0].uri} == self._callers(parent)
            caller = "" if is_known else f"called in {found[0].path}"
            write(" " * _STEP * depth + self._head(found[0], caller))
            for reference in found:
                _print_line(reference.line, reference.path, reference.range, depth + 1)
            for number in group:
                self.print(number, depth + 1)

    def _callers(self, parent: int | None) -> set[str]:
        """Return the files in which callees are called, as far as the text above their heads shows them."""
        above = None if parent is None else self._answer.references[parent].target
        return {each.uri for each in ([above] if above else self._answer.definitions)}

    def _within(self, reference: FoundReference) -> Hashable:
        """Return what the head of a group shows besides the definition that is meant."""
        around = None if self._is_down else reference.enclosing
        return around, reference.confidence, reference.via

    def _head(self, reference: FoundReference, caller: str) -> str:
        """Return the line of the referring or the referenced function, with a dim reason."""
        target, around = reference.target, reference.enclosing
        why = f"{reference.confidence:.2f} {reference.via}"
        if target is not None:
            place, name = _place(target.uri, target.path, target.selection_range), target.symbol
        elif self._is_down:
            place, name, why = "", reference.symbol, "not in the workspace"
        else:
            place = _place(reference.uri, reference.path, reference.range)
            name = around.symbol if around is not None else ""
            if other := meant(self._answer, reference):
                name += f" → {other}"
        about = ", ".join(filter(None, (caller or use(reference), why)))
        shown = (place, f"[cyan]{escape(name.strip())}[/]" if name else "", f"[dim]{escape(about)}[/]")
        return "  ".join(filter(None, shown))


def _place(uri: str, path: str, place: Range) -> str:
    return link(uri, path, "green") + f":{place.start.line + 1}"


def _print_line(text: str, path: str, place: Range, depth: int) -> None:
    write_code(text.strip(), path, detect_language(path), place.start.line + 1, _STEP * depth)
