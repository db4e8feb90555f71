"""The data of a context: its parts with their items, and the result."""

from __future__ import annotations

import enum

from attrs import frozen

from cairn.protocol import ContextPart, DroppedItem, citation


class PartName(enum.StrEnum):
    """The parts of a context, in the order in which they are shown."""

    CORE_CONCEPTS = "coreConcepts"
    PASSAGES = "passages"
    EDITOR_STATE = "editorState"
    DIAGNOSTICS = "diagnostics"
    RECENT_QUERIES = "recentQueries"


TITLES: dict[PartName, str] = {
    PartName.CORE_CONCEPTS: "Core concepts",
    PartName.PASSAGES: "Relevant passages",
    PartName.EDITOR_STATE: "Editor",
    PartName.DIAGNOSTICS: "Diagnostics",
    PartName.RECENT_QUERIES: "Recent queries",
}


@frozen
class Item:
    text: str
    """Lines of a file if it is `quoted`, else Markdown."""
    title: str
    score: float
    """The lowest score is left out first."""
    path: str = ""
    lines: tuple[int, int] | None = None
    """`[start, end)` in the file at `path`, 0-based."""
    quoted: bool = False
    """Whether the text is shown between fences, below its citation."""
    language: str = ""
    note: str = ""
    """A line between the citation and the quotation."""
    focus: int = 0
    """The line of the text that is cut last."""

    @property
    def citation(self) -> str:
        """`path#L10-L14`, 1-based and inclusive; the path alone without lines."""
        return citation(self.path, self.lines)


@frozen
class Assembled:
    text: str
    tokens: int
    parts: tuple[ContextPart, ...]
    """All parts, including empty ones."""
    dropped: tuple[DroppedItem, ...]
