"""The open documents of one workspace folder, where their text differs from the index.

They are kept in a small index of the same tables in memory. Readers hide what the folder's index has of these files and
read here instead (`cairn.index.overlay.overlaid_reader`). Whether a document is saved does not matter: it is shown from here
until the index has the same text, so a save is never followed by a moment in which the old text is found.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
from attrs import frozen

from cairn.chunking.model import content_key
from cairn.embedding.shared import SharedModel
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.index.sqlite.filters import passes
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.deadline import Cancelled
from cairn.index.store.meta import Facts, static_key
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.index.text.bm25 import OCCURRENCES, Occurrences, register
from cairn.index.text.match import any_of
from cairn.index.vectors.intake import StaticIntake
from cairn.settings.tree import IndexSettings, Settings
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.collections import MANIFESTS, find_projects
from cairn.workspace.rules import FileRules

if TYPE_CHECKING:
    from cairn.index.reader.chunk_columns import ChunkColumns
    from cairn.index.reader.postings import Postings

logger = logging.getLogger(__name__)

MOST_CHARACTERS = 4_000_000
"""Text of all documents shown, at most: 3.5 million (400 files, 3,800 chunks) took 28 MB, and 4 s to take in at once."""

_SNIFFED_CHARACTERS = 8_000
"""A NUL this far into a file makes it binary."""

_names = itertools.count()


@frozen
class _Document:
    typed: str

    @cached_property
    def text(self) -> str:
        """As it can be stored."""
        return well_formed(self.typed)

    @cached_property
    def key(self) -> str:
        return content_key(self.text)

    @cached_property
    def size(self) -> int:
        """Bytes that it would take on disk."""
        return len(self.text.encode())


class UnsavedReader(SqliteReader):
    """Reads the index in memory. All threads share one connection, so each keeps the lock `using` while it reads."""

    def __init__(
        self, connect: Callable[[], apsw.Connection | None], using: threading.RLock, root: str = ""
    ) -> None:
        """`connect` gives the connection, None before there is any unsaved text."""
        super().__init__(Path("open documents"), root=root)
        self._connect = connect
        self._using = using

    @contextmanager
    def reading(self, cancelled: Cancelled | None = None) -> Iterator[apsw.Connection]:
        with self._using, super().reading(cancelled) as db:
            yield db

    def occurrences(self, words: Sequence[str], only: ChunkFilter, cancelled: Cancelled) -> list[Occurrences]:
        """Where the words are found, in every chunk that has any of them."""
        if not words:
            return []
        condition, values = passes(self, "+rowid", only)
        rows = self.select(
            f"SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ? AND {condition}",
            (any_of(words), *values),
            cancelled,
        )
        return [Occurrences(chunk, *json.loads(found)) for chunk, found in rows]

    def passing(self, only: ChunkFilter) -> list[int]:
        """The ids of the chunks that pass."""
        condition, values = passes(self, "id", only)
        return [chunk for (chunk,) in self.select(f"SELECT id FROM chunks WHERE {condition}", values)]

    def keys_of(self, ids: Sequence[int] | None) -> list[tuple[int, str]]:
        """The ids of these chunks, None for all, each with the key of its embedded text."""
        which = "WHERE id IN (SELECT value FROM json_each(?))" if ids is not None else ""
        given = (json.dumps(list(ids)),) if ids is not None else ()
        rows = self.select(f"SELECT id, hex(embedding_key) FROM chunks {which}", given)
        return [(chunk, key) for chunk, key in rows]

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        from cairn.index.sqlite.postings import read_postings

        with self.reading(cancelled) as db:
            return {text: read_postings(db, text, rows) for text, rows in texts.items()}

    def columns(self) -> ChunkColumns:
        from cairn.index.sqlite.chunk_arrays import ChunkArrays

        with self.reading() as db:
            return ChunkArrays().columns(db, None)

    def _static_rows(self, db: apsw.Connection, facts: Facts, until: Cancelled | None = None) -> None:
        """They are too few to be kept in memory a second time."""

    def _connection(self) -> apsw.Connection:
        return self._connect() or super()._connection()


class Overlay:
    """Open documents over the index of the folder `root`. Methods may be called from several threads at once."""

    def __init__(self, root: Path, settings: Callable[[], Settings], models: SharedModel) -> None:
        self.hidden: tuple[str, ...] = ()
        """Paths of the files that are shown from here."""
        self.generation = 0
        """Rises with every change of what is shown."""
        self.warnings: tuple[str, ...] = ()
        """Which open documents are searched as they were saved, and why."""
        self.replaced: Mapping[int, StoredChunk] = {}
        """By id: chunks that the latest change of what is shown took away, for questions that have found them."""
        self._root = root
        self._settings = settings
        self._models = models
        self._documents: dict[str, _Document] = {}
        """By path, the one changed last at the end."""
        self._files: dict[str, _Document | None] = {}
        """Files that may differ from the index by path, None for those that are gone: where the index is that of a commit."""
        self._version = 0
        self._seen: tuple[object, ...] = ()
        """What decided what is shown; while it stays the same, there is nothing to do."""
        self._rules = FileRules(root, IndexSettings())
        self._rules_of: tuple[object, ...] = ()
        """What decided the rules."""
        self._shown: dict[str, tuple[str, str]] = {}
        """By path: the content hash and the collection of what is shown."""
        self._writer: IndexWriter | None = None
        self._static: StaticIntake | None = None
        self._closed = False
        self._noting = threading.Lock()
        self._taking_in = threading.Lock()
        self._using = threading.RLock()
        """Acquired by whoever uses the one connection to what is shown."""
        self.reader = UnsavedReader(lambda: self._writer.db if self._writer else None, self._using, str(root))
        """Reads what is shown, by the ids of its own index."""

    def changed(self, path: str, text: str) -> None:
        """The open document at `path` (relative, with `/`) has `text` now. Only notes it: the next query looks."""
        with self._noting:
            if not self._closed:
                self._documents.pop(path, None)
                self._documents[path] = _Document(text)
                self._version += 1

    def closed(self, path: str) -> None:
        """The document is not open any more: what the index has of the file counts again."""
        with self._noting:
            if self._documents.pop(path, None) is not None:
                self._version += 1

    def files_differ(self, texts: Mapping[str, str | None]) -> None:
        """These files of the folder, and no others, may differ from the index; None for those that are gone."""
        with self._noting:
            self._files = {path: None if text is None else _Document(text) for path, text in texts.items()}
            self._version += 1

    def files_changed(self, texts: Mapping[str, str | None]) -> None:
        """These files of the folder may differ from the index, too; None for those that are gone."""
        with self._noting:
            self._files |= {path: None if text is None else _Document(text) for path, text in texts.items()}
            self._version += 1

    def text_of(self, path: str) -> str | None:
        """The text of the open document at `path` as it is now; None where none is open."""
        with self._noting:
            document = self._documents.get(path)
        return None if document is None else document.text

    def close(self) -> None:
        """Forget all documents and free the memory; the folder's index counts alone from now on."""
        with self._noting:
            self._closed = True
            self._documents.clear()
            self._files.clear()
        with self._taking_in, self._using:
            self.hidden, self.replaced = (), {}
            if self._writer is not None:
                self._writer.abandon()
                self._writer = None

    @contextmanager
    def shown(self) -> Iterator[tuple[UnsavedReader | None, tuple[str, ...]]]:
        """What is shown, for this thread alone while it reads, and the paths to hide meanwhile; None for nothing."""
        if not self.hidden:
            yield None, ()
            return
        with self._using:
            yield (self.reader, self.hidden) if self.hidden else (None, ())

    def flush(self, indexed: IndexReader) -> None:
        """Show what the documents contain now, where it differs from what `indexed`, the folder's index, has of them.

        Before each query; costs nothing while no document is open, and a look at the index while none changed.
        """
        if not self._documents and not self._files and not self.hidden:
            return
        with self._taking_in:
            with self._noting:
                documents, version = self._documents_and_files(), self._version
                gone = [path for path, text in self._files.items() if text is None and path not in documents]
            facts, settings = indexed.facts(), self._settings()
            rules_of = (facts.paths, settings.index)
            seen = (version, indexed.key, facts.content, facts.has_static, facts.static, *rules_of)
            if self._closed or seen == self._seen:
                return
            if rules_of != self._rules_of:
                self._rules, self._rules_of = FileRules(self._root, settings.index), rules_of
            differing = self._differing(documents, indexed.contents(documents))
            wanted, warnings = _within_bounds(differing, documents, settings.index)
            fresh: list[IndexedFile] = []
            for path, (_, collection) in indexed.contents(gone).items() if gone else ():
                wanted[path] = FileRecord(path, 0, 0, "", collection)
                fresh.append(IndexedFile.left_out(wanted[path]))
            for path, record in list(wanted.items()):
                if not record.content_hash:
                    continue
                if self._shown.get(path) != (record.content_hash, record.collection):
                    try:
                        fresh.append(_as_saved(record, documents[path], settings.index))
                    except Exception as problem:
                        logger.exception("chunking the open document %s failed", path)
                        warnings.append(f"{path} is searched as it was saved: chunking it failed ({problem})")
                        del wanted[path]
            self._show(wanted, fresh, settings, facts)
            self.warnings = tuple(warnings)
            self._seen = seen

    def _documents_and_files(self) -> dict[str, _Document]:
        files = {path: text for path, text in self._files.items() if text is not None}
        return {path: text for path, text in files.items() if path not in self._documents} | self._documents

    # --- what is shown -----------------------------------------------------------------------------

    def _differing(
        self, documents: Mapping[str, _Document], known: Mapping[str, tuple[str, str]]
    ) -> dict[str, FileRecord]:
        """The documents that are not as the index has them, the one changed last first."""
        differing: dict[str, FileRecord] = {}
        for path in reversed(list(documents)):
            document = documents[path]
            content_hash, collection = known.get(path, ("", ""))
            if content_hash != document.key and self._is_named(path):
                collection = collection or self._collection(path)
                differing[path] = FileRecord(path, document.size, 0, document.key, collection)
        return differing

    def _is_named(self, path: str) -> bool:
        """Whether the file is indexed by its name and place; it may not exist on disk yet."""
        try:
            mode = (self._root / path).lstat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        except OSError:
            return False
        of_no_size = os.stat_result((mode, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        rules, directory = self._rules, path.rpartition("/")[0]
        return rules.decide_descent(directory).indexed and rules.decide_file(path, of_no_size).indexed

    def _collection(self, path: str) -> str:
        """The collection that a file which is not indexed yet would belong to."""
        directories = [parent.as_posix() for parent in Path(path).parents]
        places = [f"{directory}/{name}".removeprefix("./") for directory in directories for name in MANIFESTS]
        present = [place for place in places if (self._root / place).is_file()]
        return find_projects(self._root, present, self._settings().index.collections).collection(path)

    def _show(
        self, wanted: Mapping[str, FileRecord], fresh: list[IndexedFile], settings: Settings, facts: Facts
    ) -> None:
        gone = [path for path in self._shown if path not in wanted]
        with self._using:
            if self._closed or not (wanted or gone):
                return
            writer, static = self._opened()
            rewritten = [file.record.path for file in fresh if file.record.path in self._shown]
            pages = map(self.reader.page, (*gone, *rewritten))
            self.replaced = {chunk.id: chunk for chunk in itertools.chain.from_iterable(pages)}
            written = writer.write(fresh, gone) if fresh or gone else []
            static.select_table(settings.embedding if self._has_vectors_of_ours(facts) else None)
            static.added(written, settings.embedding)
            while static.step(settings.embedding):
                pass
            self._shown = {path: (record.content_hash, record.collection) for path, record in wanted.items()}
            self.hidden = tuple(wanted)
            self.generation += 1

    def _has_vectors_of_ours(self, facts: Facts) -> bool:
        """Whether the index has vectors that those of unsaved text can be compared with: another version of Cairn, with
        another table, may write it."""
        table = self._models.static_table() if facts.has_static else None
        return table is not None and facts.static_key == static_key(table.id)

    def _opened(self) -> tuple[IndexWriter, StaticIntake]:
        if self._writer is None or self._static is None:
            self._writer = IndexWriter.in_memory(f"cairn-overlay-{next(_names)}")
            register(self._writer.db)
            self._static = StaticIntake(self._writer, self._models, lambda: ())
        return self._writer, self._static


def _within_bounds(
    differing: Mapping[str, FileRecord], documents: Mapping[str, _Document], settings: IndexSettings
) -> tuple[dict[str, FileRecord], list[str]]:
    """Of more text than MOST_CHARACTERS what was changed last, and a warning about the rest."""
    kept: dict[str, FileRecord] = {}
    room = MOST_CHARACTERS
    for path, record in differing.items():
        # One that is too large for the index is hidden, and takes no room.
        needed = len(documents[path].text) if record.size <= settings.max_file_bytes else 0
        if needed <= room:
            kept[path] = record
            room -= needed
    dropped = sorted(differing.keys() - kept)
    warning = (
        f"too much text is unsaved to search all of it: {', '.join(dropped)} are searched as they were saved; "
        "save some documents"
    )
    return kept, [warning] if dropped else []


def _as_saved(record: FileRecord, document: _Document, settings: IndexSettings) -> IndexedFile:
    """The document as it would be indexed once it is saved."""
    text = document.text
    too_large = record.size > settings.max_file_bytes
    if too_large or "\0" in text[:_SNIFFED_CHARACTERS] or not decide_content(record.path, text).indexed:
        return IndexedFile.left_out(record)
    return IndexedFile.of(record, text)
