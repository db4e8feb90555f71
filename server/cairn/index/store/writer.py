"""The only writer of an index's files, chunks and keywords. It writes each batch in one transaction."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw
from attrs import evolve, frozen

from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.chunking.references.symbol_table import SymbolTable
from cairn.index.store.database import create, open_writer
from cairn.index.store.keyword_columns import path_words
from cairn.index.store.meta import Facts, raise_generation, read_facts, set_facts, set_left_out
from cairn.index.store.rows import CHUNK_COLUMNS, IDENTITY_COLUMNS, ChunkRow, PackedSymbols, chunk_identity
from cairn.index.store.schema import STATIC_TABLE
from cairn.languages.registry import language_of
from cairn.text.sketch import sketch
from cairn.workspace.collections import file_kind

Embed = Callable[[Sequence[Chunk], Sequence[str]], Sequence[bytes]]
"""Returns the static vectors, int8[dimension] as bytes, of chunks with the given embedded texts."""


@frozen
class FileRecord:
    """The properties of a file by which the index notices that it changed."""

    path: str
    size: int
    mtime_ns: int
    content_hash: str
    collection: str


@frozen
class IndexedFile:
    """A file to be written, with its chunks. A binary file has no chunks and a false `is_text`."""

    record: FileRecord
    kind: str
    is_text: bool
    chunks: tuple[Chunk | ChunkRow, ...]
    """The chunks, some of them as the rows that `prepared` makes."""
    imports: tuple[str, ...] = ()
    """The imports in the format of `cairn.workspace.import_graph`."""
    symbols: SymbolTable | PackedSymbols | None = None
    sketch: bytes = b""

    @classmethod
    def of(cls, record: FileRecord, text: str) -> IndexedFile:
        """Return the file with the chunks of `text`. Raises any exception of a chunker."""
        # Imported here because opening an unchanged workspace needs no parser.
        from cairn.chunking.chunker import chunk_file
        from cairn.workspace.import_graph import read_imports

        specs = read_imports(record.path, language_of(record.path, text), text)
        chunks, symbols = chunk_file(record.path, text)
        return cls(record, file_kind(record.path), True, tuple(chunks), specs, symbols, sketch(text))

    def prepared(self, embed: Embed | None = None, indexed: Set[bytes] = frozenset()) -> IndexedFile:
        """Return the file with rows for its chunks, and static vectors if `embed` is given. This needs no
        index.

        Chunks whose text has one of the digests `indexed` get no rows, because the index has nearly all of
        their rows already.
        """
        chunks = [chunk for chunk in self.chunks if isinstance(chunk, Chunk)]
        new = {
            at: chunk for at, chunk in enumerate(chunks) if bytes.fromhex(chunk.content_hash) not in indexed
        }
        vectors: Sequence[bytes | None] = [None] * len(new)
        if embed is not None:
            place = (self.record.path, self.record.collection)
            vectors = embed([*new.values()], [composite_text(*place, chunk) for chunk in new.values()])
        rows = dict(zip(new, map(ChunkRow.of, new.values(), vectors), strict=True))
        symbols = PackedSymbols.of(self.symbols) if isinstance(self.symbols, SymbolTable) else self.symbols
        prepared = tuple(rows.get(at, chunk) for at, chunk in enumerate(chunks))
        return evolve(self, chunks=prepared, symbols=symbols)

    @classmethod
    def left_out(cls, record: FileRecord) -> IndexedFile:
        """Return a file without chunks, because its content must not be indexed."""
        return cls(record, file_kind(record.path), False, ())


Names = tuple[int, str]


@frozen
class _Change:
    file_id: int = 0
    new: Sequence[ChunkRow] = ()
    names: Names | None = None
    """The names to be inserted if the symbol table is new."""
    path_words: tuple[str, str] | None = None
    """The words of the file's name and folders if the file is new."""
    gone: int = 0
    counters: tuple[str, ...] = ()
    """Facts to increment besides `content`."""


_CACHE_KB, _LOG_PAGES = 2_000, 1_000
"""SQLite's defaults for the size of the page cache and the pages of the log before a checkpoint."""
_BULK_CACHE_KB, _BULK_LOG_PAGES = 64_000, 16_000
"""Both sizes are 64 MB, because new chunks change pages all over the indexes of keys and names."""

_SELECT_RECORDS = "SELECT path, size, mtime_ns, lower(hex(content_hash)), collection FROM files"


class IndexWriter:
    """The owner of the writing connection `db`. Methods that change the index increment its generation."""

    def __init__(self, folder: Path, *, check: bool = True) -> None:
        """Open or create the index in `folder`. Raises IndexUnavailableError.

        If the last writer died, a small index is checked now and a large one later in the background. Pass a
        false `check` if this process had the index open before.
        """
        self.folder = folder
        self.db, self.remark = open_writer(folder, check)

    @classmethod
    def in_memory(cls, name: str) -> IndexWriter:
        """Create an index in memory, which other connections of this process can open by the same name."""
        writer = cls.__new__(cls)
        writer.folder = Path()
        writer.db, writer.remark = create(f"/{name}", vfs="memdb"), None
        return writer

    def close(self) -> None:
        """Close the index cleanly, so that the next start need not read a log or check the index."""
        with self.db:
            set_facts(self.db, writing=0, paused=0)
        self.checkpoint()
        self.db.close()

    def abandon(self) -> None:
        self.db.close(True)

    @contextmanager
    def in_bulk(self) -> Iterator[None]:
        """Write thousands of files with a larger page cache and fewer checkpoints."""
        try:
            self.db.pragma("cache_size", -_BULK_CACHE_KB)
            self.db.wal_autocheckpoint(_BULK_LOG_PAGES)
            yield
        finally:
            self.db.wal_autocheckpoint(_LOG_PAGES)
            self.db.pragma("cache_size", -_CACHE_KB)
            self.db.pragma("shrink_memory")

    def checkpoint(self) -> None:
        """Copy the write-ahead log to the database, and truncate the log unless a reader uses it."""
        try:
            self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def facts(self) -> Facts:
        return read_facts(self.db)

    def note(self, **facts: int) -> None:
        """Set facts in one transaction, unless they have these values already."""
        now = self.facts()
        changed = {name: value for name, value in facts.items() if getattr(now, name) != int(value)}
        if changed:
            with self.db:
                set_facts(self.db, **changed)
                raise_generation(self.db)

    def note_left_out(self, counts: Mapping[str, int]) -> None:
        """Store how many files and directories are left out of the index, by rule."""
        with self.db:
            set_left_out(self.db, counts)

    def files(self) -> dict[str, FileRecord]:
        return {row[0]: FileRecord(*row) for row in self.db.execute(_SELECT_RECORDS)}

    def records(self, paths: Iterable[str]) -> dict[str, FileRecord]:
        named = f"{_SELECT_RECORDS} WHERE path IN (SELECT value FROM json_each(?))"
        return {row[0]: FileRecord(*row) for row in self.db.execute(named, (json.dumps(list(paths)),))}

    def count_files(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM files").get or 0)

    def files_below(self, path: str) -> list[str]:
        """Return the indexed paths that are `path` or lie in the directory `path`."""
        # '0' is the character after '/', so the range contains every path below, and uses the index.
        below = "SELECT path FROM files WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
        rows = self.db.execute(below, (path,))
        return [str(row[0]) for row in rows]

    def chunk_digests(self, path: str) -> frozenset[bytes]:
        digests = "SELECT content_hash FROM chunks WHERE file_id = (SELECT id FROM files WHERE path = ?)"
        return frozenset(cast(bytes, digest) for (digest,) in self.db.execute(digests, (path,)))

    def chunk_ids(self, paths: Iterable[str]) -> list[int]:
        """Return the ids of the chunks of these files, in the order of `paths` and then of the file."""
        rows = self.db.execute(
            "SELECT c.id FROM json_each(?) wanted CROSS JOIN files f ON f.path = wanted.value"
            " JOIN chunks c ON c.file_id = f.id ORDER BY wanted.key, c.position",
            (json.dumps(list(paths)),),
        )
        return [int(row[0]) for row in rows]

    def write(self, files: Sequence[IndexedFile], removed: Iterable[str], *, anew: bool = False) -> list[int]:
        """Put `files` into the index and delete the paths `removed` in one transaction; return the ids of new
        chunks. Unchanged chunks of a known file keep their rows, unless `anew`."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self.db:
            changes = [change for path in removed for change in self._remove(path)]
            changes += [self._put(file, now, anew) for file in files]
            written = self._insert(changes)
            lacking = len(written) - self._store_vectors(written)
            facts = self.facts()
            chunks = facts.chunks - sum(change.gone for change in changes) + len(written)
            # This is an upper bound; the code that makes vectors corrects it.
            static_queued = min(chunks, facts.static_queued + lacking)
            set_facts(self.db, chunks=chunks, static_queued=static_queued)
            if lacking:
                set_facts(self.db, static=0)
            raise_generation(self.db, "content", *{name for change in changes for name in change.counters})
        return [chunk_id for chunk_id, _ in written]

    def _store_vectors(self, chunks: Sequence[tuple[int, bytes | None]]) -> int:
        """Store the static vectors in `chunks`, if static vectors are enabled; return their number."""
        made = [(chunk_id, vector) for chunk_id, vector in chunks if vector is not None]
        if not made or not self.facts().has_static:
            return 0
        self.db.executemany(_INSERT_VECTOR, made)
        return len(made)

    def touch(self, records: Sequence[FileRecord]) -> None:
        """Record new sizes and times of files whose content stayed the same."""
        with self.db:
            self.db.executemany(
                "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?",
                [(record.size, record.mtime_ns, record.path) for record in records],
            )

    def _remove(self, path: str) -> list[_Change]:
        rows = self.db.execute("DELETE FROM files WHERE path = ? RETURNING chunks", (path,)).fetchall()
        return [_Change(gone=cast(int, chunks), counters=("paths", "links")) for (chunks,) in rows]

    def _put(self, file: IndexedFile, now: str, anew: bool) -> _Change:
        """Insert or update a file and delete its old chunks. The caller inserts its new chunks."""
        record, imports = file.record, json.dumps(file.imports)
        selected = self.db.execute(
            "SELECT collection, imports, is_text FROM files WHERE path = ?", (record.path,)
        )
        known = selected.fetchone()
        symbols_id, names = self._put_symbols(file)
        values = (
            record.path, record.size, record.mtime_ns, bytes.fromhex(record.content_hash), int(file.is_text),
            file.kind, record.collection, now, len(file.chunks), imports, file.sketch, symbols_id,
        )  # fmt: skip
        file_id = cast(int, self.db.execute(_PUT_FILE, values).get)
        if known is None:
            words = path_words(record.path)
            return _Change(file_id, _rows(file.chunks), names, words, counters=("paths", "links"))
        # The embedded text of a chunk contains the name of its collection.
        stored = {} if anew or known[0] != record.collection else self._stored(file_id)
        kept: list[tuple[int, tuple[int, ...], Chunk | ChunkRow]] = []
        fresh: list[Chunk | ChunkRow] = []
        for chunk in file.chunks:
            same = stored.get(_identity(chunk))
            if same:
                kept.append((*same.pop(), chunk))
            else:
                fresh.append(chunk)
        self.db.execute(
            "DELETE FROM chunks WHERE file_id = ? AND id NOT IN (SELECT value FROM json_each(?))",
            (file_id, json.dumps([chunk_id for chunk_id, _, _ in kept])),
        )
        gone = self.db.changes()
        self._move([(chunk_id, chunk) for chunk_id, place, chunk in kept if place != _place(chunk)])
        differs = {"links": known[1] != imports, "paths": known[2] != file.is_text}
        counters = tuple(name for name, is_other in differs.items() if is_other)
        return _Change(file_id, _rows(fresh), names, gone=gone, counters=counters)

    def _put_symbols(self, file: IndexedFile) -> tuple[int | None, Names | None]:
        """Return the id of the symbol table, which files of equal text share, and its names if it is new."""
        if file.symbols is None:
            return None, None
        key = (bytes.fromhex(file.record.content_hash), file.symbols.language)
        known = self.db.execute("SELECT id FROM symbols WHERE content_hash = ? AND language = ?", key).get
        if known is not None:
            return cast(int, known), None
        symbols = file.symbols if isinstance(file.symbols, PackedSymbols) else PackedSymbols.of(file.symbols)
        self.db.execute(
            "INSERT INTO symbols(content_hash, language, packed) VALUES (?, ?, ?)", (*key, symbols.packed)
        )
        symbols_id = self.db.last_insert_rowid()
        return symbols_id, (symbols_id, symbols.words)

    def _stored(self, file_id: int) -> dict[tuple[object, ...], list[tuple[int, tuple[int, ...]]]]:
        """Return the ids and places of a file's chunks by identity; equal ones are in reverse order."""
        rows = self.db.execute(
            f"""SELECT id, position, start_line, end_line, {", ".join(IDENTITY_COLUMNS)} FROM chunks
                WHERE file_id = ? ORDER BY position DESC""",
            (file_id,),
        )
        stored: dict[tuple[object, ...], list[tuple[int, tuple[int, ...]]]] = {}
        for chunk_id, position, start, end, *identity in rows:
            stored.setdefault(tuple(identity), []).append((chunk_id, (position, start, end)))
        return stored

    def _move(self, moved: Sequence[tuple[int, Chunk | ChunkRow]]) -> None:
        # Positions are negative at first, because two chunks of a file may never have the same position.
        self.db.executemany(
            "UPDATE chunks SET position = -1 - position WHERE id = ?", [(chunk_id,) for chunk_id, _ in moved]
        )
        self.db.executemany(
            "UPDATE chunks SET position = ?, start_line = ?, end_line = ? WHERE id = ?",
            [(*_place(chunk), chunk_id) for chunk_id, chunk in moved],
        )

    def _insert(self, changes: Sequence[_Change]) -> list[tuple[int, bytes | None]]:
        """Insert new chunks and all new words; return the chunks' ids and static vectors."""
        last = cast(
            int, self.db.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'chunks'").get or 0
        )
        new = ((change.file_id, row) for change in changes for row in change.new)
        rows = [(chunk_id, file_id, row) for chunk_id, (file_id, row) in enumerate(new, last + 1)]
        self.db.executemany(_INSERT_CHUNK, ((*ids, *row.columns, row.content_hash) for *ids, row in rows))
        self.db.execute(_INSERT_DEFINITIONS, (last,))
        # Keyword indexes are written last, one after the other. FTS5 writes its pending entries as a segment
        # before each statement that may be rolled back alone, such as one with a trigger. Merging thousands
        # of segments took longer than everything else.
        names = [change.names for change in changes if change.names]
        self.db.executemany("INSERT INTO names(rowid, words) VALUES (?, ?)", names)
        paths = [(change.file_id, *change.path_words) for change in changes if change.path_words]
        self.db.executemany("INSERT INTO paths_fts(rowid, stem, folders) VALUES (?, ?, ?)", paths)
        self.db.executemany(_INSERT_WORDS, ((chunk_id, *row.keywords) for chunk_id, _, row in rows))
        self.db.executemany(_INSERT_OPERATORS, ((chunk_id, row.operators) for chunk_id, _, row in rows))
        return [(chunk_id, row.vector) for chunk_id, _, row in rows]


def _rows(chunks: Iterable[Chunk | ChunkRow]) -> list[ChunkRow]:
    return [chunk if isinstance(chunk, ChunkRow) else ChunkRow.of(chunk) for chunk in chunks]


def _identity(chunk: Chunk | ChunkRow) -> tuple[str | bytes, ...]:
    return chunk.identity if isinstance(chunk, ChunkRow) else chunk_identity(chunk)


def _place(chunk: Chunk | ChunkRow) -> tuple[int, int, int]:
    return chunk.place if isinstance(chunk, ChunkRow) else (chunk.position, chunk.start_line, chunk.end_line)


_FILE_COLUMNS = (
    "path", "size", "mtime_ns", "content_hash", "is_text", "kind", "collection", "indexed_at", "chunks",
    "imports", "sketch", "symbols_id",
)  # fmt: skip
_PUT_FILE = f"""INSERT INTO files({", ".join(_FILE_COLUMNS)}) VALUES ({", ".join("?" * len(_FILE_COLUMNS))})
    ON CONFLICT(path) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _FILE_COLUMNS[1:])}
    RETURNING id"""
_INSERT_CHUNK = f"""INSERT INTO chunks(id, file_id, {", ".join(CHUNK_COLUMNS)}, content_hash)
    VALUES ({", ".join("?" * (len(CHUNK_COLUMNS) + 3))})"""
_INSERT_DEFINITIONS = """INSERT OR IGNORE INTO definitions(name, chunk_id)
    SELECT name.value, c.id FROM chunks c, json_each(c.defines) name WHERE c.id > ?"""
_INSERT_WORDS = "INSERT INTO chunks_fts(rowid, text, identifiers, symbol_words) VALUES (?, ?, ?, ?)"
_INSERT_OPERATORS = "INSERT INTO operators(rowid, pairs) VALUES (?, ?)"
_INSERT_VECTOR = f"INSERT INTO {STATIC_TABLE}(rowid, embedding) VALUES (?, vec_int8(?))"
