"""Lists the sources of pairs."""

from __future__ import annotations

import enum


class Source(enum.StrEnum):
    """The kind of place where a pair was found; packed files number them in this order."""

    COMMIT = "commit subject, changed definition"
    COMMENT = "doc comment, definition"
    NAME = "name, definition without it"
    PATH = "path, definition"
    INLINE = "inline comment, code below it"
    TEST = "test title, test"
    TESTED = "test title, tested file"
    HEADING = "heading, section"
    SENTENCE = "first sentence, rest of the section"
    MENTION = "documentation, definition it names"
    MESSAGE = "commit subject and what follows it, changed definition"
