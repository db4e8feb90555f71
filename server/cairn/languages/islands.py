"""How files of a language embed code of other languages, as islands: scripts in components, code in tags.

Patterns match bytes in one pass over the file. Each is linear: what is not closed extends to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from functools import cached_property

from attrs import define, frozen

QUOTED = r"\s?=\s?(?P<quote>[\"'])@?(?P<code>(?:[^\"']++|(?!(?P=quote)).)*+)"
"""The pattern of an attribute's value, which is the code."""


class Role(Enum):
    """The purpose of an island."""

    SCRIPT = auto()
    """Statements and definitions."""
    EXPRESSION = auto()
    """Code in the template, such as a value or a condition."""
    HANDLER = auto()
    """Code in the template that calls the function that it only names."""
    COMPONENT = auto()
    """The name of an element, which may be a component."""
    IMPORT = auto()
    """An import statement of the template's language."""
    SKIPPED = auto()


class Extent(Enum):
    """The code that an island consists of."""

    GROUP = auto()
    """The group `code` of the pattern."""
    NESTED = auto()
    """The text up to the bracket that closes the last one of the match. If the pattern has a group, the
    island begins with the group and includes the bracket."""
    CHAIN = auto()
    """The group, a name, with the calls, elements and members that follow it."""


@frozen
class Part:
    """All islands of one language in a file, which are parsed as one text."""

    language: str
    grammar: str = ""
    """The grammar, if it is not the language's own."""
    opening: str = ""
    """The text before the islands, without a line end. `{0}` is the name of the component."""
    closing: str = ""
    typed: str = ""
    """The language if one of the islands is typed."""


@frozen
class Island:
    """A kind of island."""

    pattern: str
    role: Role
    part: Part | None = None
    extent: Extent = Extent.GROUP
    before: bytes = b";"
    """The text that replaces the characters before the island, to separate it from others."""
    after: bytes = b";"


@define(eq=False, slots=False)
class Islands:
    """The islands in files of one language."""

    language: str
    """The language of the symbol table, by which its names are resolved."""
    kinds: tuple[Island, ...]
    within: re.Pattern[bytes] | None = None
    """The pattern of the parts of the file in which islands are; None if they can be anywhere."""
    is_component: bool = False
    """Whether the file is a component, which other files import by the name of the file."""
    imports: str = ""
    """The language of the islands of the role IMPORT."""

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern of any island. The last group of a match is `i` with the number of the kind."""
        parts = []
        for number, kind in enumerate(self.kinds):
            own = kind.pattern.replace("<code>", f"<c{number}>")
            own = own.replace("<quote>", f"<q{number}>").replace("=quote)", f"=q{number})")
            parts.append(f"(?P<i{number}>{own})")
        return re.compile("|".join(parts).encode(), re.DOTALL)


Finder = Callable[[str, bytes], Islands | None]
"""A function from a path and a text (UTF-8) to the islands of the file."""
