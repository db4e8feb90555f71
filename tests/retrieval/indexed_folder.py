"""A folder with an index for tests of retrieval: real files, commits and open documents, made-up vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from tests.index.index_builders import MadeUpModels

from cairn.embedding.static import StaticTable, entry_type
from cairn.embedding.word_pieces import WordPieces
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.intake import Intake
from cairn.index.indexing.links import count_links, store_links
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.settings.tree import EmbeddingSettings, Settings

MEANINGS = ({"ship", "vessel", "boat"}, {"tide", "water", "moon"}, {"crane", "lift", "hoist"})
"""Words that share a direction in the static table."""


def _table() -> StaticTable:
    words = sorted(word for group in MEANINGS for word in group)
    entries = np.zeros(len(words), entry_type(8))
    for axis, group in enumerate(MEANINGS):
        for word in group:
            entries["scale"][words.index(word)] = entries["query_scale"][words.index(word)] = 1 / 127
            entries["vector"][words.index(word), axis] = 127
    return StaticTable("small", entries, WordPieces(words))


class IndexedFolder:
    """A folder, its index, and an editor with documents open over it."""

    def __init__(self, base: Path, files: Mapping[str, str], table: StaticTable | None = None) -> None:
        """Index `files`, with the vectors of `table` instead of made-up ones if it is given."""
        self.root = base / "port"
        self.root.mkdir()
        (base / "data").mkdir()
        self.settings = Settings()
        self.models = MadeUpModels(None, table or _table())
        self.writer = IndexWriter(base / "data")
        self.static = VectorIntake(self.writer, self.models, lambda: ())
        self.static.select(EmbeddingSettings())
        self.overlay = Overlay(self.root, lambda: self.settings, self.models)
        self.reader = OverlaidReader(SqliteReader(base / "data"), self.overlay)
        self.save(files)

    def save(self, files: Mapping[str, str]) -> None:
        """Write the files and index them."""
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8", newline="")
        self.index()

    def index(self) -> None:
        """Index all changes, commits included."""
        intake = Intake(
            self.root,
            self.writer,
            Progress(),
            lambda: False,
            lambda: None,
            on_written=lambda ids: self.static.added(ids, self.settings.embedding),
        )
        intake.reconcile(self.settings.index)
        while self.static.step(self.settings.embedding):
            pass
        GitHistory(self.writer.db, self.root).update(lambda: False)
        store_links(self.writer.db, count_links(self.writer.db))

    def type(self, path: str, text: str) -> None:
        """Open the document with unsaved text."""
        self.overlay.changed(path, text)
        self.reader.show_unsaved()

    def close(self) -> None:
        self.overlay.close()
        self.writer.close()


FolderOf = Callable[[Mapping[str, str]], IndexedFolder]


class ReaderOf(Protocol):
    def __call__(self, files: Mapping[str, str], name: str = "port") -> IndexReader: ...
