"""Cut any file's text into chunks."""

from __future__ import annotations

import logging

from cairn.chunking.code import Code, code_chunks, parse_code, symbols_of
from cairn.chunking.lines import Lines
from cairn.chunking.markup import markup_elements
from cairn.chunking.model import Chunk
from cairn.chunking.notebook import notebook_chunks
from cairn.chunking.plain import plain_chunks
from cairn.chunking.references.symbol_table import SymbolTable
from cairn.chunking.sections import section_chunks
from cairn.languages.language import Category
from cairn.languages.registry import category, language_of

logger = logging.getLogger(__name__)


def chunk_text(path: str, text: str) -> list[Chunk]:
    return chunk_file(path, text)[0]


def chunk_file(path: str, text: str) -> tuple[list[Chunk], SymbolTable | None]:
    """Return a file's chunks in order (none for blank text), and its symbol table, None if it has none.

    A chunk is a run of whole lines (ended as in LSP, by `\\n`, `\\r\\n` or `\\r`), and the chunks joined are
    `text`. A notebook's chunks differ: they contain the decoded sources of its cells. Equal input gives equal
    output. `path` is relative to the workspace folder.
    """
    if not text.strip():
        return [], None
    lines = Lines(text)
    language = language_of(path, text)
    if language == "jupyter":
        cells = notebook_chunks(path, lines)
        # Text that cannot be read as a notebook is cut like other JSON.
        return (cells if cells is not None else plain_chunks(path, "json", lines)), None
    if category(language) is Category.PROSE:
        return section_chunks(path, language, lines, markup_elements(language, lines)), None
    code = parse_code(path, language, lines)
    if code is None:
        return plain_chunks(path, language, lines), None
    return code_chunks(path, code, lines), _symbols(path, code)


def _symbols(path: str, code: Code) -> SymbolTable | None:
    try:
        return symbols_of(code)
    except Exception:  # A file without references can still be found by its text.
        logger.exception("the references of %s cannot be read", path)
        return None
