"""The data types of a context: its parts, their items, and the result."""

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
    """The text: lines of a file if it is `quoted`, else Markdown."""
    title: str
    score: float
    """The value of the item. The item with the lowest score is left out first."""
    path: str = ""
    lines: tuple[int, int] | None = None
    """The 0-based lines `[start, end)` of the text in the file at `path`."""
    quoted: bool = False
    """Whether the text is shown in a code block below its citation."""
    language: str = ""
    note: str = ""
    """A line that is shown between the citation and the quotation."""
    focus: int = 0
    """The most important line of the text, which is kept if the text is cut."""

    @property
    def citation(self) -> str:
        """The citation `path#L10-L14`, with 1-based inclusive lines; without lines only the path."""
        return citation(self.path, self.lines)


@frozen
class Assembled:
    text: str
    tokens: int
    parts: tuple[ContextPart, ...]
    """All parts, including those without items."""
    dropped: tuple[DroppedItem, ...]
