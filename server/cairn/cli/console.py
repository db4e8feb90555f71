"""Prints on a terminal. The same text in a file or a pipe has no colour, and is neither cut nor wrapped."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape as escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.segment import Segment
from rich.text import Text

from cairn.cli.output import display, remark
from cairn.startup.streams import guard_streams, unguarded, visible
from cairn.startup.timers import NOTICED_SECONDS, said_if_late
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.engine.status import IndexingProgress

_MEASURED_COLUMNS = 60
"""The minimum width of a terminal, in columns, for progress bars."""


_LINK = re.compile(r"file://[!-Z^-~]*")
"""Matches addresses to which the terminal may link: of files, without control characters and brackets."""


class _Console(Console):
    """A console that writes its own escape sequences past the guard of the stream, and no others."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not self.file.isatty():
                yield segment
                continue
            style = segment.style
            if style is not None and style.link and not _LINK.fullmatch(style.link):
                style = style.update_link(None)
            yield Segment(visible(segment.text), style)


def _console(*, stderr: bool = False) -> Console:
    """Return a console whose colour follows the options and the environment (NO_COLOR, FORCE_COLOR, TERM)."""
    forced: dict[str, Any] = {}
    if display.color == "always":
        forced = {"force_terminal": True, "color_system": "standard", "no_color": False}
    elif display.color == "never":
        forced = {"color_system": None}
    # Emoji are off, since `:key:` in a line of code is not one.
    file = unguarded(sys.stderr if stderr else sys.stdout)
    return _Console(highlight=False, soft_wrap=True, emoji=False, file=file, **forced)


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
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def link(uri: str, text: str, style: str = "") -> str:
    """On a terminal, return the text as a link to the file, which works from any directory."""
    link = f"link={uri}" if sys.stdout.isatty() and _LINK.fullmatch(uri) else ""
    marks = " ".join(filter(None, (style, link)))
    return f"[{marks}]{escape(text)}[/]" if marks else escape(text)


def _shows_progress() -> bool:
    return sys.stderr.isatty() and not display.quiet and os.environ.get("TERM") != "dumb"


@contextmanager
def progress_bars() -> Iterator[Callable[[IndexingProgress, str], None]]:
    """Yield a function that shows progress, and another process that is waited for, if any.

    It shows two bars on stderr, for files and for vectors. In a pipe or a file, it writes one line, once the
    wait has taken a second.
    """
    console = _console(stderr=True)
    is_narrow = console.width < _MEASURED_COLUMNS
    columns = (
        TextColumn("{task.description}"),
        *(() if is_narrow else (BarColumn(),)),
        MofNCompleteColumn(),
        *(() if is_narrow else (TextColumn("{task.fields[detail]}"),)),
    )
    with Progress(*columns, console=console, transient=True, disable=not _shows_progress()) as bars:
        guard_streams()  # rich has replaced the streams, and its replacement interprets escape sequences.
        files = bars.add_task("Reading files", total=None, detail="")
        texts = bars.add_task("Making vectors", total=None, visible=False, detail="")
        most_queued, say_at = 0, time.monotonic() + NOTICED_SECONDS

        def show(progress: IndexingProgress, other: str) -> None:
            nonlocal most_queued, say_at
            if bars.disable and time.monotonic() >= say_at:
                reading = f"waiting for {other}, which indexes" if other else "indexing"
                remark(f"cairn: {reading}: {progress.text} …")
                say_at = float("inf")
            most_queued = max(most_queued, progress.texts_queued)
            bars.update(
                files,
                description=f"Waiting for {other}" if other else "Reading files",
                total=progress.files_total or None,
                completed=progress.files_done,
                detail=counted(progress.chunks, "chunk"),
            )
            pace = ", ".join(progress.pace)
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
    """Show `message` on stderr while the block runs. Where it cannot be shown and removed, it is written
    once, after a second."""
    if not _shows_progress():
        with said_if_late("" if display.quiet else f"cairn: {message[0].lower()}{message[1:]}"):
            yield
        return
    with _console(stderr=True).status(message):
        guard_streams()
        yield
