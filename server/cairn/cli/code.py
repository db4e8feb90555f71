"""Prints code on a terminal, highlighted and with the line numbers of its file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.text import Text

from cairn.cli.console import has_colour, write
from cairn.text.verbatim import lines_of

_THEME = "ansi_dark"
"""This theme uses the terminal's own colours, which are legible for its user, and no background."""
_TAB = 4


def write_code(text: str, path: str, language: str, first: int, indent: int = 4) -> None:
    """Print lines of the file at `path`. `first` is the 1-based number of the first line."""
    lines = lines_of(text)
    width = len(str(first + len(lines) - 1))
    plain = (Text(line.expandtabs(_TAB)) for line in lines)
    shown_lines = _highlighted(lines, path, language) if has_colour() else plain
    for number, line in enumerate(shown_lines, first):
        write(Text.assemble(" " * indent, (f"{number:>{width}}", "dim"), "  ", line))


def _highlighted(lines: list[str], path: str, language: str) -> Iterator[Text]:
    """Yield the lines in colour, or without colour if their language is unknown. Their text is unchanged."""
    from rich.syntax import Syntax  # The import takes 25 ms, and output without colour does not need it.

    code = "\n".join(lines)
    highlight = partial(Syntax, code, theme=_THEME, background_color="default", tab_size=_TAB)
    syntax = highlight(lexer=language or "text")
    if syntax.lexer is None:  # The highlighter may know the language by another name.
        syntax = highlight(lexer=Syntax.guess_lexer(path))
    # The highlighter also ends the last line.
    yield from syntax.highlight(code).split("\n", allow_blank=True)[: len(lines)]
