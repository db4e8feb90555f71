"""What a chunk is: a run of whole lines of one file, with everything later stages ask of it."""

from __future__ import annotations

import hashlib

from attrs import frozen

from cairn.protocol.chunk_type import ChunkType


def content_key(text: str) -> str:
    """Hex digest of `text`: equal text has an equal key wherever and whenever it is met."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@frozen
class Chunk:
    """Lines `[start_line, end_line)` of a file, 0-based. `text` is those lines unchanged.

    In a notebook, `text` is source that the lines hold, without JSON's quotes and escapes: line i of the text is in line
    `start_line` + i of the file, unless the file is not laid out by lines; then all lines of the cell are cited.
    """

    position: int
    """0-based order within the file."""
    start_line: int
    end_line: int
    text: str
    type: ChunkType
    language: str = ""
    """Language of the text (a fence's own language for a chunk that is one fence), "" if unknown."""
    title: str = ""
    """What a person would call it: the heading, the definition's name, or the file's name."""
    header_path: str = ""
    """Breadcrumb, outermost first, joined by " > ": headings, or enclosing definitions."""
    symbol: str = ""
    """Name of the main definition, "" for none."""
    symbol_kind: str = ""
    """`function`, `class`, `method`, …; "" for none."""
    parent: str = ""
    """Name of the definition that encloses the symbol."""
    defines: tuple[str, ...] = ()
    """Every name defined in the chunk, in order."""
    signature: str = ""
    """The main definition's head, as it stands in the text, whitespace collapsed."""
    comment: str = ""
    """Its leading comment or docstring, without comment marks."""

    @property
    def content_hash(self) -> str:
        """The key of the text alone."""
        return content_key(self.text)
