"""Prints the answers of `cairn callers` and `cairn callees` on a terminal, as a tree."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from cairn.cli.code import write_code
from cairn.cli.console import escape, link, warn, write
from cairn.text.counts import counted
from cairn.text.languages import detect_language

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
        write("\n[dim]There are more; a larger -n shows them.[/]")
    warn(answer.index.note)


class _Tree:
    """The references. Each is printed below the one from which it was found."""

    def __init__(self, answer: ReferencesAnswer, direction: str) -> None:
        self._is_down = direction == "callees"
        self._below: dict[int | None, list[tuple[int, FoundReference]]] = {}
        for number, reference in enumerate(answer.references):
            self._below.setdefault(reference.parent, []).append((number, reference))

    def print(self, parent: int | None = None, depth: int = 1) -> None:
        """Print the references found from the one with index `parent`, with one head for each function."""
        for _, group in groupby(self._below.get(parent, ()), lambda numbered: self._together(*numbered)):
            found = list(group)
            write(" " * _STEP * depth + self._head(found[0][1]))
            for _, reference in found:
                _print_line(reference.line, reference.path, reference.range, depth + 1)
            for number, _ in found:
                self.print(number, depth + 1)

    def _together(self, number: int, reference: FoundReference) -> object:
        """Return a key that is equal for references under the same head."""
        if self._is_down or reference.enclosing is None:
            return number
        return reference.uri, reference.enclosing, reference.symbol, reference.confidence, reference.via

    def _head(self, reference: FoundReference) -> str:
        """Return the line of the referring or the referenced function, with a dim reason."""
        target = reference.target
        if self._is_down and target is None:
            return f"[cyan]{escape(reference.symbol)}[/]  [dim]not in the workspace[/]"
        if target is not None:
            place, name = _place(target.uri, target.path, target.selection_range), target.symbol
        else:
            place = _place(reference.uri, reference.path, reference.range)
            name = reference.enclosing.symbol if reference.enclosing is not None else ""
        why = f"[dim]{reference.confidence:.2f} {escape(reference.via)}[/]"
        return "  ".join(filter(None, (place, f"[cyan]{escape(name)}[/]" if name else "", why)))


def _place(uri: str, path: str, place: Range) -> str:
    return link(uri, path, "green") + f":{place.start.line + 1}"


def _print_line(text: str, path: str, place: Range, depth: int) -> None:
    write_code(text.strip(), path, detect_language(path), place.start.line + 1, _STEP * depth)
