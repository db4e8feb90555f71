"""A definition that a change touches, and where lines are before and after the change."""

from __future__ import annotations

from attrs import frozen

from cairn.change.signatures import Difference
from cairn.index.references.edges import Place
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.diff import FileChange


@frozen
class Touched:
    """A definition that the change touches, or the lines outside of all definitions of a file."""

    kind: ChangeKind
    file: FileChange
    before: Place | None
    """The definition in the text before; None if it is new."""
    after: Place | None
    """The definition in the text after; None if it was removed."""
    hunks: tuple[int, ...]
    """The indexes of the file's hunks that touch it."""
    reason: str
    confidence: float = 1.0
    difference: Difference | None = None
    """What changed in a definition that is still there."""
    head_before: str = ""
    head_after: str = ""
    members: tuple[Place, ...] = ()
    """Before the change, the definitions inside one that was removed, or in a file that was moved."""
    index: int = 0
    """The place in the list of all."""

    @property
    def path(self) -> str:
        shown = self.after or self.before
        return shown.path if shown else self.file.path

    @property
    def name(self) -> str:
        shown = self.after or self.before
        return shown.name if shown else ""

    @property
    def place(self) -> Place | None:
        """The definition as the folder has it now; None if it has it no more, or not yet."""
        return self.after if self.file.is_applied else self.before


def line_after(file: FileChange, line: int) -> int | None:
    """Return the line after the change of a line before it; None if the change removed it."""
    shift = 0
    for hunk in file.hunks:
        if line < hunk.before_start:
            break
        if line < hunk.before_end:
            return None
        shift = hunk.after_end - hunk.before_end
    return line + shift


def line_before(file: FileChange, line: int) -> int | None:
    """Return the line before the change of a line after it; None if the change added it."""
    shift = 0
    for hunk in file.hunks:
        if line < hunk.after_start:
            break
        if line < hunk.after_end:
            return None
        shift = hunk.before_end - hunk.after_end
    return line + shift
