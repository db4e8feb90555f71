"""The tables of the index file.

Text, keywords and vectors live in one database, so one transaction keeps them in step.
"""

from __future__ import annotations

import zlib

CONTENT_VERSION = 7
"""Raised by any change of chunking or of the embedded text: older indexes are rebuilt."""

# Underscores belong to a token, so `add_url_rule` is found as it is written; its parts, and those of
# camelCase names, stand in `identifiers`. Splitting there rather than in a tokenizer of our own, because
# a tokenizer in Python was measured to be 56 times slower. Porter stemming was worth +0.037 NDCG@10.
TOKENIZER = "porter unicode61 remove_diacritics 2 tokenchars _"

# Text is stored compressed and the keyword index keeps no copy of it (contentless, with deletes): the index
# of 13.5 MB of text took 38.5 MB with external content. Deletes are a trigger's, so none can be forgotten.
#
# Keys and hashes are 16 bytes, not text. `embeddings.unreferenced` is the day (since 1970) on which no chunk
# used the vector any more. A static vector is its chunk's own, since making it again costs nothing. The ids of
# chunks are never used again: a list of chunks that wait for something must not come to mean others.
#
# What history, imports and copies say of a file is keyed by its path, so that they outlive its row. Touches are packed: a uint32 commit id and a uint8 number of files for each commit, newest first. Commits lie in compressed
# blocks, `first` being the id of a block's first: one by one, 20,000 commits took a third of the text's size.
SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE files(
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    is_text INTEGER NOT NULL,
    kind TEXT NOT NULL,
    collection TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    imports TEXT NOT NULL,
    sketch BLOB NOT NULL,
    symbols_id INTEGER REFERENCES symbols(id)
);
CREATE INDEX files_by_symbols ON files(symbols_id) WHERE symbols_id IS NOT NULL;

-- Files of equal text in one language share their symbol table: it depends on nothing else. `names` finds it by a name that
-- is written in it, and by `=name` where it defines it.
CREATE TABLE symbols(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash BLOB NOT NULL,
    language TEXT NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE(content_hash, language)
);
CREATE VIRTUAL TABLE names USING fts5(
    words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_$='"
);
CREATE TRIGGER symbols_deleted AFTER DELETE ON symbols BEGIN
    DELETE FROM names WHERE rowid = old.id;
END;
CREATE TRIGGER files_leaving_symbols AFTER UPDATE OF symbols_id ON files WHEN old.symbols_id IS NOT new.symbols_id BEGIN
    DELETE FROM symbols WHERE id = old.symbols_id AND NOT EXISTS (SELECT 1 FROM files WHERE symbols_id = old.symbols_id);
END;

CREATE TABLE chunks(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    type TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    header_path TEXT NOT NULL,
    symbol TEXT NOT NULL,
    symbol_kind TEXT NOT NULL,
    parent TEXT NOT NULL,
    defines TEXT NOT NULL,
    signature TEXT NOT NULL,
    comment TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    embedding_key BLOB NOT NULL,
    text BLOB NOT NULL,
    UNIQUE(file_id, position)
);
CREATE INDEX chunks_by_embedding ON chunks(embedding_key);

CREATE TABLE definitions(
    name TEXT NOT NULL COLLATE NOCASE,
    chunk_id INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
    PRIMARY KEY(name, chunk_id)
) WITHOUT ROWID;
CREATE INDEX definitions_by_chunk ON definitions(chunk_id);

CREATE VIRTUAL TABLE chunks_fts USING fts5(
    text, identifiers, symbol_words,
    content='', contentless_delete=1, tokenize="{TOKENIZER}"
);
CREATE VIRTUAL TABLE words USING fts5vocab(chunks_fts, row);
CREATE VIRTUAL TABLE occurrences USING fts5vocab(chunks_fts, instance);
CREATE VIRTUAL TABLE operators USING fts5(pairs, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM chunks_fts WHERE rowid = old.id;
    DELETE FROM operators WHERE rowid = old.id;
END;
CREATE TABLE vocabulary(upto INTEGER PRIMARY KEY, words BLOB NOT NULL);

-- Paths and commit subjects are told once for a file: words of a path, told for each of its chunks, were among the
-- most frequent of all ("test" in half of 107,000 chunks), and dear to ask for.
CREATE VIRTUAL TABLE paths_fts USING fts5(stem, folders, content='', contentless_delete=1, tokenize="{TOKENIZER}");
CREATE VIRTUAL TABLE path_words USING fts5vocab(paths_fts, row);
CREATE VIRTUAL TABLE subjects_fts USING fts5(subjects, content='', contentless_delete=1, tokenize="{TOKENIZER}");
CREATE TRIGGER files_deleted AFTER DELETE ON files BEGIN
    DELETE FROM paths_fts WHERE rowid = old.id;
    DELETE FROM subjects_fts WHERE rowid = old.id;
    DELETE FROM symbols WHERE id = old.symbols_id AND NOT EXISTS (SELECT 1 FROM files WHERE symbols_id = old.symbols_id);
END;

CREATE TABLE models(
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);
CREATE TABLE embeddings(
    id INTEGER PRIMARY KEY,
    model_id INTEGER NOT NULL REFERENCES models(id),
    key BLOB NOT NULL,
    unreferenced INTEGER,
    UNIQUE(model_id, key)
);

CREATE TABLE commits(first INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE file_history(
    path TEXT PRIMARY KEY,
    file_id INTEGER NOT NULL,
    touches BLOB NOT NULL,
    count INTEGER NOT NULL,
    last_time INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE file_imports(
    path TEXT PRIMARY KEY,
    in_degree INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE copies(
    path TEXT PRIMARY KEY,
    original TEXT NOT NULL,
    share REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE requests(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL);
"""

SCHEMA_VERSION = zlib.crc32(f"{CONTENT_VERSION} {SCHEMA}".encode()) & 0x7FFFFFFF
"""Changes with the tables by itself; SQLite's `user_version` holds 31 bits."""

KEYWORD_TABLES = ("chunks_fts", "operators", "paths_fts", "subjects_fts", "names")
"""The FTS5 tables."""

STATIC_TABLE = "static_vectors"
"""Vectors of the static table, where there is one; a row's rowid is its chunk's id."""


def vectors_table(model_id: int) -> str:
    """The vec0 table of one model: vectors of two models never meet in one comparison."""
    return f"vectors_{int(model_id)}"


def create_vectors_table(model_id: int, dimension: int) -> str:
    """SQL that creates the model's table; a row's rowid is its `embeddings.id`."""
    return (
        f"CREATE VIRTUAL TABLE {vectors_table(model_id)} "
        f"USING vec0(embedding float[{int(dimension)}] distance_metric=cosine)"
    )


def static_table_name(table: str, dimension: int) -> str:
    """What says which static vectors can be compared: the table of token vectors, and how they are stored."""
    return f"{table} {create_static_table(dimension)}"


def create_static_table(dimension: int) -> str:
    """SQL that creates the table of static vectors; int8 loses nothing that shows in their ranking.

    Compared by Euclidean distance, sqlite-vec's default: of vectors of one length it ranks as the cosine does, and for
    107,000 of them takes 20 to 37 ms instead of 33 to 55.
    """
    return f"CREATE VIRTUAL TABLE {STATIC_TABLE} USING vec0(embedding int8[{int(dimension)}])"


STATIC_LENGTH = 127
"""Of every static vector, but for rounding."""


def static_cosine(distance: str) -> str:
    """SQL for the cosine of two static vectors from SQL for their distance."""
    return f"1.0 - {distance} * {distance} / {2.0 * STATIC_LENGTH**2}"
