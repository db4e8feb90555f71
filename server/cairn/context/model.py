"""What a context is made of: parts with items, and what came of them when they were put together."""

from __future__ import annotations

import enum

from attrs import frozen

from cairn.protocol import ContextPart, DroppedItem, citation


class PartName(enum.StrEnum):
    """The parts of the context stack (S2, phase 4), in the order in which they are shown."""

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
    """One thing a part may hold."""

    text: str
    """Lines of a file where it is `quoted`, else Markdown as it is shown."""
    title: str
    score: float
    """Where there is no room for all, the lowest goes first."""
    path: str = ""
    lines: tuple[int, int] | None = None
    """`[start, end)` in the file at `path`, 0-based."""
    quoted: bool = False
    """Whether the text is shown between fences, below its citation."""
    language: str = ""
    note: str = ""
    """A line between the citation and the quotation."""
    focus: int = 0
    """The line of the text that stays the longest where it is cut."""

    @property
    def citation(self) -> str:
        """`path#L10-L14`, 1-based and inclusive; the path alone where lines are not known."""
        return citation(self.path, self.lines)


@frozen
class Assembled:
    """The context as one Markdown text."""

    text: str
    tokens: int
    parts: tuple[ContextPart, ...]
    """Of all parts, also those that take nothing."""
    dropped: tuple[DroppedItem, ...]
