"""The model of a chunk: a run of whole lines of one file, with all data that later stages need."""

from __future__ import annotations

import hashlib

from attrs import frozen

from cairn.protocol.chunk_types import ChunkType


def content_key(text: str) -> str:
    """Return a hexadecimal digest of `text` alone."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@frozen
class Chunk:
    """The lines `[start_line, end_line)` of a file, 0-based; `text` contains them unchanged.

    In a notebook, `text` is the decoded source: line i of the text is in line `start_line` + i of the file.
    If the file has no separate line for each line of source, the chunk has the line numbers of the whole
    cell.
    """

    position: int
    """The 0-based position among the file's chunks."""
    start_line: int
    end_line: int
    text: str
    type: ChunkType
    language: str = ""
    """The language of the text (of the fence for a chunk that is one fence), "" if unknown."""
    title: str = ""
    """The name for people: the heading, the definition's name, or the file's name."""
    header_path: str = ""
    """The headings or enclosing definitions, outermost first, joined by " > "."""
    symbol: str = ""
    """The name of the main definition. Without a main definition, its name and kind are ""."""
    symbol_kind: str = ""
    parent: str = ""
    """The name of what contains the main definition, or of the definition below, if the chunk is a part of
    the comment on it; else ""."""
    defines: tuple[str, ...] = ()
    signature: str = ""
    """The head of the main definition as in the text, with whitespace collapsed."""
    comment: str = ""
    """The leading comment or docstring, without comment marks."""

    @property
    def content_hash(self) -> str:
        """The `content_key` of the text."""
        return content_key(self.text)
