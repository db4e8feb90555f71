"""Makes what the index keeps of one file's text, the same for a file on disk and for unsaved text."""

from __future__ import annotations

from cairn.index.store.writer import FileRecord, IndexedFile
from cairn.text.languages import language_of
from cairn.workspace.collections import file_kind


def indexed_file(record: FileRecord, text: str) -> IndexedFile:
    """The file with its chunks and imports. Raises whatever a chunker does on text it cannot bear."""
    # Imported here: opening a workspace in which nothing changed needs no parser.
    from cairn.chunking.chunker import chunk_text
    from cairn.workspace.imports import import_specs

    specs = import_specs(record.path, language_of(record.path, text), text)
    return IndexedFile(record, file_kind(record.path), True, tuple(chunk_text(record.path, text)), specs)


def left_out(record: FileRecord) -> IndexedFile:
    """The file where its content keeps it out: known, without chunks."""
    return IndexedFile(record, file_kind(record.path), False, ())
