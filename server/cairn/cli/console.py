"""Prints on a terminal. The same text in a file or a pipe has no colour, and is neither cut nor wrapped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from cairn.cli.output import display
from cairn.engine import progress_text
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.engine.status import IndexingProgress

_MEASURED_COLUMNS = 60
"""The minimum width of a terminal, in columns, for progress bars."""


_CONTROLS = {code: 0xFFFD for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
"""Control characters, with which a file could control the terminal, and their replacement U+FFFD."""


def _console(*, stderr: bool = False) -> Console:
    """Return a console whose colour follows the options and the environment (NO_COLOR, FORCE_COLOR, TERM)."""
    forced: dict[str, Any] = {}
    if display.color == "always":
        forced = {"force_terminal": True, "color_system": "standard", "no_color": False}
    elif display.color == "never":
        forced = {"color_system": None}
    # Emoji are off, since `:key:` in a line of code is not one.
    return Console(highlight=False, soft_wrap=True, emoji=False, stderr=stderr, **forced)


def has_colour() -> bool:
    return _console().color_system is not None


def write(text: str | Text = "") -> None:
    """Print a text with markup or styles on the current stdout."""
    _console().print(text)


def rule(title: str) -> None:
    _console().rule(title, align="left")


def warn(*texts: str | None) -> None:
    for text in filter(None, texts):
        write(f"[yellow]{escape(text)}[/]")


def write_exactly(text: str) -> None:
    """Print a text for a program or a model, exactly. rich would replace its tabs by spaces."""
    exact = shown(text)
    sys.stdout.write(exact if exact.endswith("\n") else f"{exact}\n")


def shown(text: str) -> str:
    """Return the text. On a terminal, its control characters are replaced."""
    return text.translate(_CONTROLS) if sys.stdout.isatty() else text


def escape(text: str) -> str:
    """Escape markup in a text, and control characters as `shown` does."""
    return markup.escape(shown(text))


def link(uri: str, text: str, style: str = "") -> str:
    """On a terminal, return the text as a link to the file, which works from any directory."""
    link = f"link={markup.escape(uri)}" if sys.stdout.isatty() and "]" not in uri else ""
    marks = " ".join(filter(None, (style, link)))
    return f"[{marks}]{escape(text)}[/]" if marks else escape(text)


def _shows_progress() -> bool:
    return sys.stderr.isatty() and not display.quiet and os.environ.get("TERM") != "dumb"


@contextmanager
def progress_bars() -> Iterator[Callable[[IndexingProgress], None]]:
    """Show two progress bars on stderr, for files and for vectors, if it is a terminal."""
    console = _console(stderr=True)
    is_narrow = console.width < _MEASURED_COLUMNS
    columns = (
        TextColumn("{task.description}"),
        *(() if is_narrow else (BarColumn(),)),
        MofNCompleteColumn(),
        *(() if is_narrow else (TextColumn("{task.fields[detail]}"),)),
    )
    with Progress(*columns, console=console, transient=True, disable=not _shows_progress()) as bars:
        files = bars.add_task("Reading files", total=None, detail="")
        texts = bars.add_task("Making vectors", total=None, visible=False, detail="")
        most_queued = 0

        def show(progress: IndexingProgress) -> None:
            nonlocal most_queued
            most_queued = max(most_queued, progress.texts_queued)
            bars.update(
                files,
                total=progress.files_total or None,
                completed=progress.files_done,
                detail=counted(progress.chunks, "chunk"),
            )
            pace = ", ".join(progress_text.pace(progress.texts_per_second, progress.seconds_left))
            bars.update(
                texts,
                total=most_queued or None,
                completed=most_queued - progress.texts_queued,
                visible=progress.scanned and most_queued > 0,
                detail="paused" if progress.is_paused else pace,
            )

        yield show


@contextmanager
def waiting(message: str) -> Iterator[None]:
    """Show `message` on stderr, if it is a terminal, while the block runs."""
    if not _shows_progress():
        yield
        return
    with _console(stderr=True).status(message):
        yield
