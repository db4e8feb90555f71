"""Prints code on a terminal: highlighted, with the line numbers of its file."""

from __future__ import annotations

from collections.abc import Iterator

from rich.syntax import Syntax
from rich.text import Text

from cairn.cli.console import has_colour, shown, write
from cairn.text.verbatim import lines_of

_THEME = "ansi_dark"
"""This theme uses the terminal's own colours, which its user can read, and no background."""
_TAB = 4


def write_code(text: str, path: str, language: str, first: int, indent: int = 4) -> None:
    """Print lines of the file at `path`; `first` is the 1-based number of the first one."""
    lines = lines_of(shown(text))
    width = len(str(first + len(lines) - 1))
    highlighted = _highlighted(lines, path, language) if has_colour() else map(_plain, lines)
    for number, line in enumerate(highlighted, first):
        write(Text.assemble(" " * indent, (f"{number:>{width}}", "dim"), "  ", line))


def _plain(line: str) -> Text:
    return Text(line.expandtabs(_TAB))


def _highlighted(lines: list[str], path: str, language: str) -> Iterator[Text]:
    """Yield the lines in colour, each as long as before, or unchanged if their language is unknown."""
    code = "\n".join(lines)
    syntax = Syntax(code, language or "text", theme=_THEME, background_color="default", tab_size=_TAB)
    if syntax.lexer is None:  # the highlighter may know the language by another name
        syntax = Syntax(
            code, Syntax.guess_lexer(path), theme=_THEME, background_color="default", tab_size=_TAB
        )
    # The highlighter ends the last line as well.
    yield from syntax.highlight(code).split("\n", allow_blank=True)[: len(lines)]
