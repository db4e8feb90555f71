"""The open documents of one workspace folder whose text differs from the index.

They are in a small index in memory with the same tables. For these files, readers read the index in memory
instead of the folder's index (`cairn.index.overlay.overlaid_reader`). A saved document stays in memory until
the folder's index has the same text, so that the old text never reappears after a save.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
from attrs import frozen

from cairn.chunking.model import content_key
from cairn.embedding.shared import SharedModel, TextEncoder
from cairn.index.reader.bm25 import OCCURRENCES, Occurrences, any_of, register
from cairn.index.reader.filters import ChunkFilter, passes
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.meta import Facts, static_key
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.settings.tree import IndexSettings, Settings
from cairn.text.decoding import without_nul
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.collections import MANIFESTS, find_projects
from cairn.workspace.scan import FileRules

if TYPE_CHECKING:
    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.reader.postings import ChunkColumns, Postings

logger = logging.getLogger(__name__)

MOST_CHARACTERS = 4_000_000
"""The maximum characters of all documents together: 3.5 million took 28 MB, and 4 s to chunk at once."""

_names = itertools.count()


@frozen
class _Document:
    typed: str

    @cached_property
    def text(self) -> str:
        """The text in a form that can be stored; "" for a binary file."""
        return without_nul(well_formed(self.typed)) or ""

    @cached_property
    def key(self) -> str:
        return content_key(self.text)

    @cached_property
    def size(self) -> int:
        """The size in bytes on disk."""
        return len(self.text.encode())


class UnsavedReader(SqliteReader):
    """Reads the index in memory. All threads share one connection and acquire the lock `using` to read."""

    def __init__(
        self, connect: Callable[[], apsw.Connection | None], using: threading.RLock, root: str = ""
    ) -> None:
        """`connect` returns the connection, or None if there has been no unsaved text yet."""
        super().__init__(Path("open documents"), root=root)
        self._connect = connect
        self._reading_lock = using

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        with self._reading_lock, super().reading() as db:
            yield db

    def symbol_tables(self, ids: Sequence[int]) -> dict[int, PackedTable]:
        # A change between looking into the cache and reading would leave out what it has just cached.
        with self._reading_lock:
            return super().symbol_tables(ids)

    def occurrences(self, words: Sequence[str], only: ChunkFilter) -> list[Occurrences]:
        """Return where the words occur in every chunk that contains any of them."""
        if not words:
            return []
        condition, values = passes(self, "+rowid", only)
        rows = self.select(
            f"""SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts
                WHERE chunks_fts MATCH ? AND {condition}""",
            (any_of(words), *values),
        )
        return [Occurrences(chunk, *json.loads(found)) for chunk, found in rows]

    def postings(self, texts: Mapping[str, int]) -> dict[str, Postings]:
        from cairn.index.sqlite.word_memory import read_postings

        with self.reading() as db:
            return {text: read_postings(db, text, rows) for text, rows in texts.items()}

    def columns(self) -> ChunkColumns:
        from cairn.index.sqlite.word_memory import ChunkArrays

        with self.reading() as db:
            return ChunkArrays().columns(db, None)

    def _static_rows(self, db: apsw.Connection, facts: Facts, *, waits: bool = False) -> None:
        """Return None, because there are too few rows for a matrix."""

    def connection(self) -> apsw.Connection:
        return self._connect() or super().connection()


class Overlay:
    """The open documents that replace indexed files of a folder. Several threads may use it at once."""

    def __init__(self, root: Path, settings: Callable[[], Settings], models: SharedModel) -> None:
        self.hidden: tuple[str, ...] = ()
        """Paths of the files that this overlay replaces."""
        self.generation = 0
        """Rises with every change of the overlay."""
        self.warnings: tuple[str, ...] = ()
        """Sentences about open documents that are searched as they were saved, with the reasons."""
        self.replaced: Mapping[int, StoredChunk] = {}
        """Chunks that the latest change removed, by id, for queries that already found them."""
        self._root = root
        self._settings = settings
        self._models = models
        self._documents: dict[str, _Document] = {}
        """Documents by path; the one changed last is at the end."""
        self._files: dict[str, _Document | None] = {}
        """Files on disk that may differ from the index of a commit, by path; None for deleted ones."""
        self._version = 0
        self._seen: tuple[object, ...] = ()
        """The inputs of the last flush. While they stay the same, a flush does nothing."""
        self._rules: tuple[tuple[object, ...], FileRules] | None = None
        """The facts and settings from which the rules were made, and the rules."""
        self._shown: dict[str, tuple[str, str]] = {}
        """The content hash and the collection of each file in the overlay, by path."""
        self._writer: IndexWriter | None = None
        self._static: VectorIntake | None = None
        self._closed = False
        self._documents_lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._reading_lock = threading.RLock()
        self.reader = UnsavedReader(
            lambda: self._writer.db if self._writer else None, self._reading_lock, str(root)
        )

    def changed(self, path: str, text: str) -> None:
        """Note the text of the open document at `path` (relative, with `/`) for the next query."""
        with self._documents_lock:
            if not self._closed:
                self._documents.pop(path, None)
                self._documents[path] = _Document(text)
                self._version += 1

    def closed(self, path: str) -> None:
        with self._documents_lock:
            if self._documents.pop(path, None) is not None:
                self._version += 1

    def files_differ(self, texts: Mapping[str, str | None]) -> None:
        """Set the texts of the files that may differ from the index; the text of a deleted file is None."""
        with self._documents_lock:
            self._files = {path: None if text is None else _Document(text) for path, text in texts.items()}
            self._version += 1

    def files_changed(self, texts: Mapping[str, str | None]) -> None:
        """Add texts of files that may differ from the index; the text of a deleted file is None."""
        with self._documents_lock:
            self._files |= {path: None if text is None else _Document(text) for path, text in texts.items()}
            self._version += 1

    def rules(self, facts: Facts) -> FileRules:
        """Return the folder's rules. They are made again when files were added or removed since."""
        made_of, rules = (facts.paths, self._settings().index), self._rules
        if rules is None or rules[0] != made_of:
            rules = self._rules = made_of, FileRules(self._root, made_of[1])
        return rules[1]

    def text_of(self, path: str) -> str | None:
        with self._documents_lock:
            document = self._documents.get(path)
        return None if document is None else document.text

    def paths(self) -> list[str]:
        """Return the paths of the open documents."""
        with self._documents_lock:
            return list(self._documents)

    def close(self) -> None:
        """Forget all documents and free the memory. Only the folder's index is read from now on."""
        with self._documents_lock:
            self._closed = True
            self._documents.clear()
            self._files.clear()
        with self._flush_lock, self._reading_lock:
            self.hidden, self.replaced = (), {}
            if self._writer is not None:
                self._writer.abandon()
                self._writer = None

    @contextmanager
    def shown(self) -> Iterator[tuple[UnsavedReader | None, tuple[str, ...]]]:
        """Yield the reader of unsaved text, locked for this thread, and the paths to hide, or None and ()."""
        if not self.hidden:
            yield None, ()
            return
        with self._reading_lock:
            yield (self.reader, self.hidden) if self.hidden else (None, ())

    def flush(self, indexed: IndexReader) -> None:
        """Update the index in memory with the documents that differ from `indexed`, the folder's index. This
        runs before each query. Without open documents it does nothing; without changes it reads only
        facts."""
        if not self._documents and not self._files and not self.hidden:
            return
        with self._flush_lock:
            with self._documents_lock:
                documents, version = self._documents_and_files(), self._version
                gone = [path for path, text in self._files.items() if text is None and path not in documents]
            facts, settings = indexed.facts(), self._settings()
            seen = (
                *(version, indexed.key, facts.content, facts.has_static, facts.static),
                *(facts.paths, settings.index),
            )
            if self._closed or seen == self._seen:
                return
            differing = self._differing(documents, indexed.contents(documents), self.rules(facts))
            wanted, warnings = _within_bounds(differing, documents, settings.index)
            fresh: list[IndexedFile] = []
            for path, (_, collection) in indexed.contents(gone).items() if gone else ():
                wanted[path] = FileRecord(path, 0, 0, "", collection)
                fresh.append(IndexedFile.left_out(wanted[path]))
            for path, record in list(wanted.items()):
                is_shown = self._shown.get(path) == (record.content_hash, record.collection)
                if is_shown or not record.content_hash:
                    continue
                try:
                    fresh.append(_as_saved(record, documents[path], settings.index))
                except Exception as problem:
                    logger.exception("Chunking the open document %s failed", path)
                    warnings.append(f"{path} is searched as it was saved: chunking it failed ({problem})")
                    del wanted[path]
            self._show(wanted, fresh, settings, facts)
            self.warnings = tuple(warnings)
            self._seen = seen

    def _documents_and_files(self) -> dict[str, _Document]:
        files = {path: text for path, text in self._files.items() if text is not None}
        return {path: text for path, text in files.items() if path not in self._documents} | self._documents

    # --- updates of the index in memory ------------------------------------------------------------

    def _differing(
        self, documents: Mapping[str, _Document], known: Mapping[str, tuple[str, str]], rules: FileRules
    ) -> dict[str, FileRecord]:
        """Return the documents that differ from the index; the one changed last is first."""
        differing: dict[str, FileRecord] = {}
        for path in reversed(list(documents)):
            document = documents[path]
            content_hash, collection = known.get(path, ("", ""))
            if content_hash != document.key and rules.admits(path):
                collection = collection or self._collection(path)
                differing[path] = FileRecord(path, document.size, 0, document.key, collection)
        return differing

    def _collection(self, path: str) -> str:
        directories = [parent.as_posix() for parent in Path(path).parents]
        places = [f"{directory}/{name}".removeprefix("./") for directory in directories for name in MANIFESTS]
        present = [place for place in places if (self._root / place).is_file()]
        return find_projects(self._root, present, self._settings().index.collections).collection(path)

    def _show(
        self, wanted: Mapping[str, FileRecord], fresh: list[IndexedFile], settings: Settings, facts: Facts
    ) -> None:
        gone = [path for path in self._shown if path not in wanted]
        with self._reading_lock:
            if self._closed or not (wanted or gone):
                return
            writer, static = self._opened()
            rewritten = [file.record.path for file in fresh if file.record.path in self._shown]
            changed = [*gone, *rewritten]
            # Queries that run meanwhile may already know the numbers of these tables. Reading caches them.
            self.reader.symbol_tables([number for number, _ in self.reader.symbols_at(changed)])
            pages = map(self.reader.page, changed)
            self.replaced = {chunk.id: chunk for chunk in itertools.chain.from_iterable(pages)}
            written = writer.write(fresh, gone) if fresh or gone else []
            encoder = self._encoder_of(facts)
            static.select(settings.embedding if encoder else None, encoder)
            static.added(written, settings.embedding)
            while static.step(settings.embedding):
                pass
            self._shown = {path: (record.content_hash, record.collection) for path, record in wanted.items()}
            self.hidden = tuple(wanted)
            self.generation += 1

    def _encoder_of(self, facts: Facts) -> TextEncoder | None:
        """Return the model that made the index's vectors; None for another version's, or if it has none."""
        return self._models.made_by(
            lambda name: bool(facts.has_static) and facts.static_key == static_key(name)
        )

    def _opened(self) -> tuple[IndexWriter, VectorIntake]:
        if self._writer is None or self._static is None:
            self._writer = IndexWriter.in_memory(f"cairn-overlay-{next(_names)}")
            register(self._writer.db)
            self._static = VectorIntake(self._writer, self._models, lambda: ())
        return self._writer, self._static


def _within_bounds(
    differing: Mapping[str, FileRecord], documents: Mapping[str, _Document], settings: IndexSettings
) -> tuple[dict[str, FileRecord], list[str]]:
    """Return the documents changed last, up to MOST_CHARACTERS, and a warning about the others."""
    kept: dict[str, FileRecord] = {}
    room = MOST_CHARACTERS
    for path, record in differing.items():
        # A document that is too large for the index is only hidden, and needs no room.
        needed = len(documents[path].text) if record.size <= settings.max_file_bytes else 0
        if needed <= room:
            kept[path] = record
            room -= needed
    dropped = sorted(differing.keys() - kept)
    if not dropped:
        return kept, []
    return kept, [
        "too much text is unsaved to search all of it:"
        f" {', '.join(dropped)} are searched as they were saved; save some documents"
    ]


def _as_saved(record: FileRecord, document: _Document, settings: IndexSettings) -> IndexedFile:
    """Return the document as the index would contain it once it is saved."""
    text = document.text
    too_large = record.size > settings.max_file_bytes
    is_binary = bool(document.typed) and not text
    if too_large or is_binary or not decide_content(record.path, text).indexed:
        return IndexedFile.left_out(record)
    return IndexedFile.of(record, text)
