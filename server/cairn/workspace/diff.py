"""A change of files, hunk by hunk: the one form for git's differences and for a diff as text."""

from __future__ import annotations

from attrs import frozen

from cairn.text.verbatim import lines_of

BINARY = "binary file"
"""The problem of a file without text."""
LATE = "not compared in time"
"""The problem of a file that was not looked at before the deadline."""


@frozen
class Hunk:
    """Neighbouring lines that a change replaces, without context. Lines are 0-based; line ends are left
    out."""

    before_start: int
    removed: tuple[str, ...]
    after_start: int
    added: tuple[str, ...]

    @property
    def before_end(self) -> int:
        return self.before_start + len(self.removed)

    @property
    def after_end(self) -> int:
        return self.after_start + len(self.added)


@frozen
class FileChange:
    """What a change does to one file. Paths are relative to the workspace folder, with `/`."""

    path: str
    """The path after the change; of a removed file, the path before."""
    before_path: str | None
    """The path before the change; None for a new file."""
    is_removed: bool
    before: str | None
    """The text before; None if there is none, or it is not known."""
    after: str | None
    """The text after; None if there is none, or it is not known."""
    hunks: tuple[Hunk, ...]
    problem: str = ""
    """Why the texts are not known, such as `binary file`; "" if they are."""
    is_applied: bool = True
    """Whether the folder has the state after the change. It has the state before a diff as text that was not
    applied yet. If there is a problem, this may not be known."""


@frozen
class Change:
    files: tuple[FileChange, ...]
    base: str = ""
    """The hash of the commit before the change; "" for a diff as text."""
    problems: tuple[str, ...] = ()
    """Sentences on what is left out, and why."""
    complete: bool = True
    """Whether every file was compared in time."""


def text_lines(text: str) -> list[str]:
    """Return the lines of a text. A line end at the end of the text begins no further line."""
    lines = lines_of(text)
    return lines if lines[-1] else lines[:-1]
