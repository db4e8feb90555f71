"""Prints the lines of an exact search on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from cairn.agents.occurrences_text import summary
from cairn.agents.result_text import pieces
from cairn.cli.console import escape, link, warn, write
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.protocol import FileOccurrences, MatchedLine, SearchAnswer

_EMPHASIS = "bold"


def print_occurrences(answer: SearchAnswer) -> None:
    """Print the counts, and each line below its file and definition, with its matches in bold."""
    found = answer.occurrences
    if found is None:
        warn(f"The text was not searched. {answer.retrieval.reason}")
        return
    for text in filter(None, (answer.verdict.note, summary(found))):
        write(escape(text))
    several_folders = len({file.folder for file in found.found}) > 1
    listed = 0
    for file in found.found:
        if file.definitions:
            write()
            listed += _print_file(file, several_folders)
    if found.lines > listed:
        write(f"\n[dim]{counted(found.lines - listed, 'further line')}: -n {found.lines} lists them.[/]")
    if answer.index.source:
        write(f"[dim]{escape(answer.index.source)}[/]")


def _print_file(file: FileOccurrences, several_folders: bool) -> int:
    """Print the listed lines of a file, and return their number."""
    folder = f"  [dim]{escape(file.folder)}[/]" if several_folders else ""
    write(link(file.uri, file.path, "green") + folder)
    lines = [line for definition in file.definitions for line in definition.lines]
    width = len(str(max(line.line for line in lines) + 1))
    for number, definition in enumerate(file.definitions):
        if definition.symbol or number:
            write(f"  [cyan]{escape(definition.symbol or '(top level)')}[/]")
        for line in definition.lines:
            _print_line(line, width)
    return len(lines)


def _print_line(line: MatchedLine, width: int) -> None:
    parts = ((text, _EMPHASIS if is_marked else "") for text, is_marked in pieces(line))
    write(Text.assemble("  ", (f"{line.line + 1:>{width}}", "dim"), "  ", *parts))
